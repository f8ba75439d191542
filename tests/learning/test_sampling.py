"""Which tasks a round rolls out: 70 / 20 / 10, in time order, never a held-out one."""

from pathlib import Path

import pytest

from core.db import Database, open_database
from core.learning.sampling import Sample, sample_tasks
from core.settings import RoundSettings
from tests.learning.rows import DOMAIN, a_task, an_episode

HELD_OUT = range(900, 940)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def fill(database: Database, *, seen: int, unseen: int, rare: int = 0) -> None:
    """Store tasks in time order, the seen ones first and of them the rare type last; and held-out ones."""
    with database.write() as session:
        for number in range(seen + unseen):
            kind = "rare" if seen - rare <= number < seen else "queues"
            session.add(a_task(number, type=kind, times_sampled=int(number < seen)))
        for number in HELD_OUT:
            session.add(a_task(number, split="held_out", times_sampled=number % 2))
        session.add(a_task(999, environment="another", id="another/999"))


def sample(database: Database, seed: int = 1, tasks: int = 40) -> Sample:
    with database.read() as session:
        return sample_tasks(session, DOMAIN, RoundSettings(tasks=tasks), seed)


def numbers(ids: tuple[str, ...]) -> list[int]:
    return [int(task_id.rsplit("/", 1)[1]) for task_id in ids]


@pytest.mark.parametrize(("tasks", "shares"), [(40, (28, 8, 4)), (10, (7, 2, 1)), (100, (70, 20, 10))])
def test_the_shares_are_70_20_10(database: Database, tasks: int, shares: tuple[int, int, int]) -> None:
    fill(database, seen=150, unseen=150, rare=20)
    found = sample(database, tasks=tasks)
    assert (len(found.current), len(found.history), len(found.edge)) == shares
    assert len(found.all) == tasks


def test_current_tasks_are_the_next_unseen_ones_in_time(database: Database) -> None:
    fill(database, seen=50, unseen=60, rare=10)
    assert numbers(sample(database).current) == list(range(50, 78))


def test_held_out_tasks_and_other_worlds_are_never_taken(database: Database) -> None:
    fill(database, seen=30, unseen=20, rare=5)
    for seed in range(20):
        assert set(numbers(sample(database, seed, tasks=200).all)) == set(range(50))


def test_edge_tasks_are_seen_ones_of_the_rarest_type(database: Database) -> None:
    fill(database, seen=50, unseen=60, rare=10)
    for seed in range(10):
        assert set(numbers(sample(database, seed).edge)) <= set(range(40, 50))


def test_edge_tasks_are_also_those_with_mixed_outcomes(database: Database) -> None:
    fill(database, seen=50, unseen=60, rare=1)
    with database.write() as session:
        for number, grades in (
            (3, ("pass", "fail")),
            (4, ("pass", "pass")),
            (5, ("fail", "fail")),
            (6, ("pass", "fail")),
        ):
            for place, grade in enumerate(grades):
                arm = "after" if number == 6 else "learn"
                session.add(an_episode(f"e{number}{place}", task_id=f"{DOMAIN}/{number:03}", grade=grade, arm=arm))
    assert set(numbers(sample(database).edge)) == {3, 49}


def test_what_runs_short_is_made_up_by_the_rest(database: Database) -> None:
    fill(database, seen=0, unseen=60)
    first = sample(database)
    assert (numbers(first.current), first.history, first.edge) == (list(range(40)), (), ())


def test_when_nothing_is_unseen_history_fills_up(database: Database) -> None:
    fill(database, seen=60, unseen=0, rare=10)
    found = sample(database)
    assert (len(found.current), len(found.history), len(found.edge)) == (0, 36, 4)


def test_no_task_is_taken_twice_and_the_seed_repeats(database: Database) -> None:
    fill(database, seen=60, unseen=10, rare=10)
    found = sample(database, seed=5)
    taken = found.current + found.history + found.edge
    assert len(taken) == len(set(taken)) == 40
    assert sample(database, seed=5) == found
    assert sample(database, seed=6).history != found.history


def test_without_tasks_there_is_nothing(database: Database) -> None:
    assert sample(database) == Sample((), (), ())
