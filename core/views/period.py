"""The figures of a period, for a report that is handed on."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from core.tables import Round
from core.views.health import Gain, HealthRow, gain_by_round, health_rows
from core.views.history import RoundChanges, library_history
from core.views.spend import SpendLine, Usage, spend, spend_lines


@dataclass(frozen=True)
class Period:
    """Whole UTC days; None is open."""

    since: date | None = None
    until: date | None = None

    def holds(self, day: date) -> bool:
        """Tell whether a day belongs to it; both ends do."""
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


@dataclass(frozen=True)
class PeriodFigures:
    """Everything a report of a period shows.

    Attributes:
        period: as asked for.
        rounds: the rounds begun in it: number -> (status, moment).
        health: the metrics of these rounds.
        gains: their measured gains, oldest first.
        changes: what they changed in the library.
        spend: by UTC day.
        lines: the same by purpose, model, agent and round as well.
    """

    period: Period
    rounds: dict[int, tuple[str, datetime]]
    health: tuple[HealthRow, ...]
    gains: tuple[Gain, ...]
    changes: tuple[RoundChanges, ...]
    spend: dict[str, Usage]
    lines: tuple[SpendLine, ...]

    @property
    def spent(self) -> Usage:
        """The sum over all days."""
        return sum(self.spend.values(), Usage())


def period_figures(session: Session, period: Period, *, now: datetime) -> PeriodFigures:
    """Return the figures of the rounds begun in a period and of the money spent in it."""
    query = select(col(Round.number), col(Round.status), col(Round.started_at)).order_by(col(Round.number))
    if period.since is not None:
        query = query.where(col(Round.started_at) >= _midnight(period.since))
    if period.until is not None:
        query = query.where(col(Round.started_at) < _midnight(period.until + timedelta(days=1)))
    rounds = {number: (status, started) for number, status, started in session.execute(query)}
    days = spend(session, now=now).by_day
    return PeriodFigures(
        period=period,
        rounds=rounds,
        health=tuple(row for row in health_rows(session) if row.round in rounds),
        gains=tuple(one for one in gain_by_round(session) if one.round in rounds),
        changes=tuple(one for one in library_history(session) if one.round in rounds),
        spend={day: usage for day, usage in days.items() if period.holds(date.fromisoformat(day))},
        lines=tuple(one for one in spend_lines(session) if period.holds(date.fromisoformat(one.day))),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
