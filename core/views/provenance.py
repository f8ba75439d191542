"""What came from what: a rule from its reflection and episodes, a metric's change from rules (design section 12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import String, case, cast, func, select
from sqlmodel import Session, col

from core.attribution import Attribution, Episodes, attribute
from core.tables import JUDGED, Episode, LedgerEntry, Reflection, Round, Rule, RuleEvent, RuleUse, TypeTally

AROUND = 2
"""Rounds before and after a change whose episodes help to tell what its rules do."""

_PLENTY = 1_000
"""Training episodes in each of the two rounds that need no such help."""


@dataclass(frozen=True)
class ModelCall:
    """One attempt of a model call."""

    purpose: str
    model: str
    attempt: int
    outcome: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True)
class Origin:
    """Where a rule comes from.

    Attributes:
        rule_id: of the rule.
        how: reflection, handbook, merge, human or import.
        parents: rules it was made from, id -> name.
        evidence: episodes it rests on.
        reflection_id: the reflection that wrote it; '' if none did.
        round_number: of that reflection.
        passing: episodes that the reflection was shown as successes.
        failing: as failures.
        differences: what it found between them.
        operation: what it asked for, word by word.
        calls: the model calls made for that reflection; none of rounds before calls named theirs.
    """

    rule_id: str
    how: str
    parents: Mapping[str, str]
    evidence: tuple[str, ...]
    reflection_id: str
    round_number: int | None
    passing: tuple[str, ...]
    failing: tuple[str, ...]
    differences: tuple[dict[str, Any], ...]
    operation: dict[str, Any]
    calls: tuple[ModelCall, ...]


@dataclass(frozen=True)
class Suspect:
    """A rule whose introduction, edit or retirement falls into a change; ``events`` are (round, kind)."""

    rule_id: str
    name: str
    events: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Explained:
    """A metric's change between two rounds of training, taken apart; None if there is nothing to compare."""

    suspects: Mapping[str, Suspect]
    attribution: Attribution | None


def origin(session: Session, rule_id: str) -> Origin | None:
    """Tell where a rule comes from; None if there is no such rule."""
    rule = session.get(Rule, rule_id)
    if rule is None:
        return None
    written = _reflection(session, rule)
    parents = session.execute(select(col(Rule.id), col(Rule.name)).where(col(Rule.id).in_(rule.parents)))
    return Origin(
        rule_id=rule.id,
        how=rule.origin,
        parents={parent: name for parent, name in parents},
        evidence=tuple(rule.evidence),
        reflection_id=written.id if written else "",
        round_number=written.round_number if written else rule.created_round,
        passing=tuple(written.passing) if written else (),
        failing=tuple(written.failing) if written else (),
        differences=tuple(written.differences) if written else (),
        operation=_operation(written, rule.id) if written else {},
        calls=_calls(session, written.id) if written else (),
    )


def explain_change(session: Session, domain: str, metric: str, earlier: int, later: int) -> Explained:
    """Take the change of a training metric between two rounds apart.

    Args:
        session: for reading.
        domain: whose episodes.
        metric: one of ``core.views.health.METRICS``.
        earlier: number of a round.
        later: number of a later one.
    """
    suspects = _suspects(session, domain, earlier, later)
    episodes = _episodes(session, domain, metric, earlier, later)
    return Explained(suspects, attribute(episodes, list(suspects)) if episodes else None)


def _reflection(session: Session, rule: Rule) -> Reflection | None:
    named = cast(Reflection.outcomes, String).contains(f'"{rule.id}"', autoescape=True)
    query = select(Reflection).where(named).order_by(col(Reflection.created_at)).limit(1)
    if rule.created_round is not None:
        query = query.where(col(Reflection.round_number) == rule.created_round)
    return session.execute(query).scalars().first()


def _operation(written: Reflection, rule_id: str) -> dict[str, Any]:
    pairs = zip(written.operations, written.outcomes, strict=False)
    return next((operation for operation, outcome in pairs if outcome.get("rule_id") == rule_id), {})


def _calls(session: Session, reflection_id: str) -> tuple[ModelCall, ...]:
    rows = session.execute(
        select(
            col(LedgerEntry.purpose), col(LedgerEntry.model), col(LedgerEntry.attempt), col(LedgerEntry.outcome),
            col(LedgerEntry.input_tokens), col(LedgerEntry.output_tokens), col(LedgerEntry.cost_usd),
        )
        .where(col(LedgerEntry.reflection_id) == reflection_id)
        .order_by(col(LedgerEntry.id))
    )  # fmt: skip
    return tuple(ModelCall(*row) for row in rows)


