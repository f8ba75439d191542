"""The decision points of an episode, and the lines of a digest that show them (design section 7).

Which point is the decisive one, and the text around the lines, is ``core.episodes.digest``'s matter.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.episodes.fitting import fair_level, fit, spread
from core.episodes.keyfields import argument_texts, result_text
from core.episodes.trajectory import Messages, steps
from core.text import clip, estimate_tokens

_SHORT_EPISODE = 10
_BRIEF_TOKENS = 16
_LEAST_TOKENS = 9
_TALK_TOKENS = 32
_LEAST_ARGUMENT_TOKENS = 6
_BRIEF_ARGUMENT_TOKENS = 8
_LITTLE_ROOM = 14
_MAX_CHARS = 2000

_CONTAINER = re.compile(r"^(\w+)=[\[{].{12,}$")


@dataclass(frozen=True)
class Point:
    """One line's worth of an episode: a tool call, or an utterance with the user's answer."""

    index: int
    tool: str = ""
    arguments: tuple[str, ...] = ()
    result: str = ""
    failed: bool = False
    said: str = ""
    reply: str = ""


def decision_points(messages: Messages) -> list[Point]:
    """Return the points in order: each tool call, and each message without calls.

    What an assistant says beside its calls is left out: the calls show what it decided.
    """
    points: list[Point] = []
    for step in steps(messages):
        for call in step.calls:
            tool = re.sub(r"[\s()]+", "_", call.name)[:64]
            arguments = tuple(argument_texts(call.arguments))
            points.append(Point(step.index, tool, arguments, result_text(call), call.failed))
        if not step.calls:
            said, reply = clip(step.text, _MAX_CHARS) or "(empty)", clip(step.reply, _MAX_CHARS)
            points.append(Point(step.index, said=said, reply=reply))
    return points


def step_lines(points: list[Point], decisive: int | None, budget: int, around: int) -> list[str]:
    """Spend the budget on the decisive point and its neighbours first, then evenly on the others.

    Args:
        points: all of the episode's, in order.
        decisive: position of the decisive one; None gives no lines.
        budget: tokens that the lines may take together.
        around: how many points before and after the decisive one go first.

    Returns:
        The lines in order. Episodes of up to ten points are shown whole if the budget has room for a brief
        line each; of longer ones as many others as fit, spread evenly.
    """
    if decisive is None or budget < _LEAST_TOKENS:
        return []
    costs = [estimate_tokens(_line(point, "-", None)) for point in points]
    briefs = [min(cost, _brief(point)) for cost, point in zip(costs, points, strict=True)]
    near = [position for position in range(len(points)) if abs(position - decisive) <= around]
    window = sorted(near, key=lambda position: abs(position - decisive))[: max(1, budget // _LEAST_TOKENS)]
    others = [position for position in range(len(points)) if position not in near]
    short = len(points) <= _SHORT_EPISODE
    reserve = sum(briefs[i] for i in others) if short else 0
    wanted = {i: costs[i] if points[i].tool else min(costs[i], _TALK_TOKENS) for i in window}
    whole = wanted.pop(decisive)
    modest = sum(min(cost, budget // 6) for cost in wanted.values())
    first = min(whole, max(_LEAST_TOKENS, budget // 3, budget - reserve - modest))
    level = fair_level(list(wanted.values()), max(budget - reserve, budget // 2) - first)
    lines = {decisive: _line(points[decisive], "*", first)}
    lines |= {i: _line(points[i], "-", min(cost, level)) for i, cost in wanted.items()}
    _drop_stubs(lines, points, decisive)
    left = budget - sum(map(estimate_tokens, lines.values()))
    least = [min(brief, _BRIEF_TOKENS) for brief in briefs] if short else briefs
    chosen = _affordable([others[i] for i in spread(len(others))] if others else [], least, left)
    level = fair_level([costs[i] for i in chosen], left)
    lines |= {i: _line(points[i], "-", min(costs[i], level)) for i in chosen}
    _drop_stubs(lines, points, decisive)
    left = budget - sum(map(estimate_tokens, lines.values()))
    for i in list(lines):
        cost = estimate_tokens(lines[i])
        lines[i] = _line(points[i], "*" if i == decisive else "-", cost + left)
        left += cost - estimate_tokens(lines[i])
    return [lines[i] for i in sorted(lines)]


def _affordable(candidates: Iterable[int], costs: list[int], budget: int) -> list[int]:
    chosen: list[int] = []
    for position in candidates:
        if costs[position] <= budget:
            chosen.append(position)
            budget -= costs[position]
    return chosen


def _drop_stubs(lines: dict[int, str], points: list[Point], decisive: int) -> None:
    """Remove lines cut so short that they do not even name their tool."""
    for position in [i for i in lines if i != decisive]:
        if not lines[position].startswith(_head(points[position], "-")):
            del lines[position]


def _brief(point: Point) -> int:
    """Return what a line takes that shows the call with its arguments and little of the result."""
    arguments = min(estimate_tokens(", ".join(point.arguments)), _BRIEF_ARGUMENT_TOKENS)
    return max(_BRIEF_TOKENS, estimate_tokens(_head(point, "-")) + arguments + 4)


def _head(point: Point, mark: str) -> str:
    return f"{mark} [{point.index}] " + (f"CALL {point.tool}(" if point.tool else "SAY ")


def _line(point: Point, mark: str, limit: int | None) -> str:
    """Write a point within ``limit`` tokens (None: whole), cutting its details before its structure."""
    head = _head(point, mark)
    if point.tool:
        whole = f"{head}{', '.join(point.arguments)}) -> {point.result}"
    else:
        whole = f"{head}{point.said} | USER: {point.reply}" if point.reply else head + point.said
    if limit is None or estimate_tokens(whole) <= limit:
        return whole
    left = limit - estimate_tokens(head) - 3
    if left < 2:
        return fit(whole, limit)
    if not point.tool:
        said, reply = _divide(point.said, point.reply, left, left // 2)
        shorter = f"{head}{fit(point.said, said)} | USER: {fit(point.reply, reply)}"
        return fit(shorter if reply else whole, limit)
    some, rest = _divide(", ".join(point.arguments), point.result, left, _most_for_arguments(point, left))
    return fit(f"{head}{_fit_arguments(point.arguments, some)}) -> {fit(point.result, rest)}", limit)


def _most_for_arguments(point: Point, room: int) -> int:
    """Say how much of the room the arguments may take where the result needs it too.

    A third beside an error message, else half. In little room all but the result's ellipsis: half of it would show
    neither, and what was done tells more than the first words of what came back.
    """
    if point.failed:
        return room // 3
    return room - 1 if room <= _LITTLE_ROOM else room // 2


def _divide(first: str, second: str, budget: int, most: int) -> tuple[int, int]:
    """Divide a budget: the first text gets what the second leaves, and at least ``most`` if it needs that."""
    first_cost, second_cost = estimate_tokens(first), estimate_tokens(second)
    given = min(first_cost, max(budget - second_cost, most))
    return given, min(second_cost, budget - given)


def _fit_arguments(arguments: tuple[str, ...], limit: int) -> str:
    costs = [estimate_tokens(argument) + 1 for argument in arguments]
    level = fair_level(costs, limit + 1) - 1
    if level < _LEAST_ARGUMENT_TOKENS:
        return fit(", ".join(_CONTAINER.sub(r"\1=…", argument) for argument in arguments), limit)
    return ", ".join(_fit_argument(argument, level) for argument in arguments)


def _fit_argument(argument: str, limit: int) -> str:
    if estimate_tokens(argument) <= limit:
        return argument
    quoted = '="' in argument and argument.endswith('"')
    return fit(argument, limit - 1) + '"' if quoted else fit(argument, limit)
