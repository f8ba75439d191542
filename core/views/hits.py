"""The top-k hit list: which rules the prompts of a task type found, and what became of them (design section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select
from sqlmodel import Session, col

from core.statistics import Interval, wilson
from core.tables import Rule, RuleTally, TypeTally
from core.tables.tallies import SCORE_UNIT

_ROWS = 50


@dataclass(frozen=True)
class Hit:
    """One rule among the prompts of a task type, over the newest rounds.

    Attributes:
        rule_id: of the rule; ``name`` and ``state`` are as they are now.
        retrieved: prompts that found it.
        served: prompts that carried it.
        left_out: prompts that a coin took it out of.
        trimmed: prompts that had no room for it.
        score: mean score of retrieval.
        passed: success of the prompts that carried it.
    """

    rule_id: str
    name: str
    state: str
    retrieved: int
    served: int
    left_out: int
    trimmed: int
    score: float
    passed: Interval


@dataclass(frozen=True)
class HitList:
    """The hits of a task type, most often retrieved first; ``prompts`` is how many training prompts there were."""

    prompts: int
    hits: tuple[Hit, ...]


def task_types(session: Session, domain: str) -> list[str]:
    """Return the task types that training episodes of a domain had so far."""
    query = select(col(TypeTally.task_type)).where(col(TypeTally.environment) == domain, col(TypeTally.arm) == "learn")
    return list(session.execute(query.distinct().order_by(col(TypeTally.task_type))).scalars())


def hit_list(session: Session, domain: str, task_type: str, rounds: Sequence[int]) -> HitList:
    """Return what training prompts of a type found in the given rounds, at most fifty rules."""
    prompts = session.execute(
        _of_prompts(select(func.coalesce(func.sum(TypeTally.episodes), 0)), TypeTally, domain, task_type, rounds)
    ).scalar_one()
    rule, one = (col(Rule.id), col(Rule.name), col(Rule.state)), RuleTally
    served = col(one.disposition) == "served"
    counts = [
        func.sum(case((condition, counted), else_=0))
        for condition, counted in (
            (served, one.uses),
            (col(one.disposition) == "left_out", one.uses),
            (col(one.disposition) == "trimmed", one.uses),
            (served, one.passed),
        )
    ]
    found = func.sum(one.uses)
    score = func.sum(one.score) / (found * float(SCORE_UNIT))
    query = select(*rule, found, score, *counts).join(one, col(one.rule_id) == col(Rule.id))
    rows = session.execute(
        _of_prompts(query, one, domain, task_type, rounds)
        .group_by(*rule)
        .order_by(found.desc(), col(Rule.id))
        .limit(_ROWS)
    )
    hits = tuple(
        Hit(rule_id, name, state, int(n), int(shown), int(out), int(cut), float(score), wilson(int(won), int(shown)))
        for rule_id, name, state, n, score, shown, out, cut, won in rows
    )
    return HitList(int(prompts), hits)


def _of_prompts(query: Any, tally: Any, domain: str, task_type: str, rounds: Sequence[int]) -> Any:
    """Narrow a query down to training prompts that had the library."""
    return query.where(
        col(tally.round_number).in_(rounds),
        col(tally.arm) == "learn",
        col(tally.environment) == domain,
        col(tally.task_type) == task_type,
        col(tally.library_left_out).is_(False),
    )
