"""The four health metrics of Overview: cards of the newest round, and a chart by round with its table."""

from collections.abc import Iterable, Sequence

import streamlit as st

from core.i18n import TOO_FEW, Translator
from core.views.health import METRICS, HealthRow
from pages.charts import Mark, Point, Series, by_round
from pages.labels import ARMS, label
from pages.labels import METRICS as METRIC_NAMES

_LESS_IS_BETTER = {"mean_turns", "tool_error_rate"}
_RATES = {"success_rate", "compliance_rate"}
_SHOWN_ARMS = (("after", True), ("empty", True), ("learn", False))


def health_cards(t: Translator, rows: list[HealthRow]) -> None:
    """Show each metric of the newest evaluated round, against the empty library on the same tasks."""
    for metric, cell in zip(METRICS, st.columns(len(METRICS)), strict=True):
        with cell.container(border=True, height="stretch"):
            _card(t, metric, rows)


def health_charts(t: Translator, rows: list[HealthRow], marks: Sequence[Mark]) -> None:
    """Show each metric by round, with the rounds that changed the library marked."""
    for pair in (METRICS[:2], METRICS[2:]):
        for metric, cell in zip(pair, st.columns(2), strict=True):
            with cell.container(border=True):
                _chart(t, metric, rows, marks)


def _card(t: Translator, metric: str, rows: list[HealthRow]) -> None:
    lines = {arm: _of(rows, metric, arm) for arm in ("after", "empty")}
    newest = lines["after"][-1] if lines["after"] else None
    told = newest is not None and newest.n >= TOO_FEW
    difference = _difference(newest, lines["empty"]) if newest and told else None
    st.metric(
        label(t, METRIC_NAMES, metric),
        t.number(newest.value, 2) if newest and told else "–",
        delta=None if difference is None else f"{difference:+.2f}",
        delta_color="inverse" if metric in _LESS_IS_BETTER else "normal",
        delta_description=None if difference is None else t("vs no rules"),
        help=_help(t, metric),
        chart_data=[row.value for row in lines["after"]] if len(lines["after"]) > 1 else None,
    )
    if newest is None:
        st.caption(t("no data yet"))
        return
    st.caption(
        t.interval(newest.value, newest.low, newest.high, newest.n)
        + " · "
        + t("held-out tasks, round {number}", number=t.number(newest.round))
    )


def _help(t: Translator, metric: str) -> str:
    return {
        "success_rate": t("Episodes graded pass, of all held-out episodes with the library."),
        "mean_turns": t("Assistant messages per episode."),
        "tool_error_rate": t("Tool calls that failed, of all tool calls."),
        "compliance_rate": t("Rules that were followed, of all judged pairs of a rule and an episode."),
    }[metric]


def _chart(t: Translator, metric: str, rows: list[HealthRow], marks: Sequence[Mark]) -> None:
    name = label(t, METRIC_NAMES, metric)
    st.subheader(t("{metric} by round", metric=name), anchor=False)
    series = [
        Series(_arm_name(t, arm), arm, [_point(row) for row in _of(rows, metric, arm)], banded)
        for arm, banded in _SHOWN_ARMS
    ]
    drawn = [one for one in series if one.points]
    if not drawn:
        st.caption(t("Nothing measured yet. The first round fills this chart."))
        return
    st.caption(
        t(
            "Held-out tasks with the library and without; dotted: training tasks. Bands: 95 % intervals. Triangles: "
            "rounds that changed the library."
        )
    )
    figure = by_round(drawn, x_title=t("Round"), y_title=name, share=metric in _RATES, marks=marks)
    st.plotly_chart(
        figure,
        key=f"overview_chart_{metric}",
        config={"displayModeBar": False},
        alt=t("{metric} by round, with 95 % intervals; the table below has the figures.", metric=name),
    )
    with st.expander(t("Figures")):
        st.dataframe(_table(t, rows, metric), hide_index=True, alt=t("{metric} by round", metric=name))


def _arm_name(t: Translator, arm: str) -> str:
    return label(t, ARMS, arm)


def _table(t: Translator, rows: list[HealthRow], metric: str) -> list[dict[str, str]]:
    rounds = sorted({row.round for row in rows if row.metric == metric and row.round is not None}, reverse=True)
    found = {(row.round, row.arm): row for row in rows if row.metric == metric}
    return [
        {t("Round"): t.number(number)}
        | {_arm_name(t, arm): _interval(t, found.get((number, arm))) for arm, _ in _SHOWN_ARMS}
        for number in rounds
    ]


def _interval(t: Translator, row: HealthRow | None) -> str:
    return "–" if row is None else t.interval(row.value, row.low, row.high, row.n)


def _difference(newest: HealthRow, empty: Iterable[HealthRow]) -> float | None:
    same = next((row for row in empty if row.round == newest.round), None)
    return None if same is None else round(newest.value - same.value, 2)


def _of(rows: list[HealthRow], metric: str, arm: str) -> list[HealthRow]:
    return [row for row in rows if row.metric == metric and row.arm == arm and row.round is not None]


def _point(row: HealthRow) -> Point:
    return Point(row.round or 0, row.value, row.low, row.high)
