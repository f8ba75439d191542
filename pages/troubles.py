"""The troubles of all domains, looked for once for all visitors until something changes that they hang on."""

from collections.abc import Hashable

import streamlit as st

from core.settings import Settings
from core.views.diagnostics.basis import basis
from core.views.diagnostics.panel import domains, troubles
from core.views.diagnostics.trouble import Trouble
from pages.context import Context, settings_now

_State = tuple[Settings, tuple[Hashable, ...]]


def known_troubles(app: Context) -> list[Trouble]:
    """Return what is wrong at present in any domain."""
    settings, latest = settings_now(app), _latest()
    with app.database.read() as session:
        state = settings, basis(session)
        for known, found in latest[:]:
            if known == state:
                return found
        found = [trouble for domain in domains(session) for trouble in troubles(session, settings, domain)]
    latest[:] = [(state, found)]
    return found


@st.cache_resource(show_spinner=False)
def _latest() -> list[tuple[_State, list[Trouble]]]:
    """What was found last and on what, if anything was."""
    return []
