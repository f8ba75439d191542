"""The report's keys are a promise to scripts: these names, this order, always there."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.tables import Conflict, Episode, LedgerEntry, Round, Rule
from core.views.report import report

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
FIGURES = {
    "value": 0.2, "low": 0.05, "high": 0.35, "n": 60, "repaired": 15, "regressed": 3,
    "mcnemar_p": 0.0075, "noise_floor": 0.06,
}  # fmt: skip
STORED = {**FIGURES, "arm": "after", "random_arm": {"value": 0.01, "n": 60}}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def fill(database: Database) -> None:
    with database.write() as session:
        for number, status in ((1, "committed"), (2, "running")):
            session.add(
                Round(
                    number=number, environment="incidents", seed=1, trigger="test", status=status,
                    started_at=NOW, verdict={"difference": 0.1} if number == 1 else {},
                    gain=STORED if number == 1 else {},
                )
            )  # fmt: skip
        for name, state in (("r1", "active"), ("r2", "active"), ("r3", "archived")):
            session.add(
                Rule(id=name, name=name, condition="c", action="a", origin="human", state=state, created_at=NOW)
            )
        session.flush()
        session.add(
            Episode(
                id="e", environment="incidents", task_id="t", task_type="disk", query="q", split="held_out",
                arm="after", round_number=1, reward=1, grade="pass", turns=3, tool_calls=4, tool_errors=1,
                messages=[], started_at=NOW, ended_at=NOW,
            )
        )  # fmt: skip
        session.add(Conflict(id="c", rule_a="r1", rule_b="r2", detector="lexicon", created_at=NOW))
        session.add(Conflict(id="d", rule_a="r1", rule_b="r3", detector="model", status="resolved", created_at=NOW))
        session.add(
            LedgerEntry(
                request_id="q", attempt=1, purpose="act", model="m", simulated=True, input_tokens=10,
                cached_tokens=4, output_tokens=2, cost_usd=0.5, outcome="ok", created_at=NOW,
            )
        )  # fmt: skip


def test_keys_are_the_promised_ones_in_order_even_when_there_is_nothing(database: Database) -> None:
    with database.read() as session:
        empty = report(session, now=NOW)

    assert list(empty) == [
        "health", "gain", "spend", "rules", "conflicts_open", "episodes", "rounds", "verdicts",
    ]  # fmt: skip
    assert empty["health"] == []
    assert empty["gain"] is None
    assert empty["rules"] == {"candidate": 0, "active": 0, "probation": 0, "archived": 0}
    assert (empty["conflicts_open"], empty["episodes"], empty["rounds"]) == (0, 0, 0)


def test_figures_of_a_small_database(database: Database) -> None:
    fill(database)
    with database.read() as session:
        figures = report(session, now=NOW)

    assert list(figures["health"][0]) == ["round", "split", "arm", "metric", "value", "low", "high", "n"]
    errors = next(row for row in figures["health"] if row["metric"] == "tool_error_rate")
    assert (errors["round"], errors["arm"], errors["value"], errors["n"]) == (1, "after", 0.25, 4)
    assert figures["gain"] == {**FIGURES, "round": 1, "random_arm": 0.01}
    assert figures["rules"] == {"candidate": 0, "active": 2, "probation": 0, "archived": 1}
    assert (figures["conflicts_open"], figures["episodes"], figures["rounds"]) == (1, 1, 1)
    assert figures["verdicts"] == [{"round": 1, "status": "committed", "verdict": {"difference": 0.1}}]
    assert figures["spend"]["total_usd"] == 0.5
    assert figures["spend"]["tokens"] == {"input": 10, "cached": 4, "output": 2}
    assert figures["spend"]["by_purpose"]["act"]["cost_usd"] == 0.5


def test_the_report_is_json_and_the_same_twice(database: Database) -> None:
    fill(database)
    with database.read() as session:
        first = json.dumps(report(session, now=NOW), allow_nan=False)
        second = json.dumps(report(session, now=NOW), allow_nan=False)
    assert first == second
