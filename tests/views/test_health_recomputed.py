"""The four metrics against a second computation: plain loops over the raw rows, intervals by scipy."""

import gzip
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from core.db import open_database
from core.episodes.importing import import_recorded
from core.learning.service import run_rounds
from core.settings import load_settings
from core.views.health import health_rows
from tests.support.recordings import airline_file

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
ROUNDS = 10

Row = tuple[float, float, float, int]
"""Value, low, high, n."""


def rate(successes: int, n: int) -> Row:
    ends = stats.binomtest(successes, n).proportion_ci(method="wilson")
    return successes / n, ends.low, ends.high, n


def mean(values: Iterable[int]) -> Row:
    data = np.array(list(values), dtype=float)
    if np.ptp(data) == 0:
        return data[0], data[0], data[0], len(data)
    found = stats.bootstrap((data,), np.mean, method="percentile", random_state=1).confidence_interval
    return float(data.mean()), found.low, found.high, len(data)


def close(got: Row, wanted: Row, tolerance: float) -> bool:
    return got[3] == wanted[3] and np.allclose(got[0], wanted[0]) and np.allclose(got[:3], wanted[:3], atol=tolerance)


def shown(database_path: Path) -> dict[tuple[Any, ...], Row]:
    with closing(open_database(f"sqlite:///{database_path}")) as database, database.read() as session:
        return {
            (one.round, one.split, one.arm, one.metric): (one.value, one.low, one.high, one.n)
            for one in health_rows(session)
        }


def counted(messages: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Count turns, calls and failed calls of a conversation."""
    said = [one for one in messages if one["role"] == "assistant"]
    calls = sum(len(one.get("tool_calls") or ()) for one in said)
    failed = sum(one["role"] == "tool" and str(one["content"]).startswith("Error") for one in messages)
    return len(said), calls, failed


def test_the_recorded_airline_episodes(tmp_path: Path) -> None:
    path = tmp_path / "airline.db"
    with closing(open_database(f"sqlite:///{path}")) as database:
        import_recorded(database, airline_file(), settings=load_settings(_env_file=None), clock=lambda: NOW)
    with gzip.open(airline_file(), "rt", encoding="utf-8") as lines:
        episodes = [json.loads(line) for line in lines]
    turns, calls, failed = zip(*(counted(one["messages"]) for one in episodes), strict=True)
    found = {metric: row for (*_, metric), row in shown(path).items()}
    assert close(found["success_rate"], rate(sum(one["reward"] == 1 for one in episodes), len(episodes)), 1e-9)
    assert close(found["mean_turns"], mean(turns), 0.2)
    assert close(found["tool_error_rate"], rate(sum(failed), sum(calls)), 1e-9)
    assert set(found) == {"success_rate", "mean_turns", "tool_error_rate"}, "no rule was served, so none was judged"


@pytest.mark.slow
def test_ten_rounds_of_incidents(tmp_path: Path) -> None:
    path = tmp_path / "incidents.db"
    settings = load_settings(
        _env_file=None,
        round={"tasks": 6, "reflection_batch": 6},
        agent={"rollouts_per_task": 2},
        gate={"tasks": 6},
        lifecycle={"approval": "auto", "verified_successes": 1},
    )
    with closing(open_database(f"sqlite:///{path}")) as database:
        run_rounds(settings, database, rounds=ROUNDS)

    with closing(sqlite3.connect(path)) as connection:
        episodes = connection.execute(
            "SELECT id, round_number, split, arm, reward, messages, tool_errors FROM episode"
        ).fetchall()
        uses = connection.execute("SELECT episode_id, disposition, compliance FROM rule_use").fetchall()
    places: defaultdict[tuple[Any, ...], list[tuple[bool, int, int, int]]] = defaultdict(list)
    place_of = {}
    for name, number, split, arm, reward, messages, errors in episodes:
        turns, calls, _ = counted(json.loads(messages))
        place_of[name] = (number, split, arm)
        places[number, split, arm].append((reward >= settings.agent.pass_reward, turns, calls, errors))
    judged: defaultdict[tuple[Any, ...], list[bool]] = defaultdict(list)
    for name, disposition, compliance in uses:
        if disposition == "served" and compliance in ("complied", "violated"):
            judged[place_of[name]].append(compliance == "complied")

    wanted: dict[tuple[Any, ...], tuple[Row, float]] = {}
    for place, rows in places.items():
        passed, turns, calls, errors = zip(*rows, strict=True)
        wanted[*place, "success_rate"] = rate(sum(passed), len(rows)), 1e-9
        wanted[*place, "mean_turns"] = mean(turns), 0.2
        if sum(calls):
            wanted[*place, "tool_error_rate"] = rate(sum(errors), sum(calls)), 1e-9
    wanted |= {(*place, "compliance_rate"): (rate(sum(rows), len(rows)), 1e-9) for place, rows in judged.items()}
    found = shown(path)
    assert found.keys() == wanted.keys()
    assert {number for number, *_ in found} == set(range(1, ROUNDS + 1))
    assert judged, "some rule was served and judged"
    assert [place for place, (row, tolerance) in wanted.items() if not close(found[place], row, tolerance)] == []
