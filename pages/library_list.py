"""The library as a board or a table, and what can be done with several rules at once."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import streamlit as st

from core import curation
from core.errors import UserError
from core.i18n import Translator
from core.people.permissions import Action
from core.views.library import LibraryCounts
from core.views.library_list import BoardColumn, LibraryFilter, ListedRule, board, listed_rules, ranked_rules
from core.views.meaning import MeaningSearch
from core.views.paging import Page
from pages.context import Context, actor, can, context
from pages.labels import ORIGINS, STATE_LOOKS, STATES, label
from pages.library_filters import PAGE, choose, chosen, filters, show_saved_views
from pages.widgets import badge, pager, perform, plain, rule_link, seen_version

_ROWS = 20
_CARDS = 5


@st.cache_resource(show_spinner=False)
def _meaning() -> MeaningSearch:
    app = context()
    return MeaningSearch(app.settings.embedding, app.database)


def show_list(app: Context, t: Translator, counts: LibraryCounts) -> None:
    """Show filters and what they let through."""
    show_saved_views(app, t)
    wanted = filters(app, t, counts)
    if wanted.text and chosen("way", "words") == "meaning":
        _by_meaning(app, t, wanted)
    elif chosen("form", "board") == "table":
        _table(app, t, _paged(app, t, partial(listed_rules, wanted=wanted, order=chosen("order", "newest"))))
    else:
        with app.database.read() as session:
            columns = board(session, wanted, limit=_CARDS)
        _board(t, columns)


def _by_meaning(app: Context, t: Translator, wanted: LibraryFilter) -> None:
    try:
        with st.spinner(t("Reading the library …"), show_time=True):
            ranking = _meaning().ranking(wanted.text)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    st.caption(t("Nearest in meaning first."))
    _table(app, t, _paged(app, t, partial(ranked_rules, wanted=replace(wanted, text=""), ranking=ranking)))


def _paged(app: Context, t: Translator, read: Callable[..., Page[ListedRule]]) -> Page[ListedRule]:
    """Read the page that is open; the last one if the list has become shorter since."""
    offset = (st.session_state.get(PAGE, 1) - 1) * _ROWS
    with app.database.read() as session:
        found = read(session, limit=_ROWS, offset=offset)
        there = pager(t, found.total, _ROWS, PAGE)
        return found if there == offset else read(session, limit=_ROWS, offset=there)


def _nothing(t: Translator) -> None:
    st.info(t("No rule fits. Use fewer words, or another state."), icon=":material/search_off:")


def _board(t: Translator, columns: Sequence[BoardColumn]) -> None:
    if not any(column.total for column in columns):
        _nothing(t)
        return
    for place, column in zip(st.columns(len(columns)), columns, strict=True):
        with place:
            with st.container(horizontal=True, vertical_alignment="center"):
                badge(t, STATES, STATE_LOOKS, column.state)
                st.caption(t.number(column.total))
            for one in column.rules:
                _card(t, one)
            if column.total > len(column.rules):
                st.button(
                    t("Show all {n}", n=t.number(column.total)),
                    key=f"library_all_{column.state}",
                    on_click=_show_all,
                    args=(column.state,),
                    width="stretch",
                )


def _show_all(state: str) -> None:
    choose("state", state)
    choose("form", "table")


def _card(t: Translator, one: ListedRule) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(one.row.name)}**")
        st.text(one.row.text)
        _marks(t, one)
        rate = one.row.success
        st.caption(t.interval(rate.value, rate.low, rate.high, rate.n))
        rule_link(t, one.row.id, t("Open this rule"))


def _marks(t: Translator, one: ListedRule) -> None:
    if one.pinned or one.in_conflict:
        with st.container(horizontal=True, gap="small"):
            if one.pinned:
                st.badge(t("Pinned"), icon=":material/keep:", color="violet")
            if one.in_conflict:
                st.badge(t("In conflict"), icon=":material/sync_problem:", color="red")


def _table(app: Context, t: Translator, found: Page[ListedRule]) -> None:
    if not found.items:
        _nothing(t)
        return
    shown = tuple(one.row.id for one in found.items)
    event = st.dataframe(
        [_row(t, one) for one in found.items],
        hide_index=True,
        height="content",
        key=f"library_rows_{hash(tuple((one.row.id, one.row.version) for one in found.items))}",
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            t("Rule"): st.column_config.ButtonColumn(
                width="medium", alignment="left", type="tertiary", key="library_open", on_click=_open, args=(shown,)
            ),
            t("Text"): st.column_config.TextColumn(width="large"),
        },
        alt=t("The rules that the filters let through"),
    )
    picked = [found.items[at] for at in event.selection.rows if at < len(found.items)]
    with ExitStack() as seen:
        versions = {one.row.id: seen.enter_context(seen_version(one.row)) for one in found.items}
        _several(app, t, picked, {one.row.id: versions[one.row.id] for one in picked})


def _open(shown: Sequence[str]) -> None:
    st.query_params["rule"] = shown[st.session_state["library_open"]["row"]]


def _row(t: Translator, one: ListedRule) -> dict[str, str | int]:
    row, rate = one.row, one.row.success
    marks = [t("Pinned")] * one.pinned + [t("In conflict")] * one.in_conflict
    return {
        t("Rule"): row.name,
        t("State"): label(t, STATES, row.state),
        t("Marks"): ", ".join(marks),
        t("Success with it"): t.interval(rate.value, rate.low, rate.high, rate.n),
        t("Reward"): t.signed(row.avg_delta),
        t("Verified"): row.verified,
        t("Text"): row.text,
        t("Domain"): row.domain,
        t("Origin"): label(t, ORIGINS, row.origin),
        t("Created"): t.moment(row.created_at),
    }


def _several(app: Context, t: Translator, picked: Sequence[ListedRule], versions: Mapping[str, int]) -> None:
    if not picked:
        st.caption(t("Tick rows to archive, restore or pin several rules at once; press a name to open its rule."))
        return
    with st.form("library_several"):
        st.markdown(t.plural("**{n} rule chosen**", "**{n} rules chosen**", len(picked)))
        reason = st.text_input(t("Why?"), key="library_several_reason", help=t("Needed to archive and to restore."))
        pressed = _buttons(t)
    if pressed in ("archive_many", "restore_many") and not reason.strip():
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif pressed:
        action, done = _ACTS[pressed], _done(t, pressed, len(picked))
        given = {"reason": reason} if pressed in ("archive_many", "restore_many") else {}
        perform(t, partial(action, app.database, rules=versions, actor=actor(), clock=app.clock, **given), done)


_ACTS: dict[str, Callable[..., None]] = {
    "archive_many": curation.archive_many,
    "restore_many": curation.restore_many,
    "pin_many": curation.pin_many,
    "unpin_many": curation.unpin_many,
}


def _buttons(t: Translator) -> str:
    """Show a button for each action that the visitor may do; return the one that was pressed."""
    names = {
        "archive_many": (t("Archive"), ":material/inventory_2:"),
        "restore_many": (t("Restore"), ":material/unarchive:"),
        "pin_many": (t("Pin"), ":material/keep:"),
        "unpin_many": (t("Take the pin away"), ":material/keep_off:"),
    }
    pressed = ""
    with st.container(horizontal=True):
        for action, (name, icon) in names.items():
            allowed = can(Action(action))
            if st.form_submit_button(name, icon=icon, key=f"library_{action}", disabled=not allowed):
                pressed = action
    return pressed


def _done(t: Translator, action: str, n: int) -> str:
    return {
        "archive_many": t.plural("{n} rule archived", "{n} rules archived", n),
        "restore_many": t.plural("{n} rule restored", "{n} rules restored", n),
        "pin_many": t.plural("{n} rule pinned", "{n} rules pinned", n),
        "unpin_many": t.plural("The pin of {n} rule was taken away", "The pins of {n} rules were taken away", n),
    }[action]
