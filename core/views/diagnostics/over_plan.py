"""Spend over plan, by purpose: more than was planned, or, without a plan, than the same work cost at first."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.settings import Settings
from core.statistics import Interval
from core.tables import EpisodeTally, LedgerTally, Round
from core.tables.tallies import PICO_USD
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Window

PURPOSES = ("act", "digest", "reflect", "judge")

_PLANNED = mark("In each of the last rounds more was spent on this than planned.")
_GROWN = mark(
    "The same work costs {times} times what it cost at first. There is no plan for it, so the first two rounds count "
    "as one."
)
_STEPS = mark("Look for rules once per task instead of at every step: each step adds to every later call of its task.")
_ADVICES = {
    "act": mark("Let the rules take half as much room in a prompt: it is paid for at every call."),
    "digest": mark("Roll out fewer tasks a round: fewer of their episodes are condensed then."),
    "reflect": mark("Contrast more episodes in one reflection, so that there are fewer of them."),
    "judge": mark("Let the model judge half as many pairs a round; what can be checked by rule costs nothing."),
}
_SPENT = mark("Spent in round {round}")
_PLAN = mark("Planned a round")
_UNIT = mark("Per episode, round {round}")
_CALL = mark("Per call, round {round}")
_ROUNDS = 2
_TOLERANCE = 1.1
_TIMES = 2.0


def detect(window: Window) -> list[Trouble]:
    """Report each purpose that is over in each of the last two rounds."""
    newest = window.newest(_ROUNDS)
    if len(newest) < _ROUNDS:
        return []
    return [trouble for purpose in PURPOSES for trouble in _of(window, purpose, newest)]


def _of(window: Window, purpose: str, newest: Sequence[int]) -> list[Trouble]:
    planned = getattr(window.settings.budget, f"round_{purpose}_usd")
    if planned is None:
        return _grown(window, purpose, newest)
    spent = {number: cost for number, (cost, _) in _costs(window, purpose, newest).items()}
    if len(spent) < _ROUNDS or any(cost <= planned * _TOLERANCE for cost in spent.values()):
        return []
    facts = [Fact(_SPENT, _figure(cost), "usd", {"round": n}, n) for n, cost in spent.items()]
    facts.append(Fact(_PLAN, _figure(planned), "usd"))
    return [Trouble(Kind.OVER_PLAN, _PLANNED, tuple(facts), _remedy(window.settings, purpose), purpose)]


def _grown(window: Window, purpose: str, newest: Sequence[int]) -> list[Trouble]:
    first = [number for number in _first_rounds(window, purpose) if number not in newest]
    costs = _costs(window, purpose, [*first, *newest])
    # Only acting grows with the episodes: evaluations are not condensed, nor are training episodes past the most.
    units = _episodes(window, list(costs)) if purpose == "act" else {n: calls for n, (_, calls) in costs.items()}
    each = {n: cost / units[n] for n, (cost, _) in costs.items() if units.get(n) and cost}
    if len(first) < _ROUNDS or not {*first, *newest} <= each.keys():
        return []
    at_first = sum(each[number] for number in first) / len(first)
    now = [each[number] for number in newest]
    if min(now) <= _TIMES * at_first:
        return []
    template = _UNIT if purpose == "act" else _CALL
    facts = tuple(
        Fact(template, Interval(cost, None, None, int(units[n])), "usd", {"round": n}, n) for n, cost in each.items()
    )
    values = {"times": round(sum(now) / len(now) / at_first, 1)}
    return [Trouble(Kind.OVER_PLAN, _GROWN, facts, _remedy(window.settings, purpose), purpose, values)]


def _remedy(settings: Settings, purpose: str) -> Remedy:
    if purpose == "act" and settings.retrieval.per_step:
        return Remedy(_STEPS, changes={"retrieval.per_step": False})
    changes: Mapping[str, Any] = {
        "act": {"retrieval.max_tokens": max(50, settings.retrieval.max_tokens // 2)},
        "digest": {"round.tasks": max(1, settings.round.tasks // 2)},
        "reflect": {"round.reflection_batch": 2 * settings.round.reflection_batch},
        "judge": {"round.judged_pairs": settings.round.judged_pairs // 2},
    }[purpose]
    return Remedy(_ADVICES[purpose], changes=changes)


def _first_rounds(window: Window, purpose: str) -> list[int]:
    """Return the first two rounds of the domain that paid for this."""
    query = (
        select(col(LedgerTally.round_number))
        .join(Round, col(Round.number) == col(LedgerTally.round_number))
        .where(
            col(Round.environment) == window.domain,
            col(Round.phase) == "finished",
            col(LedgerTally.purpose) == purpose,
            col(LedgerTally.cost) > 0,
        )
        .group_by(col(LedgerTally.round_number))
        .order_by(col(LedgerTally.round_number))
        .limit(_ROUNDS)
    )
    return [number for (number,) in window.session.execute(query)]


def _costs(window: Window, purpose: str, rounds: Sequence[int]) -> dict[int, tuple[float, int]]:
    """Return USD and requests of each round."""
    number = col(LedgerTally.round_number)
    rows = window.session.execute(
        select(number, func.sum(col(LedgerTally.cost)), func.sum(col(LedgerTally.requests)))
        .where(number.in_(rounds), col(LedgerTally.purpose) == purpose)
        .group_by(number)
        .order_by(number)
    )
    return {n: (int(cost) / PICO_USD, int(calls)) for n, cost, calls in rows}


def _episodes(window: Window, rounds: Sequence[int]) -> dict[int, int]:
    """Return the episodes of each round that were really run: repeated outcomes cost nothing."""
    number, run = col(EpisodeTally.round_number), col(EpisodeTally.episodes) - col(EpisodeTally.reused)
    rows = window.session.execute(select(number, func.sum(run)).where(number.in_(rounds)).group_by(number))
    return {n: int(count) for n, count in rows}


def _figure(usd: float) -> Interval:
    return Interval(usd, None, None, 1)
