"""The four health metrics of Overview: cards of the newest round, and a chart by round with its table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from core.i18n import TOO_FEW, Translator
from core.views.health import METRICS, Gain, HealthRow, standing_rows
from pages.charts import Mark, Point, Series, by_round
from pages.labels import ARMS, label
from pages.labels import METRICS as METRIC_NAMES
from pages.widgets import episodes_link

_LESS_IS_BETTER = {"mean_turns", "tool_error_rate"}
_RATES = {"success_rate", "compliance_rate"}


@dataclass(frozen=True)
class Lines:
    """The metrics by round as they are shown, oldest round first.

    Attributes:
        library: held-out tasks with the library that the round left standing.
        empty: the same without any rule.
        learn: training tasks.
    """

    library: Sequence[HealthRow]
    empty: Sequence[HealthRow]
    learn: Sequence[HealthRow]

    def of(self, metric: str) -> "Lines":
        """Return one metric's lines."""
        return Lines(
            *([row for row in line if row.metric == metric] for line in (self.library, self.empty, self.learn))
        )


def health_lines(rows: Sequence[HealthRow], gains: Sequence[Gain]) -> Lines:
    """Choose what is shown; ``gains`` tell which arm ran the library left standing."""
    empty, learn = ([row for row in rows if row.arm == arm and row.round is not None] for arm in ("empty", "learn"))
    return Lines(standing_rows(rows, gains), empty, learn)


def health_cards(t: Translator, lines: Lines) -> None:
    """Show each metric of the newest evaluated round, against the empty library on the same tasks."""
    for metric, cell in zip(METRICS, st.columns(len(METRICS)), strict=True):
        with cell.container(border=True, height="stretch"):
            _card(t, metric, lines.of(metric))


def health_charts(t: Translator, lines: Lines, marks: Sequence[Mark]) -> None:
    """Show each metric by round, with the rounds that changed the library marked."""
    for pair in (METRICS[:2], METRICS[2:]):
        for metric, cell in zip(pair, st.columns(2), strict=True):
            with cell.container(border=True):
                _chart(t, metric, lines.of(metric), marks)


def _card(t: Translator, metric: str, lines: Lines) -> None:
    newest = lines.library[-1] if lines.library else None
    told = newest is not None and newest.n >= TOO_FEW
    difference = _difference(newest, lines.empty) if newest and told else None
    st.metric(
        label(t, METRIC_NAMES, metric),
        t.number(newest.value, 2) if newest and told else "–",
        delta=None if difference is None else f"{difference:+.2f}" if difference else t.signed(0.0),
        delta_color="off" if not difference else "inverse" if metric in _LESS_IS_BETTER else "normal",
        delta_arrow="auto" if difference else "off",
        delta_description=None if difference is None else t("vs no rules"),
        help=_help(t, metric),
        chart_data=[row.value for row in lines.library] if len(lines.library) > 1 else None,
    )
    if newest is None:
        st.caption(t("no data yet"))
        return
    st.caption(
        t.interval(newest.value, newest.low, newest.high, newest.n)
        + " · "
        + t("held-out tasks, round {number}", number=t.number(newest.round))
    )
    if newest.round is not None:
        episodes_link(t, t("Its episodes"), newest.round, newest.arm)


def _help(t: Translator, metric: str) -> str:
    return {
        "success_rate": t("Episodes graded pass, of all held-out episodes with the library."),
        "mean_turns": t("Assistant messages per episode."),
        "tool_error_rate": t("Tool calls that failed, of all tool calls."),
        "compliance_rate": t("Rules that were followed, of all judged pairs of a rule and an episode."),
    }[metric]


def _chart(t: Translator, metric: str, lines: Lines, marks: Sequence[Mark]) -> None:
    name = label(t, METRIC_NAMES, metric)
    st.subheader(t("{metric} by round", metric=name), anchor=False)
    names = _names(t)
    series = [
        Series(names[0], "library", [_point(row) for row in lines.library]),
        Series(names[1], "empty", [_point(row) for row in lines.empty]),
        Series(names[2], "learn", [_point(row) for row in lines.learn], banded=False),
    ]
    drawn = [one for one in series if one.points]
    if not drawn:
        st.caption(t("Nothing measured yet. The first round fills this chart."))
        return
    st.caption(
        t(
            "Held-out tasks with the library that the round left standing and without any; dotted: training tasks. "
            "Bands: 95 % intervals. Triangles: rounds that changed the library. Click a point to see what is behind it."
        )
    )
    figure = by_round(drawn, x_title=t("Round"), y_title=name, share=metric in _RATES, marks=marks)
    event = st.plotly_chart(
        figure,
        key=f"overview_chart_{metric}",
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
        alt=t("{metric} by round, with 95 % intervals; the table below has the figures.", metric=name),
    )
    clicked = {int(point["x"]) for point in event.selection.points}
    if clicked:
        _behind(t, max(clicked), marks)
    with st.expander(t("Figures")):
        st.dataframe(_table(t, lines), hide_index=True, alt=t("{metric} by round", metric=name))


def _behind(t: Translator, number: int, marks: Sequence[Mark]) -> None:
    """Show what changed in a round, and lead to its episodes and to the rules that its change is owed to."""
    with st.container(border=True):
        told = [mark.text for mark in marks if mark.round == number]
        st.text(told[0] if told else t("Round {number}", number=t.number(number)))
        with st.container(horizontal=True):
            episodes_link(t, t("Its episodes"), number)
            st.page_link(
                "provenance.py",
                label=t("Which rules a change is owed to"),
                icon=":material/account_tree:",
                query_params={"provenance_later": str(number), "lang": t.language},
            )


def _names(t: Translator) -> tuple[str, str, str]:
    return t("With library"), label(t, ARMS, "empty"), label(t, ARMS, "learn")


def _table(t: Translator, lines: Lines) -> list[dict[str, str]]:
    columns = [{row.round: row for row in line} for line in (lines.library, lines.empty, lines.learn)]
    rounds = sorted({number for column in columns for number in column if number is not None}, reverse=True)
    return [
        {t("Round"): t.number(number)}
        | {name: _interval(t, column.get(number)) for name, column in zip(_names(t), columns, strict=True)}
        for number in rounds
    ]


def _interval(t: Translator, row: HealthRow | None) -> str:
    return "–" if row is None else t.interval(row.value, row.low, row.high, row.n)


def _difference(newest: HealthRow, empty: Iterable[HealthRow]) -> float | None:
    same = next((row for row in empty if row.round == newest.round), None)
    return None if same is None else round(newest.value - same.value, 2)


def _point(row: HealthRow) -> Point:
    return Point(row.round or 0, row.value, row.low, row.high)