def _suspects(session: Session, domain: str, earlier: int, later: int) -> dict[str, Suspect]:
    """Return the rules that changed after the earlier round's prompts and before the later one's."""
    rows = session.execute(
        select(col(Rule.id), col(Rule.name), col(RuleEvent.round_number), col(RuleEvent.kind))
        .join(RuleEvent, col(RuleEvent.rule_id) == col(Rule.id))
        .where(
            col(Rule.domain) == domain,
            col(RuleEvent.round_number).in_(range(earlier, later)),
            col(RuleEvent.kind) != "voted",
        )
        .order_by(col(RuleEvent.id))
    )
    found: dict[str, Suspect] = {}
    for rule_id, name, number, kind in rows:
        known = found.get(rule_id, Suspect(rule_id, name, ()))
        found[rule_id] = Suspect(rule_id, name, (*known.events, (number, kind)))
    return found


def _episodes(session: Session, domain: str, metric: str, earlier: int, later: int) -> Episodes | None:
    """Read the training episodes of both rounds, and of rounds nearby where these two are small."""
    rounds = _rounds(session, domain, earlier, later)
    rows = session.execute(
        select(
            col(Episode.id), col(Episode.round_number), col(Episode.task_type), col(Episode.grade),
            col(Episode.turns), col(Episode.tool_errors), col(Episode.tool_calls),
        ).where(
            col(Episode.round_number).in_(rounds),
            col(Episode.arm) == "learn",
            col(Episode.status) == "done",
        )
    ).all()  # fmt: skip
    if not rows:
        return None
    place = {row[0]: index for index, row in enumerate(rows)}
    numbers = np.array([row[1] for row in rows])
    outcome, weight = _outcomes(session, metric, rows)
    return Episodes(
        outcome,
        weight,
        np.where(numbers == later, 1, np.where(numbers == earlier, -1, 0)),
        [row[2] for row in rows],
        _carried(session, place, numbers),
    )


def _rounds(session: Session, domain: str, earlier: int, later: int) -> list[int]:
    nearby = col(Round.number).between(earlier - AROUND, later + AROUND)
    rounds = session.execute(select(col(Round.number)).where(nearby, col(Round.environment) == domain)).scalars().all()
    counted = session.execute(
        select(func.sum(col(TypeTally.episodes)))
        .where(
            col(TypeTally.environment) == domain,
            col(TypeTally.arm) == "learn",
            col(TypeTally.round_number).in_((earlier, later)),
        )
        .group_by(col(TypeTally.round_number))
    )
    if min(counted.scalars(), default=0) >= _PLENTY:
        return [number for number in rounds if number in (earlier, later)]
    return list(rounds)


def _outcomes(session: Session, metric: str, rows: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return each episode's outcome and how much it counts."""
    if metric == "success_rate":
        return np.array([float(row[3] == "pass") for row in rows]), np.ones(len(rows))
    if metric == "mean_turns":
        return np.array([float(row[4]) for row in rows]), np.ones(len(rows))
    if metric == "tool_error_rate":
        parts = np.array([(row[5], row[6]) for row in rows], dtype=float)
    else:
        judged = _judged(session, sorted({row[1] for row in rows}))
        parts = np.array([judged.get(row[0], (0, 0)) for row in rows], dtype=float)
    return parts[:, 0] / np.maximum(parts[:, 1], 1.0), parts[:, 1]


def _judged(session: Session, rounds: Sequence[int]) -> dict[str, tuple[int, int]]:
    verdict = col(RuleUse.compliance)
    complied = func.sum(case((verdict == "complied", 1), else_=0))
    rows = session.execute(
        select(col(RuleUse.episode_id), complied, func.count())
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(
            col(Episode.round_number).in_(rounds),
            col(Episode.arm) == "learn",
            col(RuleUse.disposition) == "served",
            verdict.in_(JUDGED),
        )
        .group_by(col(RuleUse.episode_id))
    )
    return {episode: (int(followed), int(n)) for episode, followed, n in rows}


def _carried(session: Session, place: Mapping[str, int], numbers: np.ndarray) -> dict[str, np.ndarray]:
    rows = session.execute(
        select(col(RuleUse.rule_id), col(RuleUse.episode_id))
        .join(Episode, col(Episode.id) == col(RuleUse.episode_id))
        .where(
            col(Episode.round_number).in_(sorted(set(numbers.tolist()))),
            col(Episode.arm) == "learn",
            col(RuleUse.disposition) == "served",
        )
        .order_by(col(RuleUse.rule_id))
    )
    carried: dict[str, np.ndarray] = {}
    for rule_id, uses in groupby(rows, key=itemgetter(0)):
        places = [place[episode] for _, episode in uses if episode in place]
        if places:
            carried[rule_id] = np.zeros(len(place), dtype=bool)
            carried[rule_id][places] = True
    return carried
