"""The hard limit on spend, through the whole loop: real rounds, the real client, a real and faulty HTTP server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import col, select

from core import curation
from core.clock import utc_now
from core.control import read_control, set_control
from core.db import Database, open_database
from core.learning.lease import LeaseKeeper
from core.learning.worker import Activity, LoopWorker
from core.llm.simulated.transport import SimulatedTransport
from core.settings import Settings, SimulationSettings, load_settings
from core.tables import LedgerEntry, LoopControl, Round
from core.views.spend import Spend, spend
from tests.support.model_server import ModelServer

LIMIT_USD = 1.0
IN_FLIGHT = 4
DEAR = "o1-pro"
"""A model so dear that some dozens of calls reach the limit."""

FAULTS = {"rate_limited": 0.05, "server_error": 0.05, "dropped": 0.04, "cut_body": 0.04, "empty_choices": 0.04}


class Healthy:
    """Answers as the stand-in does; every structured answer has to be asked for twice."""

    def __init__(self) -> None:
        quiet = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
        self._http = httpx2.Client(transport=SimulatedTransport(quiet))

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body and body["messages"][-1]["role"] == "user" and len(body["messages"]) == 2:
            return {"role": "assistant", "content": json.dumps({"nothing": "of the kind"})}
        answer = self._http.post("http://simulated/v1/chat/completions", json=body).json()
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(Healthy(), rates=FAULTS, seed=3) as running:
        yield running


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def settings_for(server: ModelServer) -> Settings:
    return load_settings(
        OPENAI_API_KEY="test-key",
        OPENAI_BASE_URL=server.base_url,
        environment={"name": "tests.support.worlds:Cues"},
        model={
            **dict.fromkeys(("act", "digest", "reflect", "judge"), DEAR),
            "backoff_initial_s": 0,
            "backoff_max_s": 0,
            "concurrency": IN_FLIGHT,
        },
        round={"tasks": 4},
        agent={"rollouts_per_task": 2},
        digest={"condense": False},
        gate={"tasks": 10},
        budget={"per_day_usd": None, "total_usd": LIMIT_USD},
    )


class Loop:
    """A loop without its thread."""

    def __init__(self, database: Database, settings: Settings) -> None:
        assert LeaseKeeper(database, "worker", utc_now, settings.loop).acquire()
        self._database = database
        self._worker = LoopWorker(settings, database, utc_now, Activity(), lambda: False, "worker")

    def run(self) -> LoopControl:
        """Ask for one round, let the loop work until it rests, and return what it says."""
        with self._database.write() as session:
            set_control(session, utc_now, wanted="pause", actor="ada", steps=1)
        while self._worker.step():
            pass
        with self._database.read() as session:
            control = read_control(session)
        assert control is not None
        return control


def sums(database: Database) -> Spend:
    with database.read() as session:
        return spend(session, now=utc_now())


def dearest(database: Database) -> float:
    with database.read() as session:
        return max(session.exec(select(LedgerEntry.cost_usd).where(col(LedgerEntry.cost_usd) > 0)))


def rounds(database: Database) -> list[tuple[str, str]]:
    with database.read() as session:
        return [(row.status, row.phase) for row in session.exec(select(Round)).all()]


def test_one_dollar_is_passed_by_no_more_than_the_calls_in_flight(database: Database, server: ModelServer) -> None:
    settings = settings_for(server)
    loop = Loop(database, settings)
    control = loop.run()

    paid = sums(database)
    assert LIMIT_USD <= paid.total_usd <= LIMIT_USD + IN_FLIGHT * dearest(database)
    assert (control.wanted, control.steps, control.changed_by) == ("pause", 0, "system")
    assert "The limit on spend in total, 1.00 USD, is reached" in control.reason.format(**control.reason_values)
    assert rounds(database)[0][0] == "running", "the round waits where it stopped"
    sent = len(server.requests)
    assert "is reached" in loop.run().reason
    assert len(server.requests) == sent, "not one call more while the limit stands"

    curation.change_setting(
        database, name="budget.total_usd", value=50.0, settings=settings, actor="ada", clock=utc_now
    )
    assert loop.run().reason == ""
    assert [phase for _, phase in rounds(database)] == ["finished"], "with a higher limit the same round goes on"

    # Retries, re-asks, cached input, broken and empty responses are in it: the ledger knows each token reported.
    paid = sums(database)
    assert (paid.total.input_tokens, paid.total.cached_tokens, paid.total.output_tokens) == (
        server.usage.input, server.usage.cached, server.usage.output,
    )  # fmt: skip
    assert paid.total.calls == len(server.requests)
    assert paid.unknown_price_calls == server.faults["cut_body"], "a response without its usage is not free"
    assert len(set(server.faults) - {None}) >= 4
    assert paid.structured.after_reask > 0
