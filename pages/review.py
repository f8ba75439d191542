"""Review: what waits for a person, one item at a time (design section 12)."""

from datetime import timedelta

import streamlit as st

from core.i18n import Translator
from core.views.paging import Page
from core.views.review import QueueItem, proposal_item, queue, rule_item
from pages.context import Context, context, translator
from pages.review_proposal import show_proposal
from pages.review_rule import show_rule
from pages.widgets import show_notice

_PLACE = "review_place"


def _place(total: int) -> int:
    place = min(int(st.session_state.get(_PLACE, 0)), total - 1)
    st.session_state[_PLACE] = place
    return place


def _move(step: int, total: int) -> None:
    st.session_state[_PLACE] = (int(st.session_state.get(_PLACE, 0)) + step) % total


def _position(t: Translator, place: int, total: int, age: timedelta) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            t(
                "{place} of {total}, waiting for {age}",
                place=t.number(place + 1),
                total=t.number(total),
                age=t.duration(age),
            ),
            width="content",
        )
        if total > 1:
            st.button(
                t("Back"),
                icon=":material/chevron_left:",
                on_click=_move,
                args=(-1, total),
                key="review_back",
                shortcut="k",
            )
            st.button(
                t("Later"),
                icon=":material/chevron_right:",
                on_click=_move,
                args=(1, total),
                key="review_later",
                shortcut="j",
            )


def _show(app: Context, t: Translator, waiting: Page[QueueItem], place: int) -> None:
    item = waiting.items[0]
    _position(t, place, waiting.total, app.clock() - item.created_at)
    with app.database.read() as session:
        rule = rule_item(session, item.id) if item.kind == "rule" else None
        proposal = proposal_item(session, item.id) if item.kind == "proposal" else None
    if rule is not None:
        show_rule(app, t, rule)
    elif proposal is not None:
        show_proposal(app, t, proposal)
    else:
        st.info(t("Somebody has just decided this item."), icon=":material/info:")


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Review"), anchor=False)
    show_notice()
    with app.database.read() as session:
        total = queue(session, limit=1).total
        place = _place(total) if total else 0
        waiting = queue(session, limit=1, offset=place)
    if not waiting.items:
        st.info(
            t("Candidate rules appear here after a learning round. Start one on the page Loop, or come back later."),
            title=t("Nothing waits for you"),
            icon=":material/task_alt:",
        )
        st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})
        return
    _show(app, t, waiting, place)


main()
