"""Health and gain against figures worked out by hand on rows written here."""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from core.db import Database, open_database
from core.tables import Episode, Round, Rule, RuleUse
from core.views.health import (
    Gain,
    HealthRow,
    ablation_scores,
    gain,
    gain_by_round,
    health_rows,
    shrinking_gain,
    standing_rows,
)

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def make_round(number: int, *, environment: str = "incidents", gain: dict[str, Any] | None = None) -> Round:
    return Round(number=number, environment=environment, seed=1, trigger="test", gain=gain or {}, started_at=NOW)


def make_episode(name: str, **changes: Any) -> Episode:
    values: dict[str, Any] = {
        "id": name, "environment": "incidents", "task_id": "t", "task_type": "disk", "query": "q",
        "split": "train", "arm": "learn", "reward": 0.0, "grade": "fail", "turns": 4, "tool_calls": 0,
        "tool_errors": 0, "messages": [], "started_at": NOW, "ended_at": NOW,
    }  # fmt: skip
    return Episode(**{**values, **changes})


def make_rule(name: str) -> Rule:
    return Rule(id=name, name=name, condition="c", action="a", origin="human", created_at=NOW)


def make_use(episode: str, rule: str, compliance: str, disposition: str = "served") -> RuleUse:
    return RuleUse(
        episode_id=episode,
        rule_id=rule,
        rule_version=1,
        disposition=disposition,
        score=1,
        compliance=compliance,
    )


def pick(rows: list[HealthRow], metric: str, **place: Any) -> HealthRow:
    found = [row for row in rows if row.metric == metric and all(getattr(row, key) == v for key, v in place.items())]
    assert len(found) == 1, found
    return found[0]


def add_graded(session: Session, passing: int, total: int, **changes: Any) -> None:
    tag = f"{changes}"
    for index in range(total):
        grade = "pass" if index < passing else ("marginal" if index % 2 else "fail")
        session.add(make_episode(f"{tag}{index}", grade=grade, **changes))


def test_success_rate_has_the_wilson_interval(database: Database) -> None:
    """32 of 105 is the recorded airline data's rate; the interval is Wilson's (1927) without continuity."""
    with database.write() as session:
        add_graded(session, 32, 105, arm="external")
    with database.read() as session:
        row = pick(health_rows(session), "success_rate")

    assert (row.round, row.split, row.arm, row.n) == (None, "train", "external", 105)
    assert row.value == pytest.approx(32 / 105)
    assert row.low == pytest.approx(0.2249, abs=5e-5)
    assert row.high == pytest.approx(0.3984, abs=5e-5)


