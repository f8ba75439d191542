"""The drawing of the flow: names can be read, however little flows through a box."""

import plotly.graph_objects as go
import pytest

from pages.sankey import Column, Link, Node, sankey

LINE_PX = 14
"""What a line of eleven pixels' letters takes, in Chromium."""
NAMES = (
    "Look for leaked connections in the pool before restarting",
    "停",
    "数据库连接池耗尽时先查泄漏的连接再决定是否重启",
    "x",
)


def drawn(*used: float) -> go.Figure:
    nodes = [Node(Column.TYPE, "t", "pool_exhaustion_of_the_database", sum(used))]
    nodes += [Node(Column.RULE, str(place), NAMES[place % 4], weight) for place, weight in enumerate(used)]
    nodes += [Node(Column.FINDING, "f", "No effect to be seen", sum(used))]
    links = [Link("type/t", f"rule/{place}", weight, "open") for place, weight in enumerate(used)]
    links += [Link(f"rule/{place}", "finding/f", weight, "good") for place, weight in enumerate(used)]
    return sankey(nodes, links, None, None)


def names_of(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if isinstance(trace, go.Scatter) and trace.mode == "text"]


@pytest.mark.parametrize("used", [(1,), (1, 1), (1000, 1, 1, 1), tuple(range(1, 16)), (1,) * 15])
def test_names_do_not_cover_one_another_and_all_is_in_the_drawing(used: tuple[float, ...]) -> None:
    figure = drawn(*used)
    bottom, top = figure.layout.yaxis.range
    pixel = (bottom - top) / figure.layout.height
    for names in names_of(figure):
        ends = []
        for middle, text in zip(names.y, names.text, strict=True):
            half = LINE_PX * pixel * len(text.split("<br>")) / 2
            ends += [middle - half, middle + half]
        assert ends == sorted(ends)
        assert top <= ends[0]
        assert ends[-1] <= bottom
    (boxes,) = (trace for trace in figure.data if isinstance(trace, go.Bar))
    for base, height in zip(boxes.base, boxes.y, strict=True):
        assert top <= base
        assert base + height <= bottom


def test_names_as_long_as_these_are_not_cut() -> None:
    shown = [text.replace("<br>", " ") for names in names_of(drawn(1, 2, 3, 4)) for text in names.text]
    assert not any("…" in text for text in shown)
    assert NAMES[0] in shown
