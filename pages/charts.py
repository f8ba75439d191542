"""Charts of a metric by round: told apart by line style and marker as well as by colour.

Coordinates are given as arrays: Plotly checks lists value by value.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go


@dataclass(frozen=True)
class Point:
    """A metric's value in one round with its 95 % interval."""

    round: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One line. ``look`` is library, empty or learn; ``banded`` draws its intervals."""

    name: str
    look: str
    points: Sequence[Point]
    banded: bool = True


STATE_COLORS = {
    "active": "46, 139, 87",
    "probation": "224, 122, 31",
    "candidate": "60, 120, 200",
    "archived": "140, 140, 150",
}


def stacked(rounds: Sequence[int], counts: Mapping[str, tuple[str, Sequence[int]]], *, x_title: str) -> go.Figure:
    """Draw how many rules are in each state, one on top of the other.

    Args:
        rounds: the horizontal axis.
        counts: state -> (its name, one count a round).
        x_title: label of the horizontal axis.
    """
    traces = [
        go.Scatter(
            x=np.array(rounds),
            y=np.array(values),
            name=name,
            stackgroup="rules",
            mode="lines" if len(rounds) > 1 else "markers",  # one round has nothing to draw a line to
            line={"color": f"rgb({STATE_COLORS[state]})", "width": 1},
            fillcolor=f"rgba({STATE_COLORS[state]}, 0.5)",
        )
        for state, (name, values) in counts.items()
    ]
    return _figure(traces, _rounds_axis(rounds, x_title), {"rangemode": "tozero"})


def _rounds_axis(rounds: Collection[int], title: str) -> dict[str, Any]:
    """Tick whole rounds only."""
    few = bool(rounds) and max(rounds) - min(rounds) < 12
    return {"title": {"text": title}, "dtick": 1 if few else None, "tickformat": "d"}


def _figure(traces: Sequence[go.Scatter], x_axis: Mapping[str, Any], y_axis: Mapping[str, Any]) -> go.Figure:
    """Put a figure together at once: Plotly takes twice as long where traces and layout are added one by one."""
    layout = {
        "height": 300,
        "margin": {"l": 8, "r": 8, "t": 40, "b": 8},
        "hovermode": "x unified",
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "top", "y": 1, "yref": "container", "x": 0, "xref": "container"},
        "xaxis": x_axis,
        "yaxis": y_axis,
    }
    return go.Figure(traces, layout)


_MANY = 60
"""Points beyond which a line's own marks would cover it."""
_LOOKS = {
    "library": ("27, 154, 170", "solid", "circle"),
    "empty": ("224, 122, 31", "dash", "square"),
    "learn": ("140, 140, 150", "dot", "diamond"),
}


@dataclass(frozen=True)
class Mark:
    """Something that happened in a round: a triangle on the time axis, with ``text`` when pointed at."""

    round: int
    text: str


def by_round(
    series: Sequence[Series], *, x_title: str, y_title: str, share: bool, marks: Sequence[Mark] = ()
) -> go.Figure:
    """Draw lines with interval bands.

    Args:
        series: the lines; those without points are left out.
        x_title: label of the horizontal axis, rounds.
        y_title: label of the vertical axis.
        share: the values are shares, so the axis runs from 0 to 1.
        marks: rounds to be marked on the time axis.
    """
    drawn = [one for one in series if one.points]
    traces = [_band(one) for one in drawn if one.banded and len(one.points) > 1]
    traces += [_line(one) for one in drawn]
    traces += [_marks(marks)] if drawn and marks else []
    rounds = {point.round for one in drawn for point in one.points}
    return _figure(
        traces,
        _rounds_axis(rounds, x_title),
        {"title": {"text": y_title}, "range": [0, 1] if share else None, "rangemode": "tozero"},
    )


def _marks(marks: Sequence[Mark]) -> go.Scatter:
    return go.Scatter(
        x=np.array([mark.round for mark in marks]),
        y=np.zeros(len(marks)),
        mode="markers",
        marker={"symbol": "triangle-up", "size": 11, "color": "rgb(150, 90, 200)"},
        text=[mark.text for mark in marks],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        cliponaxis=False,
    )


def _band(one: Series) -> go.Scatter:
    color, _, _ = _LOOKS[one.look]
    rounds = [point.round for point in one.points]
    return go.Scatter(
        x=np.array(rounds + rounds[::-1]),
        y=np.array([point.high for point in one.points] + [point.low for point in reversed(one.points)]),
        mode="lines",
        fill="toself",
        fillcolor=f"rgba({color}, 0.16)",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )


def _line(one: Series) -> go.Scatter:
    color, dash, symbol = _LOOKS[one.look]
    many = len(one.points) > _MANY
    alone = one.points[0] if one.banded and len(one.points) == 1 else None  # one point has no band, but a bar
    bar = alone and {"array": [alone.high - alone.value], "arrayminus": [alone.value - alone.low]}
    return go.Scatter(
        x=np.array([point.round for point in one.points]),
        y=np.array([point.value for point in one.points]),
        error_y=bar,
        name=one.name,
        mode="lines+markers",
        line={"color": f"rgb({color})", "width": 1 if many else 2, "dash": dash},
        marker={"symbol": symbol, "size": 7, "opacity": 0 if many else 1},  # what is not seen can still be clicked
        hovertemplate="%{y:.2f}",
    )
