"""When a round is due (design section 8)."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.db import Database, open_database
from core.learning.triggers import Trigger, next_trigger
from core.settings import Settings
from tests.learning.rows import DOMAIN, NOW, a_round, an_episode

SETTINGS = Settings(_env_file=None)
RECORDED = "recorded:airline"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def outside(database: Database, grades: list[str], *, first: int = 0, **columns: Any) -> None:
    """Store outside episodes, the latest last."""
    with database.write() as session:
        for place, grade in enumerate(grades, first):
            ended = NOW + timedelta(minutes=place)
            given = {"environment": RECORDED, "arm": "external", "grade": grade, "ended_at": ended}
            session.add(an_episode(f"{columns.get('environment', 'e')}{place:03}", **given | columns))


def rounds(database: Database, scores: list[float | None], **columns: Any) -> None:
    with database.write() as session:
        for number, score in enumerate(scores, 1):
            session.add(a_round(number, gain={} if score is None else {"success_after": score}, **columns))


def due(database: Database, *, at: datetime = NOW, playable: bool = False, since: datetime = NOW) -> Trigger | None:
    with database.read() as session:
        return next_trigger(session, SETTINGS, lambda: at, own_domain=DOMAIN, playable=playable, since=since)


@pytest.mark.parametrize(("count", "trigger"), [(0, None), (19, None), (20, Trigger("episodes", RECORDED))])
def test_twenty_new_outside_episodes_start_a_round(database: Database, count: int, trigger: Trigger | None) -> None:
    outside(database, ["pass"] * count)
    assert due(database) == trigger


@pytest.mark.parametrize("columns", [{"reflected_round": 1}, {"split": "held_out"}, {"arm": "learn"}])
def test_what_is_not_new_training_from_outside_does_not_count(database: Database, columns: dict[str, Any]) -> None:
    outside(database, ["pass"] * 30, **columns)
    assert due(database) is None


def test_domains_are_counted_apart(database: Database) -> None:
    outside(database, ["pass"] * 15)
    outside(database, ["pass"] * 15, environment="recorded:hotel")
    assert due(database) is None
    outside(database, ["pass"] * 5, first=15, environment="recorded:hotel")
    assert due(database) == Trigger("episodes", "recorded:hotel")


RARELY = Trigger("success_rate", RECORDED)


@pytest.mark.parametrize(
    ("passes", "trigger"),
    [(5, RARELY), (6, None), (20, None)],  # 0.25 is below 0.3, 0.30 is not
)
def test_a_low_success_rate_of_the_last_twenty_starts_one_at_once(
    database: Database, passes: int, trigger: Trigger | None
) -> None:
    outside(database, ["fail"] * (20 - passes) + ["pass"] * passes, reflected_round=1)
    outside(database, ["pass"], first=0, environment=RECORDED, ended_at=NOW - timedelta(days=9))
    assert due(database) == trigger


def test_only_the_last_twenty_decide(database: Database) -> None:
    outside(database, ["pass"] * 60 + ["fail"] * 19, reflected_round=1)
    outside(database, ["fail"], first=79)
    assert due(database) == RARELY


def test_fewer_than_twenty_tell_nothing(database: Database) -> None:
    outside(database, ["fail"] * 19)
    assert due(database) is None


def test_after_such_a_round_it_cools_down(database: Database) -> None:
    outside(database, ["fail"] * 19, reflected_round=1)
    outside(database, ["fail"], first=19)
    with database.write() as session:
        session.add(a_round(1, environment=RECORDED, trigger="success_rate", started_at=NOW))
    assert due(database, at=NOW + timedelta(seconds=599)) is None
    assert due(database, at=NOW + timedelta(seconds=600)) == RARELY


def test_a_round_for_another_reason_or_domain_does_not_cool(database: Database) -> None:
    outside(database, ["fail"] * 19, reflected_round=1)
    outside(database, ["fail"], first=19)
    with database.write() as session:
        session.add(a_round(1, environment=RECORDED, trigger="episodes", started_at=NOW))
        session.add(a_round(2, environment=DOMAIN, trigger="success_rate", started_at=NOW))
    assert due(database) == RARELY


SCHEDULE = Trigger("schedule", DOMAIN)


@pytest.mark.parametrize(
    ("scores", "trigger"),
    [
        ([], SCHEDULE),
        ([0.5] * 5, SCHEDULE),  # patience is 5: the sixth round without a better score is the one that counts
        ([0.5] * 6, None),
        ([0.9, 0.5, 0.6, 0.7, 0.8, 0.85], None),
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.6], SCHEDULE),
        ([0.5, 0.6, 0.6, 0.6, 0.6, 0.6], SCHEDULE),
        ([0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6], None),
        ([None] * 9, SCHEDULE),
    ],
)
def test_a_world_is_played_until_five_rounds_bring_nothing_better(
    database: Database, scores: list[float | None], trigger: Trigger | None
) -> None:
    rounds(database, scores)
    assert due(database, playable=True) == trigger


def test_a_person_who_starts_the_loop_again_wakes_it(database: Database) -> None:
    rounds(database, [0.5] * 8)
    assert due(database, playable=True) is None
    restarted = NOW + timedelta(hours=6)  # round n started n hours after NOW: three since then
    assert due(database, playable=True, since=restarted) == SCHEDULE


def test_what_cannot_be_played_is_not_scheduled_and_outside_episodes_come_first(database: Database) -> None:
    assert due(database, playable=False) is None
    outside(database, ["pass"] * 20)
    assert due(database, playable=True) == Trigger("episodes", RECORDED)
