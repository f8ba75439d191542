"""The ledger: writes one row per attempt, and says no when the limit on spend is reached (design section 8).

Reading it is ``core.views.spend``.
"""

import threading
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Float, case, cast, func, insert, select
from sqlmodel import col

from core.clock import Clock
from core.db import Database
from core.errors import BudgetExceededError
from core.llm.prices import Prices, TokenUsage
from core.settings import BudgetSettings, Purpose
from core.tables.ledger import LedgerEntry, Outcome
from core.tables.tallies import PICO_USD, LedgerTally

_READ_ANEW = timedelta(minutes=1)
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
    reflection_id: str | None = None
    agent: str = ""


@dataclass(frozen=True)
class _Spent:
    """USD of real calls as read from the database, up to the row ``last_id``."""

    day: date
    today: float
    total: float
    last_id: int
    read_at: datetime


class Ledger:
    """Records attempts and guards the budget; safe to share between threads.

    Before each attempt the rows that were added since the last look are read, whichever process added them. Calls
    under way when the limit is reached still finish, so spend can pass it by as many calls as run at the same time.
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
            "agent": attempt.agent,
            "round_number": attempt.round_number,
            "reflection_id": attempt.reflection_id,
            "created_at": now,
        }
        with self._database.engine.connect().execution_options(write=True) as connection:
            connection.execute(insert(_TABLE), row)
            connection.commit()

    def _up_to_date(self) -> _Spent:
        now = self._clock().astimezone(UTC)
        known = self._spent
        # Where rows of several processes do not become visible in the order of their ids, one could be passed over.
        if known is None or known.day != now.date() or now - known.read_at >= _READ_ANEW:
            self._spent = self._read_anew(now)
        else:
            self._spent = self._read_on(known)
        return self._spent

    def _read_anew(self, now: datetime) -> _Spent:
        """Read the tally, which covers all rows that there are."""
        days = (
            select(col(LedgerTally.day), func.sum(cast(col(LedgerTally.cost), Float)))
            .where(col(LedgerTally.simulated).is_(False))
            .group_by(col(LedgerTally.day))
        )
        with self._database.engine.connect() as connection:
            last_id = connection.execute(select(func.max(_TABLE.c.id))).scalar_one()
            by_day = {day: cost / PICO_USD for day, cost in connection.execute(days)}
        today = sum(cost for day, cost in by_day.items() if day >= now.date().isoformat())
        return _Spent(now.date(), today, sum(by_day.values()), last_id or 0, now)

    def _read_on(self, known: _Spent) -> _Spent:
        midnight = datetime(known.day.year, known.day.month, known.day.day, tzinfo=UTC)
        cost = case((_TABLE.c.simulated.is_(False), _TABLE.c.cost_usd), else_=0.0)
        today = case((_TABLE.c.created_at >= midnight, cost), else_=0.0)
        query = select(func.sum(cost), func.sum(today), func.max(_TABLE.c.id)).where(_TABLE.c.id > known.last_id)
        with self._database.engine.connect() as connection:
            total, since_midnight, last_id = connection.execute(query).one()
        if last_id is None:
            return known
        return replace(
            known,
            today=known.today + float(since_midnight or 0.0),
            total=known.total + float(total or 0.0),
            last_id=last_id,
        )
