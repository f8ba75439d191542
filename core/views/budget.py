"""How much of the limits on spend is used, and when they will be reached (design section 8).

Money really paid alone: the stand-in's calls use up no budget. Limits are enforced where calls are made.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlmodel import Session, col

from core.settings import BudgetSettings
from core.tables import LedgerEntry, LedgerTally
from core.tables.tallies import PICO_USD

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
    day = _limit(_paid(session, since=_day(now)), settings.per_day_usd, settings.soft_share)
    whole = _limit(_paid(session), settings.total_usd, settings.soft_share)
    return Budget(day, whole, _forecast(session, whole, now))


def _limit(spent: float, hard: float | None, share: float) -> Limit:
    return Limit(spent, None if hard is None else hard * share, hard)


def _forecast(session: Session, total: Limit, now: datetime) -> Forecast | None:
    first = _first_paid(session)
    if first is None:
        return None
    # Less than a day of spend is not blown up to a day's: a first hour says nothing about the other 23.
    days = min(float(FORECAST_DAYS), max(1.0, (now - first) / timedelta(days=1)))
    per_day = _paid_since(session, now - timedelta(days=days)) / days
    left = None if total.hard is None or per_day == 0.0 else max(0.0, total.hard - total.spent) / per_day
    return Forecast(per_day, days, left)


def _first_paid(session: Session) -> datetime | None:
    """Return the moment of the first real call; the tally knows its day, so that only that day is looked through."""
    day = session.execute(select(func.min(col(LedgerTally.day))).where(col(LedgerTally.simulated).is_(False)))
    first = day.scalar_one()
    if first is None:
        return None
    start = datetime.fromisoformat(first).replace(tzinfo=UTC)
    found: datetime = session.execute(_real(func.min(col(LedgerEntry.created_at)), start)).scalar_one()
    return found


def _paid_since(session: Session, moment: datetime) -> float:
    """Sum up the rest of the day that a moment is in call by call, and the days after it by the tally."""
    rest = session.execute(_real(func.sum(col(LedgerEntry.cost_usd)), moment)).scalar_one()
    return float(rest or 0.0) + _paid(session, since=_day(moment + timedelta(days=1)))


def _real(figure: ColumnElement[Any], moment: datetime) -> Select[Any]:
    """Ask for a figure over the real calls of a day, from a moment on."""
    midnight = datetime.combine(moment.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    return select(figure).where(
        col(LedgerEntry.created_at) >= moment,
        col(LedgerEntry.created_at) < midnight,
        col(LedgerEntry.simulated).is_(False),
    )


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _paid(session: Session, *, since: str = "") -> float:
    """Sum up what real calls cost from a day on, or ever."""
    costs = session.execute(
        select(col(LedgerTally.cost)).where(col(LedgerTally.simulated).is_(False), col(LedgerTally.day) >= since)
    )
    return float(sum(costs.scalars())) / PICO_USD
