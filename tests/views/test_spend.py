"""Spend against sums worked out by hand on a small ledger written here."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from core.db import Database, open_database
from core.tables import LedgerEntry
from core.views.spend import Spend, StructuredOutcomes, Usage, spend, spend_lines

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def make_entry(request: str, attempt: int = 1, **changes: Any) -> LedgerEntry:
    values: dict[str, Any] = {
        "request_id": request, "attempt": attempt, "purpose": "act", "model": "gpt-4o-mini",
        "simulated": False, "input_tokens": 1000, "cached_tokens": 0, "output_tokens": 100,
        "cost_usd": 0.01, "outcome": "ok",
        "round_number": 1, "created_at": NOW,
    }  # fmt: skip
    return LedgerEntry(**{**values, **changes})


def spend_of(database: Database, *entries: LedgerEntry, now: datetime = NOW) -> Spend:
    with database.write() as session:
        session.add_all(entries)
    with database.read() as session:
        return spend(session, now=now)


def test_sums_by_purpose_model_and_round(database: Database) -> None:
    sums = spend_of(
        database,
        make_entry("a"),
        make_entry("b", cached_tokens=600),
        make_entry("c", purpose="reflect", model="gpt-4o", round_number=2, input_tokens=8000, cost_usd=0.5),
        make_entry("d", purpose="judge", round_number=None, cost_usd=0.02),
    )

    assert sums.by_purpose == {
        "act": Usage(2, 2, 2000, 600, 200, pytest.approx(0.02)),
        "judge": Usage(1, 1, 1000, 0, 100, 0.02),
        "reflect": Usage(1, 1, 8000, 0, 100, 0.5),
    }
    assert list(sums.by_purpose) == ["act", "judge", "reflect"]
    assert {model: usage.cost_usd for model, usage in sums.by_model.items()} == {
        "gpt-4o": 0.5,
        "gpt-4o-mini": pytest.approx(0.04),
    }
    assert [(number, usage.calls) for number, usage in sums.by_round.items()] == [(None, 1), (1, 2), (2, 1)]
    assert sums.total_usd == pytest.approx(0.54)
    assert sums.cache_share == pytest.approx(600 / 11000)


def test_a_retried_request_is_one_request_and_its_retries_are_a_share(database: Database) -> None:
    sums = spend_of(
        database,
        make_entry("a", 1, outcome="rate_limited", input_tokens=0, output_tokens=0, cost_usd=0),
        make_entry("a", 2, outcome="timeout", input_tokens=0, output_tokens=0, cost_usd=0),
        make_entry("a", 3, cost_usd=0.03),
        make_entry("b"),
    )

    assert (sums.total.calls, sums.total.requests) == (4, 2)
    assert sums.retry_share == pytest.approx(0.5)
    assert sums.retry_cost_usd == pytest.approx(0.03)
    assert sums.total_usd == pytest.approx(0.04)


def test_today_begins_at_midnight_utc(database: Database) -> None:
    midnight = datetime(2026, 1, 5, tzinfo=UTC)
    sums = spend_of(
        database,
        make_entry("a", created_at=midnight - timedelta(seconds=1), cost_usd=1),
        make_entry("b", created_at=midnight, cost_usd=2),
        # 23:30 on the 4th in New York is already the 5th in UTC.
        make_entry("c", created_at=datetime(2026, 1, 4, 23, 30, tzinfo=timezone(timedelta(hours=-5))), cost_usd=4),
    )

    assert sums.today_usd == pytest.approx(6)
    assert {day: usage.cost_usd for day, usage in sums.by_day.items()} == {"2026-01-04": 1, "2026-01-05": 6}


def test_calls_of_unknown_price_are_counted_not_guessed(database: Database) -> None:
    sums = spend_of(database, make_entry("a", cost_usd=None), make_entry("b", cost_usd=0.25))

    assert sums.unknown_price_calls == 1
    assert sums.total_usd == pytest.approx(0.25)
    assert sums.total.input_tokens == 2000


def test_the_share_of_the_stand_in_model(database: Database) -> None:
    sums = spend_of(database, *(make_entry(str(index), simulated=index < 3) for index in range(4)))
    assert sums.simulated_share == pytest.approx(0.75)
    assert sums.simulated_usd == pytest.approx(0.03)


def test_structured_answers_count_once_by_how_they_ended(database: Database) -> None:
    sums = spend_of(
        database,
        make_entry("free", outcome="ok"),
        make_entry("a", outcome="valid"),
        make_entry("b", 1, outcome="timeout"),
        make_entry("b", 2, outcome="valid"),
        make_entry("c", 1, outcome="invalid"),
        make_entry("c", 2, outcome="reask"),
        make_entry("d", 1, outcome="invalid"),
        make_entry("d", 2, outcome="repaired"),
        make_entry("e", 1, outcome="invalid"),
        make_entry("e", 2, outcome="unusable"),
        make_entry("f", 1, outcome="invalid"),
        make_entry("f", 2, outcome="server_error"),
    )
    assert sums.structured == StructuredOutcomes(at_once=2, after_reask=1, after_repair=1, never=1)


def test_an_empty_ledger_divides_by_nothing(database: Database) -> None:
    sums = spend_of(database)

    assert (sums.total_usd, sums.today_usd, sums.unknown_price_calls) == (0, 0, 0)
    assert (sums.retry_share, sums.cache_share, sums.simulated_share) == (None, None, None)
    assert sums.by_purpose == {}


def test_sums_by_agent_and_calls_beside_any_episode(database: Database) -> None:
    sums = spend_of(
        database,
        make_entry("a", agent="billing-bot", cost_usd=0.25),
        make_entry("a", 2, agent="billing-bot", cost_usd=0.5),
        make_entry("b", agent="rulewright", cost_usd=1),
        make_entry("c", purpose="reflect", cost_usd=2),
    )

    assert {agent: (usage.calls, usage.requests, usage.cost_usd) for agent, usage in sums.by_agent.items()} == {
        "": (1, 1, 2), "billing-bot": (2, 1, 0.75), "rulewright": (1, 1, 1),
    }  # fmt: skip


def test_lines_tell_apart_day_purpose_model_agent_and_round(database: Database) -> None:
    spend_of(
        database,
        make_entry("a", agent="bot", outcome="timeout", cost_usd=0.25),
        make_entry("a", 2, agent="bot", cost_usd=0.5),
        make_entry("b", agent="bot", round_number=None, cost_usd=4),
        make_entry("c", agent="bot", created_at=NOW + timedelta(days=1), cost_usd=8),
    )
    with database.read() as session:
        found = spend_lines(session)

    assert [(line.day, line.agent, line.round, line.usage.calls, line.usage.cost_usd) for line in found] == [
        ("2026-01-05", "bot", None, 1, 4), ("2026-01-05", "bot", 1, 2, 0.75), ("2026-01-06", "bot", 1, 1, 8),
    ]  # fmt: skip
