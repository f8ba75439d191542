"""What one task, one success and one rule that went live cost, all calls counted (design section 8, Spend)."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.tables import EpisodeTally, LedgerTally, RuleEvent, TaskTally
from core.tables.tallies import PICO_USD


@dataclass(frozen=True)
class UnitCost:
    """USD per unit; None where there is no unit yet. ``n`` is how many units the money was divided by."""

    usd: float | None
    n: int


@dataclass(frozen=True)
class UnitCosts:
    """All money of the ledger, held against what came of it.

    Attributes:
        task: per task rolled out for training; once a round.
        success: per training episode that passed.
        live_rule: per rule that ever went live.
    """

    task: UnitCost
    success: UnitCost
    live_rule: UnitCost


def unit_costs(session: Session) -> UnitCosts:
    """Divide everything ever spent by tasks, successes and rules that went live."""
    spent = sum(session.execute(select(col(LedgerTally.cost))).scalars()) / PICO_USD
    tasks = session.execute(select(func.count()).select_from(TaskTally)).scalar_one()
    passed = session.execute(
        select(func.coalesce(func.sum(col(EpisodeTally.episodes)), 0)).where(
            col(EpisodeTally.arm) == "learn", col(EpisodeTally.grade) == "pass"
        )
    ).scalar_one()
    live = session.execute(
        select(func.count(func.distinct(col(RuleEvent.rule_id)))).where(col(RuleEvent.to_state) == "active")
    ).scalar_one()
    return UnitCosts(*(_per(spent, int(n)) for n in (tasks, passed, live)))


def _per(usd: float, n: int) -> UnitCost:
    return UnitCost(usd / n if n else None, n)
