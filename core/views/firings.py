"""Past episodes in which two rules would both fire: what a conflict between them comes to in practice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from core.rules.terms import terms
from core.rules.wording import condition_text
from core.statistics import Interval, wilson
from core.tables import Episode, Rule, RuleUse
from core.tables.rules import RuleContent

_MOST = 200
"""Newest episodes of each kind that are looked at."""
_FITS = 0.5
"""Share of a condition's content words that a task has to have."""
_ARMS = ("learn", "external")
"""Held-out tasks are for tests; what is decided here must not rest on them."""

_COLUMNS: tuple[Any, ...] = (Episode.id, Episode.task_type, Episode.query, Episode.grade)


@dataclass(frozen=True)
class Firing:
    """One past episode where both rules fire.

    Attributes:
        episode_id: the episode.
        task_type: of its task.
        query: its task.
        grade: what came of it.
        served: ids of those of the two rules that were in its prompt.
        by_words: False if both rules were retrieved; True if one was, and the task has the words of both
            conditions and not those of an exclusion.
    """

    episode_id: str
    task_type: str
    query: str
    grade: str
    served: frozenset[str]
    by_words: bool


def both_fire(session: Session, a: Rule, b: Rule) -> tuple[Firing, ...]:
    """Return the newest episodes of training and from outside in which two rules fire, newest first.

    The latest 200 that retrieved both, then those of the latest 200 of each rule in which by words both fit.
    """
    both = _both_retrieved(session, a, b)
    known = {one.episode_id for one in both}
    by_words: dict[str, Firing] = {}
    for rule in (a, b):
        for firing in _retrieved(session, rule):
            fits = firing.episode_id not in known and fits_by_words(a, firing.query) and fits_by_words(b, firing.query)
            if fits:
                by_words[firing.episode_id] = firing
    return (*both, *by_words.values())


def fits_by_words(rule: RuleContent, query: str) -> bool:
    """Tell whether a task has at least half the content words of a rule's condition, and not its exclusion's."""
    asked, wanted = set(terms(query)), set(terms(condition_text(rule)))
    exclusion = set(terms(rule.exclusion))
    excluded = len(exclusion) >= 2 and exclusion <= asked
    return bool(wanted) and not excluded and len(wanted & asked) / len(wanted) >= _FITS


def success_of(rule_id: str, firings: Sequence[Firing]) -> Interval:
    """Return the success rate of the episodes whose prompt carried a rule."""
    carried = [one for one in firings if rule_id in one.served]
    return wilson(sum(one.grade == "pass" for one in carried), len(carried))


def _both_retrieved(session: Session, a: Rule, b: Rule) -> tuple[Firing, ...]:
    first, second = aliased(RuleUse), aliased(RuleUse)
    found = session.execute(
        select(*_COLUMNS, col(first.disposition), col(second.disposition))
        .select_from(first)
        .join(second, col(second.episode_id) == col(first.episode_id))
        .join(Episode, col(Episode.id) == col(first.episode_id))
        .where(col(first.rule_id) == a.id, col(second.rule_id) == b.id, col(Episode.arm).in_(_ARMS))
        .order_by(col(first.id).desc())
        .limit(_MOST)
    ).all()
    return tuple(
        Firing(
            episode_id=row[0],
            task_type=row[1],
            query=row[2],
            grade=row[3],
            served=frozenset(rule.id for rule, what in ((a, row[4]), (b, row[5])) if what == "served"),
            by_words=False,
        )
        for row in found
    )


def _retrieved(session: Session, rule: Rule) -> list[Firing]:
    found = session.execute(
        select(*_COLUMNS, col(RuleUse.disposition))
        .select_from(RuleUse)
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(col(RuleUse.rule_id) == rule.id, col(Episode.arm).in_(_ARMS))
        .order_by(col(RuleUse.id).desc())
        .limit(_MOST)
    ).all()
    return [
        Firing(row[0], row[1], row[2], row[3], frozenset({rule.id} if row[4] == "served" else ()), by_words=True)
        for row in found
    ]
