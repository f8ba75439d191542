"""Library: rules by state, search, one rule's whole story; writing, importing and rewinding (design section 12)."""

import streamlit as st

from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.library import library_counts
from pages.context import Context, can, context, translator
from pages.library_import import show_import
from pages.library_list import show_list
from pages.library_rewind import show_rewind
from pages.library_write import show_new
from pages.rule_story import show_story
from pages.widgets import show_notice

_PARTS = {
    "rules": (mark("Rules"), ":material/list:", None),
    "write": (mark("Write a rule"), ":material/edit_note:", Action.CREATE),
    "handbook": (mark("Import a handbook"), ":material/upload_file:", Action.IMPORT_HANDBOOK),
    "rewind": (mark("Rewind"), ":material/history:", Action.REWIND),
}


def _close() -> None:
    st.query_params.pop("rule", None)


def _go() -> None:
    st.query_params["library_part"] = st.session_state["library_part"]


def _part(t: Translator) -> str:
    allowed = [part for part, (_, _, action) in _PARTS.items() if action is None or can(action)]
    if len(allowed) == 1:
        return allowed[0]
    given = st.query_params.get("library_part", "rules")
    st.session_state["library_part"] = given if given in allowed else "rules"
    part = st.segmented_control(
        t("Part of the page"),
        allowed,
        format_func=lambda part: f"{_PARTS[part][1]} {t(_PARTS[part][0])}",
        key="library_part",
        required=True,
        on_change=_go,
        label_visibility="collapsed",
    )
    return part or "rules"


def _rules(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        counts = library_counts(session)
    if sum(counts.by_state.values()):
        show_list(app, t, counts)
        return
    st.info(
        t("Rules are written by learning rounds. Start one on the page Loop; what it learns appears here."),
        title=t("The library is empty"),
        icon=":material/library_books:",
    )
    st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})


def _story(app: Context, t: Translator, rule_id: str) -> None:
    st.button(t("All rules"), icon=":material/arrow_back:", on_click=_close, key="library_close")
    show_notice()
    show_story(app, t, rule_id)


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    rule_id = st.query_params.get("rule")
    if rule_id:
        _story(app, t, rule_id)
        return
    st.title(t("Library"), anchor=False)
    show_notice()
    shown = {"write": show_new, "handbook": show_import, "rewind": show_rewind}
    shown.get(_part(t), _rules)(app, t)


main()
