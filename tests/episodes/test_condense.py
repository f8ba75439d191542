"""Condensing of digests by the cheap model, asked over a real socket."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from core.db import open_database
from core.environments.recorded import read_recorded
from core.episodes.digest import Digest, condense, extract_digest
from core.episodes.trajectory import first_user_text
from core.errors import BudgetExceededError
from core.llm.build import build_client
from core.llm.client import CallContext
from core.settings import BudgetSettings, DigestSettings, Settings, SimulationSettings
from core.tables import LedgerEntry
from core.text import estimate_tokens
from tests.llm.helpers import make_bench
from tests.support.model_server import ModelServer
from tests.support.recordings import LIBRARY_DESK

SETTINGS = DigestSettings()
CONTEXT = CallContext("digest", episode_id="ep_1", round_number=2)


@pytest.fixture
def extracted() -> Digest:
    episode = read_recorded(LIBRARY_DESK).episodes[0]
    return extract_digest(episode.messages, first_user_text(episode.messages), 0.0, "fail", SETTINGS)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def condensed_by(server: ModelServer, tmp_path: Path, answer: str, digest: Digest) -> Digest:
    server.answer = lambda _body: answer
    return condense(make_bench(tmp_path, server.base_url).client, digest, CONTEXT, SETTINGS)


def test_a_condensed_digest_that_keeps_all_is_taken(server: ModelServer, tmp_path: Path, extracted: Digest) -> None:
    shorter = extracted.text.replace("The Sea Atlas", "it")
    digest = condensed_by(server, tmp_path, f"\n{shorter}\n", extracted)
    assert digest == Digest(shorter, estimate_tokens(shorter), extracted.decisive_step, "condensed")


def test_condensing_asks_once_at_temperature_0_and_shows_the_extraction(
    server: ModelServer, tmp_path: Path, extracted: Digest
) -> None:
    condensed_by(server, tmp_path, extracted.text, extracted)
    (request,) = server.requests
    assert request.body["temperature"] == 0
    instructions, shown = request.body["messages"]
    assert shown == {"role": "user", "content": extracted.text}
    assert "at least 200 and at most 300 tokens" in instructions["content"]


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"(?s)^.*$", "I cannot do that."),
        (r"STEPS:\n", ""),
        (r"OUTCOME: fail", "OUTCOME: pass"),
        (r"\* \[8\]", "- [8]"),
        (r"- \[6\] CALL renew_loan", "- [6] CALL extend_loan"),
        (r"- \[10\].*\n", ""),
        (r"$", " and so on" * 200),
        (r"(?m)^(- \[\d+\] (?:CALL \w+\()?).*", r"\1"),
    ],
    ids=["refusal", "heading", "outcome", "mark", "tool before", "step after", "too long", "too short"],
)
def test_an_answer_that_loses_something_is_not_taken(
    server: ModelServer, tmp_path: Path, extracted: Digest, pattern: str, replacement: str
) -> None:
    changed = re.sub(pattern, replacement, extracted.text, count=0 if "?m" in pattern else 1)
    assert changed != extracted.text
    assert condensed_by(server, tmp_path, changed, extracted) == extracted


def test_the_extraction_stays_when_the_call_fails(server: ModelServer, tmp_path: Path, extracted: Digest) -> None:
    server.script(["bad_request"])
    assert condensed_by(server, tmp_path, extracted.text, extracted) == extracted


def test_a_spent_budget_is_not_hidden(server: ModelServer, tmp_path: Path, extracted: Digest) -> None:
    spent = BudgetSettings(per_day_usd=0, total_usd=0)
    with pytest.raises(BudgetExceededError):
        condense(make_bench(tmp_path, server.base_url, budget=spent).client, extracted, CONTEXT, SETTINGS)
    assert server.requests == []


def test_the_simulated_model_condenses_every_recorded_episode(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    steady = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
    settings = Settings(OPENAI_API_KEY=None, OPENAI_BASE_URL=None, simulation=steady)
    client = build_client(settings, database)
    for episode in read_recorded(LIBRARY_DESK).episodes:
        query = first_user_text(episode.messages)
        digest = extract_digest(episode.messages, query, episode.reward, "marginal", SETTINGS)
        assert condense(client, digest, CONTEXT, SETTINGS).source == "condensed"
    with database.read() as session:
        entries = session.exec(select(LedgerEntry)).all()
    assert [(entry.purpose, entry.episode_id) for entry in entries] == [("digest", "ep_1")] * 6
