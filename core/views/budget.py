"""How much of the limits on spend is used, and when they will be reached (design section 8).

Money really paid alone: the stand-in's calls use up no budget. Limits are enforced where calls are made.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.settings import BudgetSettings
from core.tables.ledger import LedgerEntry

FORECAST_DAYS = 7


class LimitState(StrEnum):
    """Where spend stands towards a limit."""

    UNLIMITED = "unlimited"
    BELOW = "below"
    SOFT = "soft"  # from here on pages warn
    HARD = "hard"  # from here on no call is made


@dataclass(frozen=True)
class Limit:
    """One limit, USD; ``hard`` and ``soft`` are None where there is no limit."""

    spent: float
    soft: float | None
    hard: float | None

    @property
    def state(self) -> LimitState:
        """Where spend stands; a limit of 0 is reached from the start."""
        if self.hard is None or self.soft is None:
            return LimitState.UNLIMITED
        if self.spent >= self.hard:
            return LimitState.HARD
        return LimitState.SOFT if self.spent >= self.soft else LimitState.BELOW


@dataclass(frozen=True)
class Forecast:
    """Where spend is heading if it goes on as in the last days.

    Attributes:
        per_day: USD a day, mean over ``days``.
        days: whole or part of a day that the mean is over; less than ``FORECAST_DAYS`` at the start.
        days_left: until the total limit is reached; None without a limit or without spend.
    """

    per_day: float
    days: float
    days_left: float | None


@dataclass(frozen=True)
class Budget:
    """Both limits and the forecast; None where nothing was ever paid."""

    day: Limit
    total: Limit
    forecast: Forecast | None

    @property
    def worst(self) -> LimitState:
        """The more serious of both states."""
        order = list(LimitState)
        return max(self.day.state, self.total.state, key=order.index)


def budget(session: Session, settings: BudgetSettings, *, now: datetime) -> Budget:
    """Hold what was paid against the limits in force.

    Args:
        session: for reading.
        settings: the limits in force.
        now: aware; days are UTC days.
    """
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    total = _paid(session, None)
    day = _limit(_paid(session, midnight), settings.per_day_usd, settings.soft_share)
    whole = _limit(total, settings.total_usd, settings.soft_share)
    return Budget(day, whole, _forecast(session, whole, now))


def _limit(spent: float, hard: float | None, share: float) -> Limit:
    return Limit(spent, None if hard is None else hard * share, hard)


def _forecast(session: Session, total: Limit, now: datetime) -> Forecast | None:
    first = session.execute(
        select(func.min(col(LedgerEntry.created_at))).where(col(LedgerEntry.simulated).is_(False))
    ).scalar_one()
    if first is None:
        return None
    # Less than a day of spend is not blown up to a day's: a first hour says nothing about the other 23.
    days = min(float(FORECAST_DAYS), max(1.0, (now - first) / timedelta(days=1)))
    per_day = _paid(session, now - timedelta(days=days)) / days
    left = None if total.hard is None or per_day == 0.0 else max(0.0, total.hard - total.spent) / per_day
    return Forecast(per_day, days, left)


def _paid(session: Session, since: datetime | None) -> float:
    query = select(func.coalesce(func.sum(col(LedgerEntry.cost_usd)), 0.0)).where(col(LedgerEntry.simulated).is_(False))
    if since is not None:
        query = query.where(col(LedgerEntry.created_at) >= since)
    return float(session.execute(query).scalar_one())
