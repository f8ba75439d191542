"""The memories of an environment: how many are how near, a filtered list, and the way back from cold."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator
from core.people.permissions import Action
from core.views.memory import OUTCOMES, TIERS, MemoryFilter, MemoryRow, TierRow, memories, one_memory, tiers
from core.views.paging import Page
from pages.address import choice, keep
from pages.context import Context, actor, can
from pages.labels import MEMORY_OUTCOMES, TIER_LOOKS, label
from pages.labels import TIERS as TIER_NAMES
from pages.widgets import badge, episode_link, pager, perform, plain

PAGE = "memory_page"
_OPEN = "memory_open"
_ROWS = 10


def show_memories(app: Context, t: Translator, environment: str) -> None:
    """Show the tiers, the filters and the memories that pass them; or the one that the address names."""
    if st.query_params.get(_OPEN):
        _opened(app, t, st.query_params[_OPEN])
        return
    with app.database.read() as session:
        found = tiers(session, environment)
    if not any(one.memories for one in found):
        no_memories(t)
        return
    _tiers(t, found)
    wanted = _filters(t, environment)
    page = _page(app, t, wanted)
    if page.items:
        _table(t, page.items)
    else:
        st.info(t("No memory fits these filters. Choose “All” in one of them."), icon=":material/search_off:")


def no_memories(t: Translator) -> None:
    """Say what to do where nothing is remembered."""
    st.info(
        t(
            "Every decision of a graded training episode becomes a memory when its round is judged. "
            "Start a round on the page Loop to see the first ones."
        ),
        title=t("No memories yet"),
        icon=":material/psychology:",
    )
    st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})


def _tiers(t: Translator, found: tuple[TierRow, ...]) -> None:
    for place, row in zip(st.columns(len(found)), found, strict=True):
        with place, st.container(border=True, height="stretch"):
            badge(t, TIER_NAMES, TIER_LOOKS, row.tier)
            st.metric(t("Memories"), t.number(row.memories))
            if row.memories:
                st.caption(t("from {oldest} to {newest}", oldest=t.moment(row.oldest), newest=t.moment(row.newest)))
    st.caption(
        t(
            "Hot: the latest, whatever they led to. Warm: older successes, shortened. Cold: put away and not "
            "retrieved, until somebody restores them."
        )
    )


def _filters(t: Translator, environment: str) -> MemoryFilter:
    every = {"": t("All")}
    first, second, third = st.columns([1, 1, 2])
    with first:
        tier = choice(t("Tier"), "memory_tier", every | {one: label(t, TIER_NAMES, one) for one in TIERS}, PAGE)
    with second:
        named = every | {one: label(t, MEMORY_OUTCOMES, one) for one in OUTCOMES}
        outcome = choice(t("Led to"), "memory_outcome", named, PAGE)
    with third:
        st.session_state["memory_search"] = st.query_params.get("memory_search", "")
        text = st.text_input(
            t("Search"),
            key="memory_search",
            placeholder=t("What its state or action contains"),
            icon=":material/search:",
            on_change=keep,
            args=("memory_search", PAGE),
        )
    return MemoryFilter(environment, tier, outcome, text or "")


def _page(app: Context, t: Translator, wanted: MemoryFilter) -> Page[MemoryRow]:
    with app.database.read() as session:
        total = memories(session, wanted, limit=1).total
        offset = pager(t, total, _ROWS, PAGE)
        return memories(session, wanted, limit=_ROWS, offset=offset)


def _table(t: Translator, rows: Sequence[MemoryRow]) -> None:
    st.dataframe(
        [_row(t, row) for row in rows],
        hide_index=True,
        height="content",
        key=f"memory_rows_{hash(tuple(row.id for row in rows))}",
        column_config={
            t("Action"): st.column_config.ButtonColumn(
                width="medium",
                alignment="left",
                type="tertiary",
                key="memory_chosen",
                on_click=_open,
                args=(tuple(row.id for row in rows),),
            ),
            t("State"): st.column_config.TextColumn(width="large"),
        },
        alt=t("The memories that the filters let through"),
    )
    st.caption(t("Press an action to see the whole memory, and to restore it if it is cold."))


def _open(shown: Sequence[int]) -> None:
    st.query_params[_OPEN] = str(shown[st.session_state["memory_chosen"]["row"]])


def _close() -> None:
    st.query_params.pop(_OPEN, None)


def _row(t: Translator, row: MemoryRow) -> dict[str, str]:
    return {
        t("Action"): row.action,
        t("State"): row.state,
        t("Tier"): label(t, TIER_NAMES, row.tier),
        t("Reward"): t.signed(row.reward),
        t("Return"): t.signed(row.value),
        "Q": t.signed(row.q),
        t("Shown"): t.number(row.q_updates),
        t("Made"): t.moment(row.created_at),
    }


def _opened(app: Context, t: Translator, named: str) -> None:
    st.button(t("All memories"), icon=":material/arrow_back:", on_click=_close, key="memory_close")
    with app.database.read() as session:
        row = one_memory(session, int(named)) if named.isdecimal() else None
    if row is None:
        st.warning(t("There is no memory {id}.", id=plain(named)), icon=":material/search_off:")
        return
    _memory(app, t, row)


def _memory(app: Context, t: Translator, row: MemoryRow) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(t, TIER_NAMES, TIER_LOOKS, row.tier)
            st.caption(plain(_facts(t, row)), width="content")
        st.markdown(f"**{plain(row.action)}**")
        st.text(row.state)
        if row.result:
            st.caption(t("Result: {result}", result=plain(row.result)))
        if row.lesson:
            st.caption(t("The episode: {lesson}", lesson=plain(row.lesson)))
        with st.container(horizontal=True, vertical_alignment="center"):
            episode_link(t, row.episode_id)
            if row.tier == "cold" and can(Action.RESTORE_MEMORY):
                _restore(app, t, row)


def _facts(t: Translator, row: MemoryRow) -> str:
    facts = [
        t("memory {id}", id=row.id),
        t.moment(row.created_at),
        t("reward {reward}", reward=t.signed(row.reward)),
        t("return {value}", value=t.signed(row.value)),
        t.plural("Q {q} after {n} use", "Q {q} after {n} uses", row.q_updates, q=t.signed(row.q)),
    ]
    if row.failed:
        facts.append(t("the call failed"))
    if row.displeased:
        facts.append(t("the user was displeased"))
    if row.latency_ms is not None:
        facts.append(t("decided in {seconds} s", seconds=t.number(row.latency_ms / 1000, 1)))
    if row.trust < 1:
        facts.append(t("by {agent}, trust {trust}", agent=row.agent, trust=t.number(row.trust, 2)))
    if row.covered_by is not None:
        facts.append(t("covered by memory {id}", id=row.covered_by))
    if row.restored:
        facts.append(t("restored by a person"))
    return " · ".join(facts)


def _restore(app: Context, t: Translator, row: MemoryRow) -> None:
    if st.button(t("Restore"), icon=":material/unarchive:", key=f"memory_restore_{row.id}"):
        action = partial(curation.restore_memory, app.database, memory_id=row.id, actor=actor(), clock=app.clock)
        perform(t, action, t("Restored: memory {id} is warm, and is found again", id=row.id))
