"""Texts that somebody is writing: kept until they are sent, also over a reload of the page."""

from collections import OrderedDict
from typing import Literal

import streamlit as st

from pages.context import actor

_MOST = 2000


@st.cache_resource(show_spinner=False)
def _drafts() -> OrderedDict[tuple[str, str], str]:
    """Drafts by person and field. In memory: they survive a reload and not the end of the server."""
    return OrderedDict()


def draft_area(label: str, stored: str, key: str, *, height: Literal["content"] | int = "content") -> str:
    """Show a text area that begins with the person's own draft, else with the stored text; return what it holds."""
    place = (actor(), key)

    def keep() -> None:
        _drafts()[place] = st.session_state[key] or ""
        while len(_drafts()) > _MOST:
            _drafts().popitem(last=False)

    return st.text_area(label, _drafts().get(place, stored), key=key, on_change=keep, height=height) or ""


def drop_drafts(prefix: str) -> None:
    """Forget the person's drafts of fields whose key begins so: they were sent."""
    for place in [one for one in _drafts() if one[0] == actor() and one[1].startswith(prefix)]:
        _drafts().pop(place, None)
