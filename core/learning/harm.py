"""Is a rule worse than doing without it? Counted on the task types it was used on (design section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import case
from sqlmodel import Session, col, func, select

from core.learning.credit import CREDITED_ARMS, Baseline
from core.statistics import beta_probability_less
from core.tables import JUDGED, Episode, RuleUse


@dataclass(frozen=True)
class Record:
    """Episodes in which a rule was served, by what came of them, and the baseline of the same task types.

    The baseline counts are the types' baselines weighted by how often the rule was used on each type, so
    that a rule for hard tasks is not compared with easy ones.
    """

    passes: int
    fails: int
    baseline_passes: int
    baseline_fails: int

    @property
    def uses(self) -> int:
        """Credited episodes with the rule in the prompt."""
        return self.passes + self.fails

    @property
    def probability_worse(self) -> float:
        """P(success rate with the rule < baseline)."""
        return beta_probability_less(self.passes, self.fails, self.baseline_passes, self.baseline_fails)


def records(session: Session, environment: str, base: Mapping[str, Baseline]) -> dict[str, Record]:
    """Return the record of every rule over the credited episodes in which it was served and came up.

    Episodes to which a rule did not apply, or may not have, would only blur what it does.
    """
    rows = session.exec(
        select(
            RuleUse.rule_id,
            Episode.task_type,
            func.sum(case((col(Episode.grade) == "pass", 1), else_=0)),
            func.count(),
        )
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(
            Episode.environment == environment,
            col(Episode.arm).in_(CREDITED_ARMS),
            Episode.status == "done",
            col(Episode.credited).is_(True),
            RuleUse.disposition == "served",
            col(RuleUse.compliance).in_(JUDGED),
        )
        .group_by(col(RuleUse.rule_id), col(Episode.task_type))
    )
    by_rule: dict[str, list[tuple[str, int, int]]] = {}
    for rule_id, kind, passes, count in rows:
        by_rule.setdefault(rule_id, []).append((kind, int(passes), int(count)))
    return {rule_id: _record(parts, base) for rule_id, parts in by_rule.items()}


def _record(parts: list[tuple[str, int, int]], base: Mapping[str, Baseline]) -> Record:
    passes = sum(won for _, won, _ in parts)
    uses = sum(count for _, _, count in parts)
    known = [(count, base[kind]) for kind, _, count in parts if kind in base and base[kind].n]
    weight = sum(count for count, _ in known)
    if not weight:
        return Record(passes, uses - passes, 0, 0)
    rate = sum(count * baseline.passes / baseline.n for count, baseline in known) / weight
    trials = sum(baseline.n for _, baseline in known)
    return Record(passes, uses - passes, round(rate * trials), trials - round(rate * trials))
