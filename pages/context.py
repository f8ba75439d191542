"""What every page needs: settings, the database, who the visitor is and their language."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from core.clock import Clock, utc_now
from core.control import usable_settings
from core.db import Database, open_database
from core.errors import NotAllowedError
from core.i18n import Translator, choose_language
from core.people.accounts import email_key, roles_of, sign_in_needed
from core.people.permissions import Action, may
from core.settings import Settings, load_settings

LOCAL = "local"
"""Who acts while there is no sign-in: whoever sits at this machine, since only loopback is served."""

LANGUAGE_KEY = "shell_language"
_ADDRESS = "shell_address"


@dataclass(frozen=True)
class Context:
    """Shared by all visitors; ``settings`` are those read at the start."""

    settings: Settings
    database: Database
    clock: Clock = utc_now


@st.cache_resource(show_spinner=False)
def context() -> Context:
    """Open the product once per process.

    Raises:
        UserError: settings or database are not usable.
    """
    settings = load_settings()
    return Context(settings, open_database(settings.database_url))


def actor() -> str:
    """Return who acts: the name in events and in the audit trail; empty if the visitor has signed out."""
    with context().database.read() as session:
        if not sign_in_needed(session) and not auth_section():
            return LOCAL
    return "" if signed_out() else email_key(str(visitor_claims().get("email") or ""))


def can(action: Action) -> bool:
    """Say whether the visitor's roles allow an action now; core.curation asks again when it is done."""
    with context().database.read() as session:
        try:
            return may(roles_of(session, actor()), action)
        except NotAllowedError:
            return False


def auth_section() -> Mapping[str, Any]:
    """Return ``[auth]`` of .streamlit/secrets.toml, which configures sign-in; empty if there is none."""
    if not st.secrets.load_if_toml_exists():
        return {}
    section: Mapping[str, Any] = st.secrets.get("auth", {})
    return section


def visitor_claims() -> Mapping[str, Any]:
    """Return what the identity provider says about the visitor."""
    return st.user.to_dict()


def signed_out() -> bool:
    """Say whether the visitor is not signed in, or has signed out in another tab since this one was opened."""
    claims = visitor_claims()
    return not claims.get("is_logged_in") or _sign_in_key(claims) in _ended_sign_ins()


def end_sign_in() -> None:
    """Sign out in every open tab: Streamlit itself reads the cookie only when a tab is opened."""
    _ended_sign_ins().add(_sign_in_key(visitor_claims()))
    st.logout()


@st.cache_resource(show_spinner=False)
def _ended_sign_ins() -> set[tuple[str, ...]]:
    return set()


def _sign_in_key(claims: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(claims.get(name)) for name in ("iss", "sub", "iat", "nonce"))


def settings_now(app: Context) -> Settings:
    """Return the settings in force, as far as they are usable."""
    with app.database.read() as session:
        return usable_settings(session, app.settings)


def visitor_language(configured: str) -> str:
    """Choose: address, then what the visitor chose before, then the setting, then the browser."""
    return choose_language(
        st.query_params.get("lang"),
        st.session_state.get(LANGUAGE_KEY),
        None if configured == "auto" else configured,
        st.context.locale,
    )


def keep_language(language: str) -> None:
    """Keep the language for this visit and in the address, which a change of page empties."""
    st.session_state[LANGUAGE_KEY] = language
    if st.query_params.get("lang") != language:
        st.query_params["lang"] = language


def keep_address() -> None:
    """Have the browser show the address that is served, as a link within one page leaves the old one standing.

    Otherwise the way back skips what was left, and a reload or a copied address leads to it.
    """
    served = {name: st.query_params.get_all(name) for name in st.query_params}
    if st.session_state.get(_ADDRESS) != served:
        st.session_state[_ADDRESS] = served
        # Setting any parameter sends all of them. Those that a widget is bound to must not be set.
        st.query_params["lang"] = st.query_params["lang"]


def translator() -> Translator:
    """Return the translator in the visitor's language and time zone."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return Translator(st.session_state.get(LANGUAGE_KEY, "en"), zone)