@pytest.mark.parametrize(
    ("passing", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_success_rate_agrees_with_published_intervals(
    database: Database, passing: int, total: int, low: float, high: float
) -> None:
    with database.write() as session:
        add_graded(session, passing, total)
    with database.read() as session:
        row = pick(health_rows(session), "success_rate")
    assert (row.low, row.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_mean_turns_interval_is_that_of_the_resampled_mean(database: Database) -> None:
    turns = [1 + index % 10 for index in range(400)]
    with database.write() as session:
        for index, value in enumerate(turns):
            session.add(make_episode(f"e{index}", turns=value))
    with database.read() as session:
        row = pick(health_rows(session), "mean_turns")

    mean = sum(turns) / len(turns)
    error = sqrt(sum((value - mean) ** 2 for value in turns) / len(turns)) / sqrt(len(turns))
    assert row.n == 400
    assert row.value == pytest.approx(5.5)
    assert row.low == pytest.approx(mean - 1.96 * error, abs=0.05)
    assert row.high == pytest.approx(mean + 1.96 * error, abs=0.05)


def test_tool_error_rate_counts_calls_not_episodes(database: Database) -> None:
    with database.write() as session:
        session.add(make_episode("a", tool_calls=9, tool_errors=1))
        session.add(make_episode("b", tool_calls=1, tool_errors=1))
        session.add(make_episode("c"))
    with database.read() as session:
        row = pick(health_rows(session), "tool_error_rate")

    assert (row.value, row.n) == (pytest.approx(0.2), 10)
    # Wilson by hand for 2 of 10, z = 1.96: centre (0.2 + 0.19207) / 1.38415, half 0.23359 more or less.
    assert (row.low, row.high) == (pytest.approx(0.0567, abs=1e-4), pytest.approx(0.5098, abs=1e-4))


def test_compliance_counts_judged_pairs_of_served_rules(database: Database) -> None:
    with database.write() as session:
        session.add_all([make_rule(name) for name in "rstuv"])
        session.add_all([make_episode("a"), make_episode("b")])
        session.flush()
        session.add_all(
            [
                make_use("a", "r", "complied"), make_use("a", "s", "complied"),
                make_use("b", "r", "complied"), make_use("b", "s", "violated"),
                make_use("a", "t", "not_applicable"), make_use("b", "t", "unjudged"),
                make_use("a", "u", "violated", "left_out"), make_use("a", "v", "violated", "trimmed"),
            ]
        )  # fmt: skip
    with database.read() as session:
        row = pick(health_rows(session), "compliance_rate")
        successes = pick(health_rows(session), "success_rate")

    assert (row.value, row.n) == (pytest.approx(0.75), 4)
    assert successes.n == 2, "joining the rules must not multiply the episodes"


def test_what_was_not_measured_has_no_row(database: Database) -> None:
    with database.write() as session:
        session.add(make_rule("r"))
        session.add(make_episode("a"))
        session.flush()
        session.add(make_use("a", "r", "unjudged"))
    with database.read() as session:
        assert [row.metric for row in health_rows(session)] == ["success_rate", "mean_turns"]


def test_rows_are_by_round_split_and_arm_in_order(database: Database) -> None:
    with database.write() as session:
        session.add_all([make_round(1), make_round(2)])
        session.flush()
        add_graded(session, 1, 4, round_number=2, split="held_out", arm="after")
        add_graded(session, 2, 4, round_number=2, split="held_out", arm="empty")
        add_graded(session, 3, 4, round_number=1)
        add_graded(session, 4, 4, arm="external")
    with database.read() as session:
        rows = [row for row in health_rows(session) if row.metric == "success_rate"]

    assert [(row.round, row.split, row.arm, row.value) for row in rows] == [
        (None, "train", "external", 1.0),
        (1, "train", "learn", 0.75),
        (2, "held_out", "after", 0.25),
        (2, "held_out", "empty", 0.5),
    ]


def test_only_the_environment_asked_for_is_counted(database: Database) -> None:
    with database.write() as session:
        add_graded(session, 3, 3)
        add_graded(session, 0, 5, environment="recorded:airline")
    with database.read() as session:
        assert pick(health_rows(session, environment="incidents"), "success_rate").n == 3
        assert pick(health_rows(session, environment="recorded:airline"), "success_rate").n == 5
        assert pick(health_rows(session), "success_rate").n == 8


def test_an_empty_database_has_neither_health_nor_gain(database: Database) -> None:
    with database.read() as session:
        assert health_rows(session) == []
        assert gain(session) is None


FIGURES = {
    "value": 0.2, "low": 0.05, "high": 0.35, "n": 60, "repaired": 15, "regressed": 3,
    "mcnemar_p": 0.0075, "noise_floor": 0.06, "arm": "after",
}  # fmt: skip


def test_gain_is_the_newest_measured_one(database: Database) -> None:
    with database.write() as session:
        session.add(make_round(1, gain={**FIGURES, "value": 0.1}))
        session.add(make_round(2, gain={**FIGURES, "random_arm": {"value": 0.01, "n": 60}}))
        session.add(make_round(3))
    with database.read() as session:
        assert gain(session) == Gain(round=2, random_value=0.01, **FIGURES)  # type: ignore[arg-type]
        assert [(each.round, each.value) for each in gain_by_round(session)] == [(1, 0.1), (2, 0.2)]


@pytest.mark.parametrize(
    ("gains", "alert"),
    [
        ([0.5, 0.4, 0.3, 0.2], True),
        ([0.1, 0.5, 0.4, 0.3, 0.2], True),
        ([0.5, 0.4, 0.3], False),  # shrank twice only
        ([0.5, 0.4, 0.4, 0.3], False),
        ([0.5, 0.4, 0.3, 0.2, 0.25], False),
        ([], False),
    ],
)
def test_a_gain_that_shrinks_three_times_in_a_row_is_told(database: Database, gains: list[float], alert: bool) -> None:
    with database.write() as session:
        for number, value in enumerate(gains, 1):
            session.add(make_round(number, gain={**FIGURES, "value": value}))
        session.flush()
        found = [one.value for one in shrinking_gain(session)]
    assert found == (gains[-4:] if alert else [])


def test_gain_of_another_environment_does_not_count(database: Database) -> None:
    with database.write() as session:
        session.add(make_round(1, gain=FIGURES))
        session.add(make_round(2, gain=FIGURES, environment="my:World"))
    with database.read() as session:
        newest = gain(session, environment="incidents")
    assert newest is not None
    assert newest.round == 1


def test_gain_without_a_random_arm_says_so(database: Database) -> None:
    with database.write() as session:
        session.add(make_round(1, gain=FIGURES))
    with database.read() as session:
        newest = gain(session)
    assert newest is not None
    assert newest.random_value is None


def test_the_scores_compared_are_those_of_the_library_left_standing(database: Database) -> None:
    """Round 2 was rolled back: the library that stands is the one from before."""
    with database.write() as session:
        session.add_all([make_round(1, gain=FIGURES), make_round(2, gain={**FIGURES, "arm": "before"})])
        session.flush()
        for arm, passing in (("empty", 2), ("before", 7), ("after", 5)):
            add_graded(session, passing, 10, round_number=2, split="held_out", arm=arm)
        add_graded(session, 10, 10, round_number=1, split="held_out", arm="after")
    with database.read() as session:
        scores = ablation_scores(session)
    assert scores is not None
    assert [(row.round, row.arm, row.value) for row in scores] == [(2, "empty", 0.2), (2, "before", 0.7)]


def test_each_round_stands_for_the_arm_that_was_left_standing(database: Database) -> None:
    """Round 2 was rolled back, round 3 kept a part of its changes, round 4 is not settled yet."""
    arms = {1: "after", 2: "before", 3: "second"}
    with database.write() as session:
        session.add_all([make_round(number, gain={**FIGURES, "arm": arm}) for number, arm in arms.items()])
        session.add(make_round(4))
        session.flush()
        for number in (1, 2, 3, 4):
            for arm, passing in (("before", 5), ("after", 6), ("second", 7), ("empty", 2)):
                add_graded(session, passing, 10, round_number=number, split="held_out", arm=arm)
    with database.read() as session:
        rows = standing_rows(health_rows(session), gain_by_round(session))
    assert [(row.round, row.arm, row.value) for row in rows if row.metric == "success_rate"] == [
        (1, "after", 0.6), (2, "before", 0.5), (3, "second", 0.7),
    ]  # fmt: skip


def test_without_a_gain_no_scores_are_compared(database: Database) -> None:
    with database.read() as session:
        assert ablation_scores(session) is None
