"""The library's filters, kept in the address so that a view can be sent to others; and views under a name.

Not by ``bind``: it would put the words that are shown into the address, which differ by language and carry counts.
"""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.library import STATES, LibraryCounts
from core.views.library_list import ORDERS, LibraryFilter, NamedView, origins, saved_views
from pages.address import choice, keep
from pages.context import Context, actor, can
from pages.labels import ORIGINS, label
from pages.labels import STATES as STATE_NAMES
from pages.widgets import perform, plain

PAGE = "library_page"
_FORMS = {"board": mark("Board"), "table": mark("Table")}
_WAYS = {"words": mark("Words"), "meaning": mark("Meaning")}
_ORDERS = {
    "newest": mark("Newest first"),
    "used": mark("Most used first"),
    "reward": mark("Highest reward first"),
    "name": mark("By name"),
}
_PARAMETERS = ("form", "state", "search", "way", "domain", "origin", "order", "pinned", "conflict")


def filters(app: Context, t: Translator, counts: LibraryCounts) -> LibraryFilter:
    """Show the filters and return what they say."""
    states = {"all": t("All {n}", n=t.number(sum(counts.by_state.values())))}
    states |= {state: f"{label(t, STATE_NAMES, state)} {t.number(counts.by_state[state])}" for state in STATES}
    state = _segments(t("State"), "state", states)
    left, middle = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        text = _words(t)
    with middle:
        _segments(t("Search by"), "way", {key: t(name) for key, name in _WAYS.items()})
    with app.database.read() as session:
        known = origins(session)
    domains = {"": t("All domains"), **{domain: domain for domain in counts.by_domain if domain}}
    ways = {"": t("All origins"), **{origin: label(t, ORIGINS, origin) for origin in known}}
    first, second, third = st.columns(3)
    with first:
        domain = _choice(t("Domain"), "domain", domains)
    with second:
        origin = _choice(t("Origin"), "origin", ways)
    with third:
        _choice(t("Order"), "order", {order: t(_ORDERS[order]) for order in ORDERS})
    with st.container(horizontal=True, vertical_alignment="center"):
        pinned = _flag(t("Pinned"), "pinned")
        in_conflict = _flag(t("In conflict"), "conflict")
        _segments(t("Shown as"), "form", {key: t(name) for key, name in _FORMS.items()})
    return LibraryFilter("" if state == "all" else state, domain, origin, text, pinned, in_conflict)


def chosen(name: str, default: str) -> str:
    """Return a parameter of the address."""
    return st.query_params.get(f"library_{name}", default)


def choose(name: str, value: str) -> None:
    """Put a parameter into the address, for a callback, and go back to the first page."""
    st.query_params[f"library_{name}"] = value
    st.session_state[PAGE] = 1


def show_saved_views(app: Context, t: Translator) -> None:
    """Offer the visitor's saved views, and to save the present one."""
    with app.database.read() as session:
        views = saved_views(session, "library", actor())
    if not views and not can(Action.SAVE_VIEW):
        return
    with st.popover(t("Saved views"), icon=":material/bookmark:"):
        for view in views:
            _saved(app, t, view)
        if not views:
            st.caption(t("Set filters, then keep them here under a name."))
        if can(Action.SAVE_VIEW):
            _save(app, t)


def _saved(app: Context, t: Translator, view: NamedView) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        query = {**view.query, "lang": t.language}
        st.page_link("library.py", label=plain(view.name), icon=":material/bookmark:", query_params=query)
        name = t("Delete the view {name}", name=view.name)
        if st.button("", icon=":material/delete:", key=f"library_forget_{view.id}", type="tertiary", help=name):
            action = partial(curation.delete_view, app.database, view_id=view.id, actor=actor(), clock=app.clock)
            perform(t, action, t("View deleted: {name}", name=plain(view.name)))


def _save(app: Context, t: Translator) -> None:
    with st.form("library_save_view", border=False):
        name = st.text_input(t("Name"), key="library_view_name", max_chars=60)
        sent = st.form_submit_button(t("Save this view"), icon=":material/bookmark_add:", key="library_view_save")
    if sent:
        action = partial(
            curation.save_view,
            app.database,
            page="library",
            name=name,
            query=_present(st.query_params),
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("View saved: {name}", name=plain(name)))


def _present(address: Mapping[str, str]) -> dict[str, str]:
    names = [f"library_{name}" for name in _PARAMETERS]
    return {name: address[name] for name in names if address.get(name)}


def _segments(name: str, parameter: str, options: Mapping[str, str]) -> str:
    key, first = f"library_{parameter}", next(iter(options))
    given = chosen(parameter, first)
    st.session_state[key] = given if given in options else first
    return st.segmented_control(
        name,
        list(options),
        format_func=options.__getitem__,
        key=key,
        required=True,
        default=None,
        on_change=keep,
        args=(key, PAGE),
    ) or first  # fmt: skip


def _choice(name: str, parameter: str, options: Mapping[str, str]) -> str:
    return choice(name, f"library_{parameter}", options, PAGE)


def _words(t: Translator) -> str:
    st.session_state["library_search"] = chosen("search", "")
    text = st.text_input(
        t("Search"),
        key="library_search",
        placeholder=t("Words in a rule's name or text, or what it is about"),
        icon=":material/search:",
        live=True,
        on_change=keep,
        args=("library_search", PAGE),
    )
    return text or ""


def _flag(name: str, parameter: str) -> bool:
    key = f"library_{parameter}"
    st.session_state[key] = chosen(parameter, "") == "1"
    return st.toggle(name, key=key, on_change=keep, args=(key, PAGE))
