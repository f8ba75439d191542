"""Rules are not followed: they are in the prompt, and the agent does what it would have done without them.

Much of what rules say a good model does by itself, so the share that is done says little. The coin that leaves the
whole library out of some training prompts (design section 5) tells what is done untold; if told agents do ``c`` and
untold ones ``u``, rules turn ``(c - u) / (1 - u)`` of what would have gone against them. Prompts that lack a single
rule do not count: another one of the same tenor may stand in for it. Nor do candidates: an agent that does not follow
an unproven rule may be right.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Subquery, case, func, select
from sqlmodel import col

from core.i18n import mark
from core.rules.lifecycle import State
from core.settings import RetrievalSettings
from core.statistics import EMPTY, Interval, clustered_wilson, difference_of_rates
from core.tables import JUDGED, Episode, Rule, RuleUse
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import LOOK_BACK, Passes, RoundFacts, Window

_NO_MORE_THAN_UNTOLD = mark(
    "In the last rounds the agent did {share} % of what rules told it to do, and {untold} % where a coin had left the "
    "rules out of its prompt: of what it does not do by itself, it follows clearly fewer than half. Rules that are "
    "not followed can neither help nor be told good from bad. Models read the middle of a prompt less than its ends."
)
_RARELY = mark(
    "In the last rounds the agent followed {share} % of the rules that applied. Rules that are not followed can "
    "neither help nor be told good from bad. Models read the middle of a prompt less than its ends."
)
_DOUBLE = mark("Show the best rules at the start and again at the end of the prompt.")
_FEWER = mark(
    "Put fewer rules into a prompt, so that more of them stand at its ends. Whether position matters to this model, "
    "the position check below measures."
)
_TOLD = mark("Rules followed, of all judged")
_UNTOLD = mark("Done as the rules say where all were left out by chance")
_GAINED = mark("Followed, minus done untold")
_ENDS = mark("Followed at the start or the end of the prompt")
_MIDDLE = mark("Followed in the middle")
_ENOUGH_TOLD = 20
_ENOUGH_UNTOLD = 10
_TOO_RARELY = 0.5
_PROVEN = (State.ACTIVE, State.PROBATION)
_PROMPTS = 1_000
"""Prompts that are looked at, at most, of the newest rounds first: more would tell no better."""
_LIMITS = ("doubled", "top_k")
"""What the remedies set: rounds with other values say nothing about the newest ones."""


@dataclass(frozen=True)
class _Judged:
    """Rules of one task's training prompts that were judged, and how many of them were followed."""

    task_id: str
    served: bool
    checked: bool
    followed: int
    n: int


def detect(window: Window) -> list[Trouble]:
    """Report if clearly fewer than half of the rules are followed, of those that would not be done untold.

    Where too few prompts were without rules, nothing is taken to be done untold.
    """
    rounds = _rounds(window)
    told, untold = _told_and_untold(tuple(_judged(window, rounds)))
    if told.n < _ENOUGH_TOLD or not _too_rarely(told, untold):
        return []
    by_place = _by_place(window, rounds)
    compared = (Fact(_UNTOLD, untold), Fact(_GAINED, difference_of_rates(told, untold))) if untold.n else ()
    facts = (Fact(_TOLD, told), *compared, Fact(_ENDS, by_place["ends"].rate), Fact(_MIDDLE, by_place["middle"].rate))
    values = {"share": round(100 * (told.value or 0.0))}
    if untold.n:
        values["untold"] = round(100 * (untold.value or 0.0))
    explanation = _NO_MORE_THAN_UNTOLD if untold.n else _RARELY
    return [Trouble(Kind.IGNORED_RULES, explanation, facts, _remedy(window), values=values)]


def _rounds(window: Window) -> list[int]:
    newest = window.rounds[-LOOK_BACK:]
    return [one.number for one in newest if _limits(one) == _limits(newest[-1])]


def _limits(one: RoundFacts) -> RetrievalSettings:
    held = one.settings.get("retrieval", {})
    return RetrievalSettings(**{name: held[name] for name in _LIMITS if name in held})


