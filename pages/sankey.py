"""The flow from episodes to rules to what they do to a metric."""

from collections.abc import Sequence

import plotly.graph_objects as go

from core.i18n import Translator
from core.views.flows import RuleFlow
from pages.rule_effects import finding_said

_COLORS = {"good": "rgba(46, 139, 87, 0.5)", "bad": "rgba(200, 60, 60, 0.5)", "open": "rgba(140, 140, 150, 0.35)"}
_NODE = "rgb(27, 154, 170)"


def sankey(t: Translator, flows: Sequence[RuleFlow], metric: str) -> go.Figure:
    """Draw task types on the left, rules in the middle, and what their effect says on the right.

    Args:
        t: says the findings.
        flows: at least one.
        metric: whose effects they are.
    """
    kinds = sorted({kind for flow in flows for kind in flow.sources})
    said = {flow.rule_id: finding_said(t, metric, flow.finding) for flow in flows}
    ends = list(dict.fromkeys(words for words, _ in said.values()))
    names = [*kinds, *(flow.name for flow in flows), *ends]
    links: list[tuple[int, int, float, str]] = []
    for place, flow in enumerate(flows, len(kinds)):
        cited = sum(flow.sources.values())
        for kind, count in flow.sources.items():
            # As wide as what leaves the rule, so that the drawing balances; the table says how many episodes.
            links.append((kinds.index(kind), place, flow.used * count / cited, _COLORS["open"]))
        words, look = said[flow.rule_id]
        links.append((place, len(kinds) + len(flows) + ends.index(words), float(flow.used), _COLORS[look]))
    source, target, value, color = zip(*links, strict=True)
    figure = go.Figure(
        go.Sankey(
            node={"label": [_short(name) for name in names], "color": _NODE, "pad": 12, "thickness": 14},
            link={"source": source, "target": target, "value": value, "color": color},
        )
    )
    figure.update_layout(height=max(320, 34 * len(flows)), margin={"l": 8, "r": 8, "t": 8, "b": 8})
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"
