"""The top-k hit list: which rules the prompts of a task type found, and what became of them (design section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, case, func, select
from sqlmodel import Session, col

from core.statistics import Interval, wilson
from core.tables import Episode, Rule, RuleUse

ROUNDS = 3
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
    query = select(col(Episode.task_type)).where(col(Episode.environment) == domain, col(Episode.arm) == "learn")
    return list(session.execute(query.distinct().order_by(col(Episode.task_type))).scalars())


def hit_list(session: Session, domain: str, task_type: str, rounds: Sequence[int]) -> HitList:
    """Return what training prompts of a type found in the given rounds, at most fifty rules."""
    concerned: list[ColumnElement[bool]] = [
        col(Episode.round_number).in_(rounds),
        col(Episode.arm) == "learn",
        col(Episode.environment) == domain,
        col(Episode.task_type) == task_type,
        col(Episode.library_left_out).is_(False),
    ]
    prompts = session.execute(select(func.count()).select_from(Episode).where(*concerned)).scalar_one()
    rule = (col(Rule.id), col(Rule.name), col(Rule.state))
    served = col(RuleUse.disposition) == "served"
    counts = [
        func.sum(case((condition, 1), else_=0))
        for condition in (
            served,
            col(RuleUse.disposition) == "left_out",
            col(RuleUse.disposition) == "trimmed",
            served & (col(Episode.grade) == "pass"),
        )
    ]
    rows = session.execute(
        select(*rule, func.count(), func.avg(col(RuleUse.score)), *counts)
        .join(RuleUse, col(RuleUse.rule_id) == col(Rule.id))
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(*concerned)
        .group_by(*rule)
        .order_by(func.count().desc(), col(Rule.id))
        .limit(_ROWS)
    )
    hits = tuple(
        Hit(rule_id, name, state, int(n), int(shown), int(out), int(cut), float(score), wilson(int(won), int(shown)))
        for rule_id, name, state, n, score, shown, out, cut, won in rows
    )
    return HitList(int(prompts), hits)
