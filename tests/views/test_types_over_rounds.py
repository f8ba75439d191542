"""Types that fail or swing over rounds, and what only looks like it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.settings import load_settings
from core.tables import RuleEvent
from core.views.diagnostics import conflict_variance, failing_type
from core.views.diagnostics.window import look
from tests.learning.rows import DOMAIN, NOW, a_round, a_rule, an_episode

SETTINGS = load_settings(_env_file=None)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def lived(database: Database, passed: Sequence[int], *, tasks: int, rule_of_round: int | None = None) -> None:
    """Write rounds of nine training episodes, of which so many pass, on so many tasks; and one rule."""
    with database.write() as session:
        session.add_all(a_round(number) for number in range(1, len(passed) + 1))
        session.add(a_rule("r", state="active", evidence=["e1_0"], created_round=rule_of_round))
        session.flush()
        session.add(
            RuleEvent(
                rule_id="r", kind="created", from_state=None, to_state="active", actor="system",
                round_number=rule_of_round, after={}, created_at=NOW,
            )
        )  # fmt: skip
        for number, won in enumerate(passed, 1):
            for place in range(9):
                grade = "pass" if place < won else "fail"
                task = f"{DOMAIN}/{(9 * number + place) % tasks}"
                session.add(an_episode(f"e{number}_{place}", round_number=number, grade=grade, task_id=task))


@pytest.mark.parametrize(
    ("passed", "rule_of_round", "swings"),
    [
        ((1, 9, 1), None, True),
        ((9, 1, 9), None, True),
        ((1, 9, 1), 1, False),  # the first rules brought the rise
        ((1, 9, 1, 9), 1, True),
        ((1, 9, 9), None, False),
    ],
)
def test_the_first_rise_from_an_empty_library_is_no_swing(
    database: Database, passed: tuple[int, ...], rule_of_round: int | None, swings: bool
) -> None:
    lived(database, passed, tasks=9, rule_of_round=rule_of_round)
    with database.read() as session:
        assert bool(conflict_variance.detect(look(session, SETTINGS, DOMAIN))) == swings


@pytest.mark.parametrize(("tasks", "fails"), [(5, False), (6, True), (9, True)])
def test_a_few_tasks_that_fail_again_and_again_are_no_failing_type(database: Database, tasks: int, fails: bool) -> None:
    lived(database, (0, 1, 0), tasks=tasks)
    with database.read() as session:
        found = failing_type.detect(look(session, SETTINGS, DOMAIN))
    assert [one.subject for one in found] == (["queues"] if fails else [])
