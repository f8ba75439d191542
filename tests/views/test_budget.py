"""Limits on spend as pages show them: soft and hard, per UTC day and in total, and the forecast."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.settings import BudgetSettings
from core.tables import LedgerEntry
from core.views.budget import Budget, LimitState, budget

NOW = datetime(2026, 1, 10, 18, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def pay(database: Database, usd: float, *, days_ago: float = 0.0, simulated: bool = False) -> None:
    with database.write() as session:
        session.add(
            LedgerEntry(
                request_id="r", attempt=1, purpose="act", model="m", simulated=simulated, cost_usd=usd,
                outcome="ok", created_at=NOW - timedelta(days=days_ago),
            )
        )  # fmt: skip


def read(database: Database, per_day: float | None = 10.0, total: float | None = 100.0) -> Budget:
    with database.read() as session:
        return budget(session, BudgetSettings(per_day_usd=per_day, total_usd=total), now=NOW)


@pytest.mark.parametrize(
    ("spent", "state"),
    [(0.0, LimitState.BELOW), (7.99, LimitState.BELOW), (8.0, LimitState.SOFT), (10.0, LimitState.HARD)],
)
def test_a_day_warns_from_the_soft_limit_and_stops_at_the_hard_one(
    database: Database, spent: float, state: LimitState
) -> None:
    pay(database, spent)
    pay(database, 50.0, days_ago=1)
    found = read(database)
    assert (found.day.spent, found.day.state) == (spent, state)
    assert found.total.spent == pytest.approx(50.0 + spent)
    assert found.total.state == LimitState.BELOW
    assert found.worst == state


def test_the_total_has_limits_of_its_own(database: Database) -> None:
    pay(database, 85.0, days_ago=3)
    found = read(database)
    assert (found.day.state, found.total.state, found.worst) == (LimitState.BELOW, LimitState.SOFT, LimitState.SOFT)


def test_without_a_limit_nothing_warns(database: Database) -> None:
    pay(database, 1e6)
    assert read(database, None, None).worst == LimitState.UNLIMITED


def test_the_stand_in_uses_up_nothing(database: Database) -> None:
    pay(database, 99.0, simulated=True)
    found = read(database)
    assert (found.day.spent, found.total.spent, found.forecast) == (0.0, 0.0, None)


def test_the_forecast_is_the_mean_of_the_last_week(database: Database) -> None:
    pay(database, 40.0, days_ago=20)
    for days_ago in range(7):
        pay(database, 3.0, days_ago=days_ago)
    forecast = read(database).forecast
    assert forecast is not None
    assert (forecast.per_day, forecast.days) == (3.0, 7.0)
    assert forecast.days_left == pytest.approx((100 - 40 - 21) / 3)


def test_the_first_hour_is_not_taken_for_a_whole_day(database: Database) -> None:
    pay(database, 2.0, days_ago=1 / 24)
    forecast = read(database).forecast
    assert forecast is not None
    assert (forecast.per_day, forecast.days) == (2.0, 1.0)


def test_the_week_begins_at_its_very_moment(database: Database) -> None:
    """Both are of one UTC day, seven days ago; only one of them is less than seven days old."""
    pay(database, 30.0, days_ago=20)
    pay(database, 64.0, days_ago=7 + 1 / 24)
    pay(database, 7.0, days_ago=7 - 1 / 24)
    pay(database, 14.0, days_ago=1)
    forecast = read(database).forecast
    assert forecast is not None
    assert forecast.per_day == pytest.approx(21 / 7)
