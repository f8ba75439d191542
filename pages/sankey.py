"""The flow from episodes to rules to what they do to a metric, drawn so that each of its boxes can be clicked.

Plotly's own Sankey tells nobody what was clicked; here boxes are bars and their names points, which do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from textwrap import wrap
from unicodedata import east_asian_width

import plotly.graph_objects as go

from core.i18n import Translator
from core.views.flows import RuleFlow
from pages.rule_effects import finding_said

_COLORS = {"good": "46, 139, 87", "bad": "200, 60, 60", "open": "140, 140, 150"}
_NODE = "rgb(27, 154, 170)"
_WIDTH = 0.03
_STEPS = 24
_ACROSS = {"type": 0.0, "rule": 0.36, "finding": 1.0}
"""Where columns stand: names take a third of the drawing and stay in it at the width of a phone."""
_LINE, _LINES = {"type": 16, "rule": 20, "finding": 11}, 4
_SIZE_PX, _LINE_PX = 11, 15
_FLOW_PX, _GAP_PX, _LEAST_PX = 300, 12, 320
"""How high all that flows is together; between boxes, or their names where these are higher; the drawing at least."""
_REACH_PX = 150
"""How far from where a name begins a click still means it: the length of the longest."""


class Column(StrEnum):
    """Where a box stands, from left to right."""

    TYPE = "type"
    RULE = "rule"
    FINDING = "finding"


@dataclass(frozen=True)
class Node:
    """A box. ``key`` is a task type, a rule's id or a finding; ``weight`` how many prompts flow through it."""

    column: Column
    key: str
    name: str
    weight: float

    @property
    def id(self) -> str:
        """Names the box in the address and in clicks."""
        return f"{self.column}/{self.key}"


@dataclass(frozen=True)
class Link:
    """A band between two boxes, by their ids, as wide as ``weight``."""

    source: str
    target: str
    weight: float
    look: str


def graph(t: Translator, flows: Sequence[RuleFlow], metric: str) -> tuple[list[Node], list[Link]]:
    """Return task types, rules and findings, each in the order drawn, and what flows between them.

    Args:
        t: says the findings.
        flows: each with at least one source.
        metric: whose effects they are.
    """
    weights: dict[tuple[Column, str, str], float] = {}
    links: list[Link] = []
    for flow in flows:
        words, look = finding_said(t, metric, flow.finding)
        cited = sum(map(len, flow.sources.values()))
        # A band is as wide as its part of what leaves the rule, so that the drawing balances; the table has counts.
        parts = {kind: flow.used * len(episodes) / cited for kind, episodes in flow.sources.items()}
        rule, finding = (Column.RULE, flow.rule_id, flow.name), (Column.FINDING, flow.finding.value, words)
        for kind, part in parts.items():
            weights[Column.TYPE, kind, kind] = weights.get((Column.TYPE, kind, kind), 0.0) + part
            links.append(Link(f"{Column.TYPE}/{kind}", f"{Column.RULE}/{flow.rule_id}", part, "open"))
        weights[rule] = float(flow.used)
        weights[finding] = weights.get(finding, 0.0) + flow.used
        links.append(Link(f"{Column.RULE}/{rule[1]}", f"{Column.FINDING}/{finding[1]}", float(flow.used), look))
    nodes = [Node(*place, weight) for place, weight in weights.items()]
    return sorted(nodes, key=lambda node: (list(Column).index(node.column), _rank(node, flows))), links


def sankey(nodes: Sequence[Node], links: Sequence[Link], pointed_out: str | None, ink: str | None) -> go.Figure:
    """Draw boxes and bands.

    Args:
        nodes: in the order of ``graph``.
        links: between them.
        pointed_out: id of a box whose bands stand out; None: all do.
        ink: colour of the names, which stand on the bands; None: the theme's for axes.
    """
    total = sum(node.weight for node in nodes if node.column is Column.RULE)
    shown = {node.id: _short(node.name, _LINE[node.column]) for node in nodes}
    room = {
        node.id: max(node.weight / total, len(shown[node.id]) * _LINE_PX / _FLOW_PX) + _GAP_PX / _FLOW_PX
        for node in nodes
    }
    places = {node.id: place for column in Column for node, place in _stacked(nodes, column, total, room)}
    figure = go.Figure()
    left = {node: low for node, (_, low, _) in places.items()}
    right = dict(left)
    for link in sorted(links, key=lambda one: (left[one.source], left[one.target])):
        height = link.weight / total
        strong = pointed_out is None or pointed_out in (link.source, link.target)
        start, end = places[link.source][0] + _WIDTH / 2, places[link.target][0] - _WIDTH / 2
        color = f"rgba({_COLORS[link.look]}, {0.45 if strong else 0.12})"
        figure.add_trace(_band((start, right[link.source]), (end, left[link.target]), height, color))
        right[link.source] += height
        left[link.target] += height
    figure.add_trace(_boxes(nodes, places))
    for column in Column:
        figure.add_trace(_names([node for node in nodes if node.column is column], places, shown, ink))
    highest = max(sum(room[node.id] for node in nodes if node.column is column) for column in Column)
    half = max(highest, _LEAST_PX / _FLOW_PX) / 2
    figure.update_layout(
        height=2 * half * _FLOW_PX,
        margin={"l": 8, "r": 8, "t": 0, "b": 0},
        showlegend=False,
        hovermode="closest",
        hoverdistance=_REACH_PX,
        dragmode=False,
    )
    figure.update_xaxes(visible=False, fixedrange=True, range=[-0.03, 1.03])
    figure.update_yaxes(visible=False, fixedrange=True, range=[half, -half])
    return figure


