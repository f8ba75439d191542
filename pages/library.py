"""Library: rules by state, search, and one rule's whole story (design section 12)."""

import streamlit as st

from core.i18n import Translator
from core.views.effects import rule_effects
from core.views.library import STATES, LibraryCounts, descendants, library_counts, rule_story, rules
from pages.context import Context, context, translator
from pages.labels import STATES as STATE_NAMES
from pages.labels import label
from pages.rule_story import show_story
from pages.widgets import pager, plain, rule_badges, rule_figures, show_notice

_ROWS = 10


def _open(rule_id: str) -> None:
    st.query_params["rule"] = rule_id


def _close() -> None:
    del st.query_params["rule"]


def _filters(t: Translator, counts: LibraryCounts) -> tuple[str | None, str | None, str]:
    states = {state: f"{label(t, STATE_NAMES, state)} {t.number(counts.by_state[state])}" for state in STATES}
    names = {"all": t("All {n}", n=t.number(sum(counts.by_state.values()))), **states}
    state = st.segmented_control(
        t("State"),
        list(names),
        format_func=names.__getitem__,
        default="all",
        required=True,
        key="library_state",
        persist_state="session",
    )
    left, right = st.columns([3, 1])
    text = left.text_input(
        t("Search"),
        key="library_search",
        placeholder=t("Words in a rule's name or text"),
        icon=":material/search:",
        live=True,
        persist_state="session",
    )
    domains = {"": t("All domains"), **{domain: domain for domain in counts.by_domain if domain}}
    domain = right.selectbox(
        t("Domain"),
        list(domains),
        format_func=domains.__getitem__,
        key="library_domain",
        persist_state="session",
    )
    return (None if state == "all" else state), domain or None, text or ""


def _list(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        counts = library_counts(session)
    if not sum(counts.by_state.values()):
        st.info(
            t("Rules are written by learning rounds. Start one on the page Loop; what it learns appears here."),
            title=t("The library is empty"),
            icon=":material/library_books:",
        )
        st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})
        return
    state, domain, text = _filters(t, counts)
    with app.database.read() as session:
        found = rules(session, state=state, domain=domain, text=text, limit=1)
        offset = pager(t, found.total, _ROWS, "library_page")
        found = rules(session, state=state, domain=domain, text=text, limit=_ROWS, offset=offset)
    if not found.items:
        st.info(t("No rule fits. Use fewer words, or another state."), icon=":material/search_off:")
    for row in found.items:
        with st.container(border=True):
            rule_badges(t, row)
            st.markdown(f"**{plain(row.name)}**")
            st.text(row.text)
            st.caption(rule_figures(t, row))
            st.button(
                t("History and evidence"),
                icon=":material/history:",
                key=f"library_open_{row.id}",
                on_click=_open,
                args=(row.id,),
            )


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    rule_id = st.query_params.get("rule")
    if not rule_id:
        st.title(t("Library"), anchor=False)
        show_notice()
        _list(app, t)
        return
    st.button(t("All rules"), icon=":material/arrow_back:", on_click=_close, key="library_close")
    show_notice()
    with app.database.read() as session:
        story, effects = rule_story(session, rule_id), rule_effects(session, rule_id)
        offspring = descendants(session, rule_id)
    if story is None:
        st.warning(t("There is no rule {id}.", id=plain(rule_id)), icon=":material/search_off:")
        return
    show_story(app, t, story, effects, offspring)


main()
