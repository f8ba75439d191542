"""The ledger: writes one row per attempt, and says no when the limit on spend is reached (design section 8).

Reading it is ``core.views.spend``.
"""

import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import case, func, insert, select

from core.clock import Clock
from core.db import Database
from core.errors import BudgetExceededError
from core.llm.prices import Prices, TokenUsage
from core.settings import BudgetSettings, Purpose
from core.tables.ledger import LedgerEntry, Outcome

_REFRESH = timedelta(seconds=5)
_TABLE: Any = LedgerEntry.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Attempt:
    """One attempt of a model call, as it goes into the ledger."""

    request_id: str
    number: int
    purpose: Purpose
    model: str
    outcome: Outcome
    usage: TokenUsage
    latency_ms: float
    episode_id: str | None = None
    round_number: int | None = None


@dataclass
class _Spent:
    """USD of real calls, as last read from the database plus what this process has added since."""

    day: date
    today: float
    total: float
    read_at: datetime


class Ledger:
    """Records attempts and guards the budget; safe to share between threads.

    Sums are kept in memory and read again every few seconds, because other processes spend too. Calls under
    way when the limit is reached still finish, so spend can pass it by as many calls as run at the same time.
    Attempts of unknown price count as 0 towards the budget. The simulated model costs nothing: its rows carry
    the price of the real one for planning, but they use up no budget, and no budget stops it.
    """

    def __init__(
        self, database: Database, budget: BudgetSettings, prices: Prices, clock: Clock, simulated: bool
    ) -> None:
        self._database = database
        self._budget = budget
        self._prices = prices
        self._clock = clock
        self._simulated = simulated
        self._lock = threading.Lock()
        self._spent: _Spent | None = None

    def check_budget(self) -> None:
        """Call before each attempt.

        Raises:
            BudgetExceededError: the limit per UTC day or in total is reached.
        """
        if self._simulated or (self._budget.per_day_usd is None and self._budget.total_usd is None):
            return
        with self._lock:
            spent = self._up_to_date()
        if self._budget.total_usd is not None and spent.total >= self._budget.total_usd:
            raise BudgetExceededError(
                "The limit on spend in total, {limit:.2f} USD, is reached: {spent:.2f} USD are spent. "
                "Raise budget.total_usd to go on.",
                limit=self._budget.total_usd,
                spent=spent.total,
            )
        if self._budget.per_day_usd is not None and spent.today >= self._budget.per_day_usd:
            raise BudgetExceededError(
                "The limit on spend per day, {limit:.2f} USD, is reached: {spent:.2f} USD are spent since "
                "midnight UTC. Raise budget.per_day_usd, or go on tomorrow.",
                limit=self._budget.per_day_usd,
                spent=spent.today,
            )

    def record(self, attempt: Attempt) -> None:
        """Write the attempt's row and commit it."""
        now = self._clock()
        cost = self._prices.cost(attempt.model, attempt.usage, now)
        row = {
            "request_id": attempt.request_id,
            "attempt": attempt.number,
            "purpose": attempt.purpose,
            "model": attempt.model,
            "simulated": self._simulated,
            "input_tokens": attempt.usage.input,
            "cached_tokens": attempt.usage.cached,
            "output_tokens": attempt.usage.output,
            "cost_usd": cost,
            "latency_ms": attempt.latency_ms,
            "outcome": attempt.outcome.value,
            "episode_id": attempt.episode_id,
            "round_number": attempt.round_number,
            "created_at": now,
        }
        # One lock around row and sum: a reading in between would count the row twice.
        with self._lock:
            self._insert(row)
            self._add(cost or 0.0, now)

    def _insert(self, row: dict[str, Any]) -> None:
        with self._database.engine.connect().execution_options(write=True) as connection:
            connection.execute(insert(_TABLE), row)
            connection.commit()

    def _add(self, cost: float, now: datetime) -> None:
        spent = self._spent
        if spent is not None and spent.day == now.astimezone(UTC).date():
            spent.today += cost
            spent.total += cost
        else:
            self._spent = None

    def _up_to_date(self) -> _Spent:
        now = self._clock().astimezone(UTC)
        if self._spent is None or self._spent.day != now.date() or now - self._spent.read_at >= _REFRESH:
            self._spent = self._read(now)
        return self._spent

    def _read(self, now: datetime) -> _Spent:
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        cost = _TABLE.c.cost_usd
        today = func.sum(case((_TABLE.c.created_at >= midnight, cost), else_=0.0))
        query = select(func.coalesce(func.sum(cost), 0.0), func.coalesce(today, 0.0))
        with self._database.engine.connect() as connection:
            row = connection.execute(query.where(_TABLE.c.simulated.is_(False))).one()
        return _Spent(day=now.date(), total=float(row[0]), today=float(row[1]), read_at=now)
