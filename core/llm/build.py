"""Puts the client together from settings: the real endpoint, or the simulated model when there is none."""

import httpx2

from core.clock import Clock, utc_now
from core.db import Database
from core.llm.client import ModelClient
from core.llm.ledger import Ledger
from core.llm.prices import load_prices
from core.llm.simulated.transport import SimulatedTransport
from core.settings import Settings


def build_client(settings: Settings, database: Database, clock: Clock = utc_now) -> ModelClient:
    """Return the client for these settings; close it when done.

    Raises:
        UserError: ``data/prices.json`` is not usable.
    """
    prices = load_prices(base_url=settings.openai_base_url)
    ledger = Ledger(database, settings.budget, prices, clock, simulated=settings.simulated)
    if not settings.simulated:
        return ModelClient(settings, ledger, clock=clock)
    simulated = httpx2.Client(transport=SimulatedTransport(settings.simulation))
    return ModelClient(settings, ledger, simulated, sleep=_no_wait, clock=clock)


def _no_wait(_seconds: float) -> None:
    """Do not wait: the stand-in has no load to recover from."""
