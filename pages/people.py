"""People: accounts, invited, changed, deactivated and reactivated by administrators."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core import curation
from core.i18n import Translator
from core.people.accounts import sign_in_needed
from core.people.names import ROLE_NAMES
from core.people.permissions import Action, Role
from core.views.people import PersonRow, people
from pages.context import Context, actor, can, context, translator
from pages.widgets import address, audit_link, perform, plain, show_notice


def _invitation(app: Context, t: Translator) -> None:
    with st.container(border=True):
        st.subheader(t("Invite a person"))
        st.caption(t("No letter is sent: tell the person yourself that they can sign in from now on."))
        with st.form("people_invite", border=False):
            email = st.text_input(t("E-mail address"), key="people_email", placeholder=t("as the provider knows it"))
            name = st.text_input(t("Name"), key="people_name")
            roles = _roles(t, "people_roles", ())
            pressed = st.form_submit_button(t("Invite"), icon=":material/person_add:", type="primary")
    if pressed:
        perform(
            t,
            lambda: curation.invite(app.database, email=email, name=name, roles=roles, actor=actor(), clock=app.clock),
            t("Invited: {email}", email=address(email.strip())),
        )


def _person(app: Context, t: Translator, row: PersonRow) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(row.name) if row.name else address(row.email)}**")
            _badges(t, row)
        names = ", ".join(t(ROLE_NAMES[role]) for role in row.roles)
        st.caption(f"{address(row.email)} · {names} · {_since(t, row)}")
        roles = _roles(t, f"people_{row.email}_roles", row.roles)
        with st.container(horizontal=True, vertical_alignment="center"):
            _change_roles(app, t, row, roles)
            _switch(app, t, row)
            audit_link(t, t("What was done to this account"), kind="person", object=row.email)
            audit_link(t, t("What they did"), person=row.email)


def _badges(t: Translator, row: PersonRow) -> None:
    if row.active:
        st.badge(t("Active"), color="green", icon=":material/check_circle:")
    else:
        st.badge(t("Deactivated"), color="gray", icon=":material/block:")
    if not row.signed_in:
        st.badge(t("Has never signed in"), color="orange", icon=":material/hourglass_empty:")
    if row.email == actor():
        st.badge(t("You"), color="blue", icon=":material/person:")


def _since(t: Translator, row: PersonRow) -> str:
    return t("invited by {name}, {moment}", name=address(row.invited_by), moment=t.moment(row.created_at))


def _change_roles(app: Context, t: Translator, row: PersonRow, roles: list[Role]) -> None:
    changed = set(roles) != set(row.roles)
    with _seen(row) as version:
        if st.button(t("Save roles"), key=f"people_{row.email}_save", disabled=not changed):
            perform(
                t,
                lambda: curation.change_roles(
                    app.database, email=row.email, version=version, roles=roles, actor=actor(), clock=app.clock
                ),
                t("Roles changed: {email}", email=address(row.email)),
            )


def _switch(app: Context, t: Translator, row: PersonRow) -> None:
    email = address(row.email)
    if row.active:
        act, label, done = curation.deactivate, t("Deactivate"), t("Deactivated: {email}", email=email)
    else:
        act, label, done = curation.reactivate, t("Reactivate"), t("Reactivated: {email}", email=email)
    with _seen(row) as version:
        if st.button(label, key=f"people_{row.email}_switch"):
            perform(
                t,
                lambda: act(app.database, email=row.email, version=version, actor=actor(), clock=app.clock),
                done,
            )


def _roles(t: Translator, key: str, given: tuple[Role, ...]) -> list[Role]:
    """Let roles be chosen; a choice that was not touched follows what others change meanwhile."""
    base = f"{key}_base"
    if st.session_state.get(key) == st.session_state.get(base):
        st.session_state[key] = list(given)
    st.session_state[base] = list(given)
    return st.pills(
        t("Roles"), list(Role), selection_mode="multi", format_func=lambda role: t(ROLE_NAMES[role]), key=key
    )


@contextmanager
def _seen(row: PersonRow) -> Iterator[int]:
    """Give the version of the account that was on screen when a button was pressed."""
    key = f"people_seen_{row.email}"
    yield st.session_state.get(key, row.version)
    st.session_state[key] = row.version


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("People"), anchor=False)
    show_notice()
    with app.database.read() as session:
        rows, needed = people(session), sign_in_needed(session)
    if not needed:
        st.info(
            t(
                "There is no sign-in here, so nobody needs an account and whoever sits at this machine may do "
                "everything. Accounts count once sign-in is configured (README)."
            ),
            icon=":material/info:",
        )
    _invitation(app, t)
    for row in rows:
        _person(app, t, row)


if can(Action.INVITE):
    main()
