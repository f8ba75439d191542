"""Conflicts: rules that contradict each other, one pair at a time, and how each was settled (design section 3)."""

import streamlit as st

from core.i18n import Translator
from core.views.conflicts import ConflictItem, ConflictRow, conflict_item, conflict_queue, place_of
from core.views.paging import Page
from pages.conflicts_decide import decide, show_settled
from pages.conflicts_pair import show_firings, show_found, show_sides
from pages.context import Context, context, translator
from pages.labels import DETECTORS, label
from pages.labels_conflicts import WAYS
from pages.widgets import pager, plain, show_notice

_AT = "conflict"
_ROWS = 10


def _open(conflict_id: str) -> None:
    st.query_params[_AT] = conflict_id


def _close() -> None:
    st.query_params.pop(_AT, None)


def _neighbour(app: Context, place: int, total: int) -> str:
    """Return the id of what stands at a place of the queue, going round."""
    with app.database.read() as session:
        found = conflict_queue(session, limit=1, offset=place % total).items if total else ()
    return found[0].id if found else ""


def _position(app: Context, t: Translator, item: ConflictItem, place: int, total: int) -> str:
    """Say where in the queue this one is, offer the ones beside it; return the id of the next one."""
    following = _neighbour(app, place + 1, total) if total > 1 else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            t(
                "{place} of {total}, waiting for {age}",
                place=t.number(place + 1),
                total=t.number(total),
                age=t.duration(app.clock() - item.created_at),
            ),
            width="content",
        )
        if total > 1:
            previous = _neighbour(app, place - 1, total)
            for name, icon, to, shortcut in (
                (t("Back"), ":material/chevron_left:", previous, "k"),
                (t("Later"), ":material/chevron_right:", following, "j"),
            ):
                st.button(name, icon=icon, on_click=_open, args=(to,), key=f"conflicts_{shortcut}", shortcut=shortcut)
    return following


def _list(app: Context, t: Translator, *, settled: bool) -> None:
    kind = "settled" if settled else "open"
    with app.database.read() as session:
        total = conflict_queue(session, settled=settled, limit=0).total
        offset = pager(t, total, _ROWS, f"conflicts_page_{kind}")
        page: Page[ConflictRow] = conflict_queue(session, settled=settled, limit=_ROWS, offset=offset)
    for row in page.items:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            names = " ↔ ".join(plain(name) for name in row.names)
            st.button(names, key=f"conflicts_open_{row.id}", on_click=_open, args=(row.id,), type="tertiary", wrap=True)
            st.caption(_line(app, t, row), width="content")
    if not page.items:
        st.caption(t("Nothing here yet."))


def _line(app: Context, t: Translator, row: ConflictRow) -> str:
    parts = [plain(row.domain)] if row.domain else []
    if row.way is None:
        return " · ".join([*parts, label(t, DETECTORS, row.detector), t.duration(app.clock() - row.created_at)])
    return " · ".join([*parts, label(t, WAYS, row.way), plain(row.resolved_by or "–"), t.moment(row.resolved_at)])


def _show(app: Context, t: Translator, item: ConflictItem, place: int, total: int) -> None:
    following = ""
    if item.settled is not None:
        show_settled(app, t, item)
        st.button(t("Back to the list"), icon=":material/arrow_back:", on_click=_close, key="conflicts_close")
    elif item.sleeping:
        st.info(t("One of the two rules is archived, so there is nothing to settle now."), icon=":material/bedtime:")
    else:
        following = _position(app, t, item, place, total)
    show_found(t, item)
    show_sides(t, item)
    if item.settled is None and not item.sleeping:
        decide(app, t, item, following)
    show_firings(t, item)


def _settled_or_open(t: Translator) -> bool:
    kinds = {"open": t("Open"), "settled": t("Settled")}
    chosen = st.segmented_control(
        t("Show"),
        list(kinds),
        format_func=kinds.__getitem__,
        default="open",
        required=True,
        key="conflicts_show",
        on_change=_close,
        label_visibility="collapsed",
    )
    return chosen == "settled"


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Conflicts"), anchor=False)
    show_notice()
    settled = _settled_or_open(t)
    wanted = st.query_params.get(_AT, "")
    with app.database.read() as session:
        first = () if settled else conflict_queue(session, limit=1).items
        item = conflict_item(session, wanted or (first[0].id if first else ""))
        place, total = place_of(session, item.id) if item is not None else (0, 0)
    if wanted and item is None:
        st.warning(t("There is no such conflict."), icon=":material/search_off:")
    if item is not None:
        _show(app, t, item, place, total)
    elif not settled:
        st.info(
            t("When two rules in use contradict each other, the pair appears here. Until it is settled, a prompt "
              "carries at most one of the two."),
            title=t("No conflict waits"),
            icon=":material/task_alt:",
        )  # fmt: skip
    if settled and item is None:
        _list(app, t, settled=True)
    elif not settled and total > 1:
        with st.expander(t("The whole queue"), icon=":material/list:"):
            _list(app, t, settled=False)


main()
