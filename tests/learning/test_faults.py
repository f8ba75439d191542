"""Three rounds against a real HTTP server that fails three calls in ten."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import select

from core.db import open_database
from core.learning.service import run_rounds
from core.llm.simulated.transport import SimulatedTransport
from core.settings import SimulationSettings, load_settings
from core.tables import LedgerEntry, Round
from core.views.report import report
from tests.learning.rows import NOW
from tests.support.model_server import ModelServer

FAULTS = {
    "rate_limited": 0.06,
    "server_error": 0.06,
    "hang": 0.01,
    "dropped": 0.03,
    "cut_body": 0.05,
    "wrong_schema": 0.05,
    "empty_choices": 0.04,
}
OUTCOMES = {"rate_limited", "server_error", "timeout", "connection_error", "empty", "invalid", "reask"}


class Healthy:
    """Answers as the simulated model does when nothing goes wrong; reflections only when asked again."""

    def __init__(self) -> None:
        quiet = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
        self._http = httpx2.Client(transport=SimulatedTransport(quiet))

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        name = ((body.get("response_format") or {}).get("json_schema") or {}).get("name")
        if name == "reflection_output" and body["messages"][-1]["content"].startswith("## "):
            return {"role": "assistant", "content": '{"differences": "none"}'}
        answer = self._http.post("http://simulated/v1/chat/completions", json=body).json()
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message


@pytest.mark.slow
def test_three_rounds_finish_although_three_calls_in_ten_fail(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with ModelServer(Healthy(), rates=FAULTS, seed=2) as server:
        settings = load_settings(
            OPENAI_API_KEY="test-key",
            OPENAI_BASE_URL=server.base_url,
            model={"timeout_s": 3, "backoff_initial_s": 0, "backoff_max_s": 0},
            lifecycle={"approval": "auto"},
            agent={"rollouts_per_task": 2},
            round={"tasks": 4},
            gate={"tasks": 10},
        )
        run_rounds(settings, database, rounds=3)

    with database.read() as session:
        rounds = session.exec(select(Round)).all()
        entries = session.exec(select(LedgerEntry)).all()
        figures = report(session, now=NOW)
    assert [row.phase for row in rounds] == ["finished"] * 3
    assert 0.25 < 1 - server.faults[None] / len(server.requests) < 0.37
    assert len(entries) == len(server.requests), "every attempt is in the ledger, and nothing else"
    assert {entry.outcome for entry in entries} >= OUTCOMES
    assert sum(entry.input_tokens for entry in entries) == server.usage.input
    assert sum(entry.cached_tokens for entry in entries) == server.usage.cached
    assert sum(entry.output_tokens for entry in entries) == server.usage.output
    assert len({(entry.request_id, entry.attempt) for entry in entries}) == len(entries)
    tokens = {"input": server.usage.input, "cached": server.usage.cached, "output": server.usage.output}
    assert figures["spend"]["tokens"] == tokens
    assert 0.2 < figures["spend"]["retry_share"] < 0.4
    assert json.dumps(figures)
