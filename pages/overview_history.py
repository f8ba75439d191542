"""Overview's second half: the gain's trend, rules by state over time, what each round changed, and what waits."""

from collections.abc import Sequence

import streamlit as st

from core.i18n import Translator, mark
from core.views.health import Gain
from core.views.history import RoundChanges, Waiting
from core.views.library import STATES
from pages.charts import Mark, Point, Series, by_round, stacked
from pages.labels import STATES as STATE_NAMES
from pages.labels import label

_QUEUES = {
    "review": mark("To review"),
    "conflicts": mark("Conflicts"),
}


def change_marks(t: Translator, history: Sequence[RoundChanges]) -> list[Mark]:
    """Return a mark for each round that changed the library, saying what it changed."""
    return [Mark(one.round, _said(t, one)) for one in history if one.round and _touched(one)]


def gain_trend(t: Translator, gains: Sequence[Gain]) -> None:
    """Show the gain of every round that measured it."""
    st.subheader(t("Gain by round"), anchor=False)
    points = [
        Point(one.round, one.value, one.low, one.high)
        for one in gains
        if one.value is not None and one.low is not None and one.high is not None
    ]
    if not points:
        st.caption(t("No round has measured it yet."))
        return
    st.caption(t("Reward on held-out tasks with the library minus without. Band: 95 % interval."))
    line = Series(t("Gain"), "library", points)
    st.plotly_chart(
        by_round([line], x_title=t("Round"), y_title=t("Gain"), share=False),
        key="overview_gain",
        config={"displayModeBar": False},
        alt=t("Gain by round, with 95 % intervals; the table below has the figures."),
    )
    rows = [
        {t("Round"): t.number(one.round), t("Gain"): t.interval(one.value, one.low, one.high, one.n)}
        for one in reversed(gains)
    ]
    with st.expander(t("Figures")):
        st.dataframe(rows, hide_index=True, alt=t("Gain by round"))


def library_over_time(t: Translator, history: Sequence[RoundChanges]) -> None:
    """Show rules by state after each round, with what each round changed."""
    st.subheader(t("Rules over time"), anchor=False)
    if not history:
        st.caption(t("No rule yet."))
        return
    st.caption(t("Rules in each state when a round was over. The figures say what it changed."))
    shown = [state for state in STATES if any(one.states.get(state) for one in history)]
    counts = {state: (label(t, STATE_NAMES, state), [one.states.get(state, 0) for one in history]) for state in shown}
    st.plotly_chart(
        stacked([one.round for one in history], counts, x_title=t("Round")),
        key="overview_states",
        config={"displayModeBar": False},
        alt=t("Rules by state over time; the table below has the figures."),
    )
    with st.expander(t("Figures")):
        st.dataframe([_row(t, one, shown) for one in reversed(history)], hide_index=True, alt=t("Rules over time"))
    st.page_link(
        "provenance.py",
        label=t("Which rules a change is owed to"),
        icon=":material/account_tree:",
        query_params={"lang": t.language},
    )


def queues(t: Translator, waiting: Sequence[Waiting]) -> None:
    """Show what waits for people and for how long."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for one in waiting:
            text = f"{label(t, _QUEUES, one.queue)}: {t.number(one.n)}"
            if one.oldest is not None:
                text += " · " + t("oldest {age}", age=t.duration(one.oldest))
            st.badge(text, icon=":material/hourglass_empty:", color="blue" if one.n else "gray")
        st.page_link(
            "review.py", label=t("Open Review"), icon=":material/arrow_forward:", query_params={"lang": t.language}
        )


def _touched(one: RoundChanges) -> bool:
    return any((one.created, one.edited, one.live, one.left))


def _said(t: Translator, one: RoundChanges) -> str:
    return t(
        "Round {round}: {created} new, {edited} edited, {live} went live, {left} left",
        round=t.number(one.round),
        created=t.number(one.created),
        edited=t.number(one.edited),
        live=t.number(one.live),
        left=t.number(one.left),
    )


def _row(t: Translator, one: RoundChanges, states: Sequence[str]) -> dict[str, str]:
    return {
        t("Round"): t.number(one.round),
        **{label(t, STATE_NAMES, state): t.number(one.states.get(state, 0)) for state in states},
        t("New"): t.number(one.created),
        t("Edited"): t.number(one.edited),
        t("Went live"): t.number(one.live),
        t("Left"): t.number(one.left),
    }
