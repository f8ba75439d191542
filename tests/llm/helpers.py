"""A client over a real socket and a real database, with the waits written down instead of waited."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
from sqlmodel import select

from core.db import Database, open_database
from core.llm.client import CallContext, ModelClient
from core.llm.ledger import Ledger
from core.llm.prices import ModelPrice, Prices
from core.settings import BudgetSettings, ModelSettings, Settings, load_settings
from core.tables import LedgerEntry

MODEL = "test-model"
PRICE = ModelPrice(input=1.0, cached_input=0.25, output=4.0)
ACT = CallContext("act", episode_id="ep_1", round_number=3)
ASK = ({"role": "system", "content": "You help."}, {"role": "user", "content": "Say hello."})


class StandingClock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class Bench:
    """What a test of the client works with; ``waits`` are the seconds that the client wanted to wait."""

    database: Database
    ledger: Ledger
    client: ModelClient
    clock: StandingClock
    waits: list[float] = field(default_factory=list)

    def rows(self) -> list[LedgerEntry]:
        return rows(self.database)

    def outcomes(self) -> list[str]:
        return [row.outcome for row in self.rows()]


def rows(database: Database) -> list[LedgerEntry]:
    with database.read() as session:
        return list(session.exec(select(LedgerEntry).order_by(LedgerEntry.id)))


def settings_for(base_url: str | None, *, budget: BudgetSettings | None = None, **model: Any) -> Settings:
    named = dict.fromkeys(("act", "digest", "reflect", "judge"), MODEL)
    return load_settings(
        OPENAI_API_KEY="test-key" if base_url else None,
        OPENAI_BASE_URL=base_url,
        model=ModelSettings(**{**named, "timeout_s": 5, **model}),
        budget=budget or BudgetSettings(per_day_usd=None, total_usd=None),
    )


def make_bench(
    tmp_path: Path,
    base_url: str,
    *,
    prices: Prices | None = None,
    budget: BudgetSettings | None = None,
    simulated: bool = False,
    **model: Any,
) -> Bench:
    settings = settings_for(base_url, budget=budget, **model)
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    clock, waits = StandingClock(), []
    ledger = Ledger(database, settings.budget, prices or Prices({MODEL: PRICE}), clock, simulated)
    http = httpx2.Client(trust_env=False)
    client = ModelClient(settings, ledger, http, sleep=waits.append, clock=clock)
    return Bench(database, ledger, client, clock, waits)