def _remedy(window: Window) -> Remedy:
    """Start from what the newest round ran with: what was changed since has still to show whether it helps."""
    ran, usual = _limits(window.rounds[-1]), RetrievalSettings().doubled
    if ran.doubled < usual:
        return Remedy(_DOUBLE, changes={"retrieval.doubled": usual})
    return Remedy(_FEWER, changes={"retrieval.top_k": max(1, min(2 * usual, ran.top_k // 2))})


def _too_rarely(told: Interval, untold: Interval) -> bool:
    """Say whether the share is clearly below what following half of the rest would make of what is done untold."""
    floor = untold if untold.n else Interval(0.0, 0.0, 0.0, 0)
    short = difference_of_rates(told, floor, weight=1 - _TOO_RARELY)
    return short.high is not None and short.high < _TOO_RARELY


def _told_and_untold(judged: tuple[_Judged, ...]) -> tuple[Interval, Interval]:
    """Return the shares followed with and without the library, judged in the same way.

    No model is asked about prompts without it, so the model's verdicts do not count where the two are compared.
    """
    untold = clustered_wilson([(one.followed, one.n) for one in judged if one.checked and not one.served])
    compared = untold.n >= _ENOUGH_UNTOLD
    told = _by_task(one for one in judged if one.served and (one.checked or not compared))
    return clustered_wilson(told), untold if compared else EMPTY


def _by_task(judged: Iterable[_Judged]) -> list[tuple[int, int]]:
    followed: Counter[str] = Counter()
    n: Counter[str] = Counter()
    for one in judged:
        followed[one.task_id] += one.followed
        n[one.task_id] += one.n
    return [(followed[task_id], n[task_id]) for task_id in n]


def _judged(window: Window, rounds: Sequence[int]) -> Iterator[_Judged]:
    checked = case((col(RuleUse.judged_by) == "model", 0), else_=1)
    prompts = _prompts(rounds)
    place = (prompts.c.task_id, col(RuleUse.disposition), checked)
    complied = func.sum(case((col(RuleUse.compliance) == "complied", 1), else_=0))
    untold = (col(RuleUse.disposition) == "left_out") & prompts.c.library_left_out
    rows = window.session.execute(
        select(*place, complied, func.count())
        .join(RuleUse, col(RuleUse.episode_id) == prompts.c.id)
        .join(Rule, col(Rule.id) == col(RuleUse.rule_id))
        .where(
            (col(RuleUse.disposition) == "served") | untold,
            col(RuleUse.compliance).in_(JUDGED),
            col(Rule.state).in_(_PROVEN),
        )
        .group_by(*place)
    )
    for task_id, disposition, was_checked, followed, n in rows:
        yield _Judged(task_id, disposition == "served", bool(was_checked), int(followed), int(n))


def _prompts(rounds: Sequence[int]) -> Subquery:
    newest = (col(Episode.round_number).desc(), col(Episode.id))
    return (
        select(col(Episode.id), col(Episode.task_id), col(Episode.library_left_out))
        .where(col(Episode.round_number).in_(rounds), col(Episode.arm) == "learn")
        .order_by(*newest)
        .limit(_PROMPTS)
        .subquery()
    )


def _by_place(window: Window, rounds: Sequence[int]) -> dict[str, Passes]:
    """Count rules followed out of those judged, by where they stood."""
    prompts = _prompts(rounds)
    sizes = (
        select(col(RuleUse.episode_id).label("episode_id"), func.count().label("size"))
        .join(prompts, prompts.c.id == col(RuleUse.episode_id))
        .where(col(RuleUse.disposition) == "served")
        .group_by(col(RuleUse.episode_id))
        .subquery()
    )
    place = (col(RuleUse.position), sizes.c.size, col(RuleUse.compliance))
    rows = window.session.execute(
        select(*place, func.count())
        .join(sizes, sizes.c.episode_id == col(RuleUse.episode_id))
        .join(Rule, col(Rule.id) == col(RuleUse.rule_id))
        .where(
            col(RuleUse.disposition) == "served",
            col(RuleUse.compliance).in_(JUDGED),
            col(Rule.state).in_(_PROVEN),
        )
        .group_by(*place)
    )
    doubled = _limits(window.rounds[-1]).doubled
    counts: Counter[tuple[str, str]] = Counter()
    for position, size, verdict, n in rows:
        at_an_end = position == 0 or position == size - 1 or position < doubled
        counts["ends" if at_an_end else "middle", verdict] += n
    return {
        name: Passes(counts[name, "complied"], counts[name, "complied"] + counts[name, "violated"])
        for name in ("ends", "middle")
    }
