"""Filters of a list that stand in the address, so that a view can be sent to others and links can lead to one."""

from collections.abc import Mapping

import streamlit as st


def choice(name: str, key: str, options: Mapping[str, str], page: str) -> str:
    """Offer one of some options and return it; what is in the address counts if it is one, else the first does.

    Args:
        name: what people see above it.
        key: of the widget and of the parameter in the address.
        options: value -> what people see; the first is the one of an address without the parameter.
        page: key of the list's page number.
    """
    given, first = st.query_params.get(key, ""), next(iter(options))
    st.session_state[key] = given if given in options else first
    chosen = st.selectbox(
        name, list(options), format_func=options.__getitem__, key=key, on_change=keep, args=(key, page)
    )  # fmt: skip
    return chosen or ""


def keep(key: str, page: str) -> None:
    """Put what was chosen in a widget into the address, for its callback, and go back to the list's first page."""
    value = st.session_state[key]
    if value:
        st.query_params[key] = "1" if value is True else str(value)
    else:
        st.query_params.pop(key, None)
    st.session_state[page] = 1
