"""Who is here: sign-in by OpenID Connect where it is configured, and who is let in (design section 12)."""

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from core.curation import first_sign_in
from core.errors import NotAllowedError, UserError
from core.i18n import Translator
from core.people.accounts import Account, find_account, read_identity, set_sign_in_needed, sign_in_needed
from core.people.names import ROLE_NAMES
from core.views.people import admins
from pages.context import Context, auth_section, context, end_sign_in, signed_out, visitor_claims
from pages.widgets import address, plain

_SHARED = ("redirect_uri", "cookie_secret")
_PROVIDER = ("client_id", "client_secret", "server_metadata_url")


def sign_in_configured() -> bool:
    """Say whether this server has an identity provider, after a look at what is missing for it.

    Raises:
        UserError: ``[auth]`` in secrets.toml is incomplete; names what is missing.
    """
    section = auth_section()
    if not section:
        return False
    missing = [name for name in _SHARED if not section.get(name)]
    for provider in providers() or [None]:
        place = section if provider is None else section[provider]
        missing += [f"{provider}.{name}" if provider else name for name in _PROVIDER if not place.get(name)]
    if missing:
        raise UserError(
            "Sign-in is not usable: [auth] in .streamlit/secrets.toml lacks {names}.", names=", ".join(missing)
        )
    return True


def providers() -> list[str | None]:
    """Return the names of the identity providers; None is the one that ``[auth]`` itself describes."""
    section = auth_section()
    named = [str(name) for name, value in section.items() if isinstance(value, Mapping) and name != "client_kwargs"]
    return [*([None] if section.get("client_id") else []), *named]


def admit(app: Context, t: Translator) -> Account | None:
    """Let whoever has an account pass, and stop with a page that says what to do for everybody else.

    Called at every run, so that whoever was shut out is refused at the next click. Returns None where there is no
    sign-in: whoever reaches this machine is let in.
    """
    if not _needed(app):
        return None
    if signed_out():
        _ask_to_sign_in(t)
    try:
        return _account(app)
    except NotAllowedError as error:
        _refuse(app, t, error)
    st.stop()


def stay_admitted() -> None:
    """Start the page anew if the visitor was shut out; for fragments, which run without the rest of it."""
    app = context()
    if not _needed(app):
        return
    try:
        if signed_out():
            st.rerun()
        _account(app)
    except NotAllowedError:
        st.rerun()


def who(t: Translator, account: Account) -> None:
    """Show who is signed in, with which roles, and the way out."""
    roles = ", ".join(t(ROLE_NAMES[role]) for role in sorted(account.roles))
    st.caption(
        t(
            "Signed in as {name} ({roles})",
            name=plain(account.name) if account.name else address(account.email),
            roles=roles,
        )
    )
    st.button(t("Sign out"), icon=":material/logout:", key="shell_sign_out", on_click=end_sign_in, width="stretch")


def _needed(app: Context) -> bool:
    with app.database.read() as session:
        needed = sign_in_needed(session)
    if not needed and auth_section():
        # Another server without sign-in was started on the same database; it must not open this one.
        with app.database.write() as session:
            set_sign_in_needed(session, app.clock, needed=True)
        return True
    return needed


def _account(app: Context) -> Account:
    identity = read_identity(visitor_claims())
    with app.database.read() as session:
        account = find_account(session, identity)
    if not account.bound:
        with suppress(NotAllowedError):  # another tab was faster; whose it is then, the next look says
            first_sign_in(app.database, identity=identity, clock=app.clock)
        with app.database.read() as session:
            account = find_account(session, identity)
    return account


def _ask_to_sign_in(t: Translator) -> None:
    st.title(t("Sign in"))
    st.write(t("Rulewright is open to people who have an account here."))
    for provider in providers():
        label = t("Sign in with {provider}", provider=plain(provider)) if provider else t("Sign in")
        if st.button(label, icon=":material/login:", type="primary", key=f"shell_sign_in_{provider or ''}"):
            st.login(provider)
    st.stop()


def _refuse(app: Context, t: Translator, error: NotAllowedError) -> None:
    st.title(t("No way in"))
    st.error(t.error(error), icon=":material/block:")
    with app.database.read() as session:
        people = admins(session)
    st.write(t("Administrators here:"))
    for person in people:
        st.text(f"{person.name} <{person.email}>" if person.name else person.email)
    st.button(t("Sign in as somebody else"), icon=":material/logout:", key="shell_sign_out", on_click=end_sign_in)
