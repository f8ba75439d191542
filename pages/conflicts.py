"""Conflicts: rules that contradict each other, one pair at a time, and how each was settled (design section 3)."""

import streamlit as st

from core.i18n import Translator
from core.views.conflicts import (
    MANY,
    ConflictItem,
    ConflictRow,
    Place,
    conflict_item,
    conflict_queue,
    first_waiting,
    place_of,
    settled_conflicts,
)
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


def _many(t: Translator, number: int) -> str:
    return t("{n} or more", n=t.number(number)) if number >= MANY else t.number(number)


def _position(app: Context, t: Translator, item: ConflictItem, place: Place) -> None:
    """Say where in the queue this one is, and offer the ones beside it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            t(
                "{place} of {total}, waiting for {age}",
                place=_many(t, place.number + 1),
                total=_many(t, place.total),
                age=t.duration(app.clock() - item.created_at),
            ),
            width="content",
        )
        if place.total > 1:
            for name, icon, to, shortcut in (
                (t("Back"), ":material/chevron_left:", place.before, "k"),
                (t("Later"), ":material/chevron_right:", place.after, "j"),
            ):
                st.button(name, icon=icon, on_click=_open, args=(to,), key=f"conflicts_{shortcut}", shortcut=shortcut)


def _list(app: Context, t: Translator, *, settled: bool) -> None:
    read = settled_conflicts if settled else conflict_queue
    with app.database.read() as session:
        total = read(session, limit=0).total
        offset = pager(t, total, _ROWS, f"conflicts_page_{'settled' if settled else 'open'}")
        page = read(session, limit=_ROWS, offset=offset)
    for row in page.items:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            names = " ↔ ".join(plain(name) for name in row.names)
            st.button(names, key=f"conflicts_open_{row.id}", on_click=_open, args=(row.id,), type="tertiary", wrap=True)
            st.caption(_line(app, t, row), width="content")
    if settled and not page.items:
        st.caption(t("Nothing here yet."))
    elif not page.items:
        _nothing_waits(t)


def _line(app: Context, t: Translator, row: ConflictRow) -> str:
    parts = [plain(row.domain)] if row.domain else []
    if row.way is None:
        return " · ".join([*parts, label(t, DETECTORS, row.detector), t.duration(app.clock() - row.created_at)])
    return " · ".join([*parts, label(t, WAYS, row.way), plain(row.resolved_by or "–"), t.moment(row.resolved_at)])


def _show(app: Context, t: Translator, item: ConflictItem) -> None:
    following = ""
    if item.settled is not None:
        show_settled(app, t, item)
        st.button(t("Back to the list"), icon=":material/arrow_back:", on_click=_close, key="conflicts_close")
    elif item.sleeping:
        st.info(t("One of the two rules is archived, so there is nothing to settle now."), icon=":material/bedtime:")
    else:
        with app.database.read() as session:
            place = place_of(session, item.id)
        _position(app, t, item, place)
        following = place.after if place.after != item.id else ""
    show_found(t, item)
    show_sides(t, item)
    if item.settled is None and not item.sleeping:
        decide(app, t, item, following)
    show_firings(t, item)


def _nothing_waits(t: Translator) -> None:
    st.info(
        t(
            "When two rules in use contradict each other, the pair appears here. Until it is settled, a prompt "
            "carries at most one of the two."
        ),
        title=t("No conflict waits"),
        icon=":material/task_alt:",
    )


def _chosen_view(t: Translator) -> str:
    kinds = {"one": t("One at a time"), "queue": t("The whole queue"), "settled": t("Settled")}
    return str(
        st.segmented_control(
            t("Show"),
            list(kinds),
            format_func=kinds.__getitem__,
            default="one",
            required=True,
            key="conflicts_show",
            on_change=_close,
            label_visibility="collapsed",
        )
    )


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Conflicts"), anchor=False)
    show_notice()
    view, wanted = _chosen_view(t), st.query_params.get(_AT, "")
    with app.database.read() as session:
        at = wanted or (first_waiting(session) if view == "one" else "")
        item = conflict_item(session, at) if at else None
    if wanted and item is None:
        st.warning(t("There is no such conflict."), icon=":material/search_off:")
    if item is not None:
        _show(app, t, item)
    elif view == "one":
        _nothing_waits(t)
    else:
        _list(app, t, settled=view == "settled")


main()
