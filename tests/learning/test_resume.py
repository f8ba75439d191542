"""Killed at any moment, a run goes on where it stopped and ends as if it had never been disturbed."""

from pathlib import Path

import pytest
from sqlmodel import col, func, select

from core.db import Database, open_database
from core.tables import Episode, Round, Rule
from tests.support import killing
from tests.support.outcome import counts, miscounted, outcome

ROUNDS = 3
KILLS = 20
SMALL = {
    "LC_ALL": "C.UTF-8",
    "RULEWRIGHT_ROUND__TASKS": "10",
    "RULEWRIGHT_ROUND__REFLECTION_BATCH": "10",
    "RULEWRIGHT_AGENT__ROLLOUTS_PER_TASK": "2",
    "RULEWRIGHT_GATE__TASKS": "12",
    "RULEWRIGHT_LIFECYCLE__VERIFIED_SUCCESSES": "1",
    "RULEWRIGHT_LOOP__HEARTBEAT_S": "0.2",
    "RULEWRIGHT_LOOP__LEASE_TTL_S": "1.01",
}


def arguments(database: Path, rounds: int) -> list[str]:
    where = f"sqlite:///{database}"
    return ["run", "--rounds", str(rounds), "--seed", "5", "--approve", "auto", "--database", where]


def finished_rounds(database: Database) -> int:
    with database.read() as session:
        return session.exec(select(func.count()).select_from(Round).where(col(Round.status) != "running")).one()


def acknowledged(database: Database) -> dict[str, float]:
    """Episodes that are in the database, by id."""
    with database.read() as session:
        return dict(session.exec(select(Episode.id, Episode.reward)).all())


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path: Path) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed.db", tmp_path / "disturbed.db"
    assert killing.finish(killing.start(arguments(undisturbed, ROUNDS), SMALL)) == 0
    database = open_database(f"sqlite:///{disturbed}")
    killed = 0
    for moment in killing.moments(seed=5, count=KILLS):
        before = acknowledged(database)
        left = ROUNDS - finished_rounds(database)
        assert left, f"the run ended after {killed} kills"
        killed += killing.kill_at(killing.start(arguments(disturbed, left), SMALL), disturbed, moment)
        after = acknowledged(database)
        assert before.items() <= after.items(), "an acknowledged episode is lost or changed"
        with database.read() as session:
            assert miscounted(session) == []
    assert killed == KILLS
    assert killing.finish(killing.start(arguments(disturbed, ROUNDS - finished_rounds(database)), SMALL)) == 0

    with open_database(f"sqlite:///{undisturbed}").read() as one, database.read() as other:
        assert miscounted(one) == miscounted(other) == []
        assert one.exec(select(func.sum(Rule.n_used))).one() > 0, "there is something to count"
        assert counts(other) == counts(one)
        assert outcome(other) == outcome(one)
