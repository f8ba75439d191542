"""The guardrail restores after exactly so many worse evaluations in a row, and not before."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import Session

from core.db import open_database
from core.policy.guardrail import Evaluation, Guardrail
from core.policy.snapshots import Occasion, go_back, guard, guardrail, newest_snapshot
from core.settings_experience import PolicySettings
from core.tables import PolicySnapshot
from tests.learning.rows import a_snapshot

NOW = datetime(2026, 3, 1, tzinfo=UTC)
GOOD, WORSE = Evaluation(0.8, 5.0), Evaluation(0.7, 5.0)


def verdicts(*evaluations: Evaluation, patience: int = 3) -> list[str]:
    rail, said = Guardrail(), []
    for one in evaluations:
        verdict, rail = rail.judge(one, patience)
        said.append(verdict)
    return said


def test_the_third_worse_one_in_a_row_restores() -> None:
    assert verdicts(GOOD, WORSE, WORSE, WORSE) == ["better", "worse", "worse", "restore"]


def test_a_good_one_between_starts_the_count_anew() -> None:
    assert verdicts(GOOD, WORSE, WORSE, GOOD, WORSE, WORSE, WORSE) == [
        "better", "worse", "worse", "same", "worse", "worse", "restore",
    ]  # fmt: skip


def test_more_turns_at_the_same_success_are_worse_and_fewer_are_better() -> None:
    assert verdicts(GOOD, Evaluation(0.8, 6.0), Evaluation(0.8, 4.0)) == ["better", "worse", "better"]


def test_a_slow_decline_is_measured_against_the_best_not_against_the_last() -> None:
    falling = [Evaluation(0.8 - 0.01 * step, 5.0) for step in range(4)]
    assert verdicts(*falling) == ["better", "worse", "worse", "restore"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1, 10)), max_size=30), st.integers(1, 5))
def test_it_never_restores_without_so_many_worse_ones_in_a_row(rows: list[tuple[float, float]], patience: int) -> None:
    said = verdicts(*(Evaluation(success, turns) for success, turns in rows), patience=patience)
    for place, verdict in enumerate(said):
        if verdict == "restore":
            assert said[place - patience + 1 : place] == ["worse"] * (patience - 1)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as database, database.write() as opened:
        yield opened


def evaluated(session: Session, evaluation: Evaluation) -> str | None:
    return guard(session, "desk", evaluation, 30, PolicySettings(), Occasion("system", NOW))


def snapshot(session: Session, state: bytes) -> PolicySnapshot:
    row = a_snapshot(state=state)
    session.add(row)
    session.flush()
    return row


def test_who_goes_back_to_a_good_policy_is_not_overruled_by_a_better_one(session: Session) -> None:
    first = snapshot(session, b"first")
    assert evaluated(session, Evaluation(0.6, 5)) == "better"
    snapshot(session, b"second")
    assert evaluated(session, Evaluation(0.8, 5)) == "better"
    assert evaluated(session, Evaluation(0.7, 5)) == "worse"
    again = go_back(session, first, Occasion("ada", NOW))
    assert guardrail(session, "desk") == Guardrail(Evaluation(0.6, 5), worse=0)
    assert [evaluated(session, Evaluation(0.6, 5)) for _ in range(3)] == ["same"] * 3
    snapshot(session, b"third")
    assert [evaluated(session, Evaluation(0.5, 5)) for _ in range(3)] == ["worse", "worse", "restore"]
    newest = newest_snapshot(session, "desk")
    assert newest is not None and newest.state == again.state == b"first"


def test_who_goes_back_to_a_policy_that_was_never_good_keeps_what_it_is_compared_with(session: Session) -> None:
    snapshot(session, b"good")
    evaluated(session, Evaluation(0.8, 5))
    bad = snapshot(session, b"bad")
    assert evaluated(session, Evaluation(0.7, 5)) == "worse"
    snapshot(session, b"other")
    go_back(session, bad, Occasion("ada", NOW))
    assert guardrail(session, "desk") == Guardrail(Evaluation(0.8, 5), worse=0)
    assert [evaluated(session, Evaluation(0.7, 5)) for _ in range(3)] == ["worse", "worse", "restore"]
    newest = newest_snapshot(session, "desk")
    assert newest is not None and newest.state == b"good"
