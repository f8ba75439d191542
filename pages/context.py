"""What every page needs: settings, the database, and the visitor's language."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from core.clock import Clock, utc_now
from core.control import current_settings
from core.db import Database, open_database
from core.errors import NotAllowedError, UserError
from core.i18n import Translator, choose_language
from core.people.accounts import roles_of
from core.people.permissions import Action, may
from core.settings import Settings, load_settings

LOCAL = "local"
"""Who acts while there is no sign-in: whoever sits at this machine, since only loopback is served."""

LANGUAGE_KEY = "shell_language"


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
    """Return who acts: the name in events and in the audit trail."""
    return LOCAL


def can(action: Action) -> bool:
    """Say whether the visitor's roles allow an action now; core.curation asks again when it is done."""
    with context().database.read() as session:
        try:
            return may(roles_of(session, actor()), action)
        except NotAllowedError:
            return False


def settings_now(app: Context) -> Settings:
    """Return the settings in force; those of the start if a stored change is unusable (Loop says so)."""
    try:
        with app.database.read() as session:
            return current_settings(session, app.settings)
    except UserError:
        return app.settings


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


def translator() -> Translator:
    """Return the translator in the visitor's language and time zone."""
    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return Translator(st.session_state.get(LANGUAGE_KEY, "en"), zone)
