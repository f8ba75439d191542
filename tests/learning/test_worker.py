"""What breaks a round is written down, what the round did to the library is taken back, and the loop goes on."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import col, select

from core.control import read_control, set_control
from core.db import Database, open_database
from core.learning.lease import LeaseKeeper
from core.learning.worker import Activity, LoopWorker
from core.settings import load_settings
from core.tables import LoopControl, Round, Rule, RuleEvent
from tests.support.worlds import FragileCues

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def worker_on(database: Database, environment: str = "tests.support.worlds:FragileCues") -> LoopWorker:
    settings = load_settings(
        environment={"name": environment},
        round={"tasks": 12},
        agent={"rollouts_per_task": 2},
        gate={"tasks": 12},
        simulation={"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
    )
    assert LeaseKeeper(database, "worker", lambda: NOW, settings.loop).acquire()
    return LoopWorker(settings, database, lambda: NOW, Activity(), lambda: False, "worker")


def want(database: Database, wanted: str, steps: int = 0) -> None:
    with database.write() as session:
        set_control(session, lambda: NOW, wanted=wanted, actor="ada", steps=steps)


def control(database: Database) -> LoopControl:
    with database.read() as session:
        found = read_control(session)
    assert found is not None
    return found


def rounds(database: Database) -> list[Round]:
    with database.read() as session:
        return list(session.exec(select(Round).order_by(col(Round.number))).all())


def test_a_broken_round_is_recorded_and_taken_back_and_the_next_one_is_run(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    want(database, "run")
    worker = worker_on(database)
    assert not worker.step()

    (broken,) = rounds(database)
    assert (broken.status, broken.phase, broken.ended_at) == ("failed", "settled", NOW)
    assert broken.error is not None
    assert broken.error.format(**broken.error_values) == "ZeroDivisionError: the hinge is missing"
    with database.read() as session:
        found = session.exec(select(RuleEvent.rule_id).where(RuleEvent.kind == "created")).all()
        rules = session.exec(select(Rule)).all()
        reasons = session.exec(select(RuleEvent.reason).where(RuleEvent.kind == "gate")).all()
    assert found, "the round had found rules before it broke down"
    assert {rule.state for rule in rules} == {"archived"}
    assert set(reasons) == {"Round {round} broke down before its held-out test"}

    monkeypatch.setattr(FragileCues, "broken", False)
    assert worker.step()
    first, second = rounds(database)
    assert (first.status, second.phase) == ("failed", "finished")
    assert control(database).wanted == "run"


def test_three_broken_rounds_in_a_row_pause_the_loop(database: Database) -> None:
    want(database, "run")
    worker = worker_on(database, "tests.support.worlds:BrokenDoors")
    assert [worker.step() for _ in range(2)] == [False, False]
    assert control(database).wanted == "run"
    worker.step()

    paused = control(database)
    assert [row.status for row in rounds(database)] == ["failed"] * 3
    assert (paused.wanted, paused.changed_by) == ("pause", "system")
    assert paused.reason.format(**paused.reason_values) == (
        "3 rounds in a row broke down; the last one: ZeroDivisionError: the hinge is missing"
    )
    assert not worker.step()
    assert len(rounds(database)) == 3, "a paused loop begins nothing"

    want(database, "run")
    worker.step()
    assert (len(rounds(database)), control(database).wanted) == (4, "run"), "a person's new start counts from zero"


def test_a_broken_step_is_not_tried_again_by_itself(database: Database) -> None:
    want(database, "pause", steps=1)
    worker = worker_on(database, "tests.support.worlds:BrokenDoors")
    worker.step()
    worker.step()
    assert [row.status for row in rounds(database)] == ["failed"]
    assert control(database).steps == 0


def test_an_environment_that_does_not_exist_pauses_the_loop_with_a_reason(database: Database) -> None:
    want(database, "run")
    worker_on(database, "nowhere").step()
    paused = control(database)
    assert (paused.wanted, paused.changed_by) == ("pause", "system")
    assert "nowhere" in paused.reason.format(**paused.reason_values)
    assert rounds(database) == []


def test_a_worker_that_lost_the_lease_begins_no_round(database: Database) -> None:
    want(database, "pause", steps=1)
    worker = worker_on(database)
    ttl = worker.settings.loop.lease_ttl_s
    later = NOW + timedelta(seconds=ttl + 1)
    assert LeaseKeeper(database, "another", lambda: later, worker.settings.loop).acquire()
    assert not worker.step()
    assert rounds(database) == []