_Place = tuple[float, float, float]  # horizontal centre, top, height


def _stacked(
    nodes: Sequence[Node], column: Column, total: float, room: Mapping[str, float]
) -> Iterator[tuple[Node, _Place]]:
    """Yield a column's boxes from the top down, each in the middle of its room, the column centred."""
    stacked = [node for node in nodes if node.column is column]
    y = -sum(room[node.id] for node in stacked) / 2
    for node in stacked:
        height = node.weight / total
        yield node, (_ACROSS[column], y + (room[node.id] - height) / 2, height)
        y += room[node.id]


def _rank(node: Node, flows: Sequence[RuleFlow]) -> int:
    """Put rules in the order given, and types and findings in that of the first rule they belong to."""
    return next(place for place, flow in enumerate(flows) if _belongs(node, flow))


def _belongs(node: Node, flow: RuleFlow) -> bool:
    if node.column is Column.TYPE:
        return node.key in flow.sources
    return node.key == (flow.rule_id if node.column is Column.RULE else flow.finding.value)


def _band(start: tuple[float, float], end: tuple[float, float], height: float, color: str) -> go.Scatter:
    steps = [step / _STEPS for step in range(_STEPS + 1)]
    x = [start[0] + (end[0] - start[0]) * step for step in steps]
    y = [start[1] + (end[1] - start[1]) * step * step * (3 - 2 * step) for step in steps]
    return go.Scatter(
        x=x + x[::-1], y=y + [each + height for each in reversed(y)], mode="lines", fill="toself", fillcolor=color,
        line={"width": 0}, hoverinfo="skip",
    )  # fmt: skip


def _boxes(nodes: Sequence[Node], places: dict[str, _Place]) -> go.Bar:
    return go.Bar(
        x=[places[node.id][0] for node in nodes],
        base=[places[node.id][1] for node in nodes],
        y=[places[node.id][2] for node in nodes],
        width=_WIDTH,
        marker={"color": _NODE},
        unselected={"marker": {"opacity": 1}},
        customdata=[[node.id] for node in nodes],
        hovertext=[escape(node.name) for node in nodes],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _names(
    nodes: Sequence[Node], places: dict[str, _Place], shown: Mapping[str, Sequence[str]], ink: str | None
) -> go.Scatter:
    """Write names beside the boxes, into the drawing."""
    last = bool(nodes) and nodes[0].column is Column.FINDING
    beside = -_WIDTH if last else _WIDTH
    return go.Scatter(
        x=[places[node.id][0] + beside for node in nodes],
        y=[places[node.id][1] + places[node.id][2] / 2 for node in nodes],
        mode="text",
        text=["<br>".join(map(escape, shown[node.id])) for node in nodes],
        textposition="middle left" if last else "middle right",
        customdata=[[node.id] for node in nodes],
        hovertext=[escape(node.name) for node in nodes],
        hovertemplate="%{hovertext}<extra></extra>",
        textfont={"color": ink, "size": _SIZE_PX},
    )


def _short(name: str, width: int) -> list[str]:
    """Break a name into lines and cut what does not fit; pointing at it shows the whole.

    A task type is one word with underscores: a line may end behind one. Chinese signs are twice as wide.
    """
    wide = sum(east_asian_width(sign) in "WF" for sign in name)
    fitting = max(1, width * len(name) // max(1, len(name) + wide))
    lines = wrap(name.replace("_", "_ "), fitting, max_lines=_LINES, placeholder="…", break_on_hyphens=False)
    return [line.replace("_ ", "_") for line in lines]
