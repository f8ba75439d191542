"""Rules count as ignored when the agent does no more of them than it does untold."""

from pathlib import Path

import pytest

from core.db import Database, open_database
from core.settings import load_settings
from core.tables import RuleUse
from core.views.diagnostics.ignored_rules import detect
from core.views.diagnostics.trouble import Trouble
from core.views.diagnostics.window import look
from tests.learning.rows import DOMAIN, a_round, a_rule, a_use, an_episode

SETTINGS = load_settings(_env_file=None)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add_all([a_rule("r", state="active"), a_rule("new"), a_round(1)])
    return opened


def lived(database: Database, name: str, followed: int, n: int, *, rule: str = "r", **columns: object) -> None:
    """Write one episode of a task of its own for each judged use; by default with the rule in the prompt."""
    given = {"disposition": "served", "position": 0, "judged_by": "check", "library_left_out": False} | columns
    out = given.pop("library_left_out")
    with database.write() as session:
        for number in range(n):
            episode = an_episode(f"{name}{number}", round_number=1, library_left_out=out)
            session.add(episode)
            session.flush()
            verdict = "complied" if number < followed else "violated"
            session.add(RuleUse(**a_use(episode.id, rule, compliance=verdict).model_dump() | given))


def untold(database: Database, followed: int, n: int) -> None:
    lived(database, "untold", followed, n, disposition="left_out", library_left_out=True)


def found(database: Database) -> list[Trouble]:
    with database.read() as session:
        return detect(look(session, SETTINGS, DOMAIN))


@pytest.mark.parametrize(
    ("told", "anyway", "seen"),
    [
        ((90, 120), (30, 40), True),  # told or not, the agent does three quarters
        ((112, 120), (30, 40), False),  # told, it does nearly all
        ((90, 120), (8, 40), False),  # it does three quarters because it is told
        ((80, 80), (20, 20), False),  # nothing is left that could be ignored
        ((76, 80), (19, 20), False),
        ((60, 80), (6, 8), False),  # too few without rules to tell
        ((30, 80), (0, 0), True),  # clearly fewer than half, whatever is done untold
        ((4, 15), (3, 20), False),  # too few told
    ],
)
def test_what_is_done_is_compared_with_what_is_done_untold(
    database: Database, told: tuple[int, int], anyway: tuple[int, int], seen: bool
) -> None:
    lived(database, "told", *told)
    untold(database, *anyway)
    assert bool(found(database)) == seen


def test_the_evidence_is_the_two_shares_and_their_difference(database: Database) -> None:
    lived(database, "told", 56, 70)
    untold(database, 48, 60)
    (trouble,) = found(database)
    told, anyway, gained, *_ = (fact.figure for fact in trouble.facts)
    assert (told.value, told.n, anyway.value, anyway.n) == (0.8, 70, 0.8, 60)
    assert gained.value == 0.0
    assert gained.low is not None and gained.low < 0.0
    assert trouble.values == {"share": 80, "untold": 80}
    assert trouble.remedy.changes == {"retrieval.top_k": 6}


def test_candidates_single_holdouts_and_the_models_verdicts_do_not_count_in_the_comparison(database: Database) -> None:
    lived(database, "told", 112, 120)
    untold(database, 30, 40)
    lived(database, "unproven", 0, 80, rule="new")
    lived(database, "single", 60, 60, disposition="left_out")
    lived(database, "asked", 0, 80, judged_by="model")
    assert found(database) == []


def test_several_episodes_of_one_task_say_little_more_than_one(database: Database) -> None:
    """What 160 tasks show, four that go one way each do not."""
    lived(database, "told", 90, 120)
    untold(database, 30, 40)
    assert found(database) != []
    with database.write() as session:
        session.connection().exec_driver_sql(
            "UPDATE episode SET task_id = (SELECT compliance FROM rule_use WHERE episode_id = episode.id)"
            " || CASE WHEN rowid % 4 = 0 THEN 'a' ELSE 'b' END"
        )
    assert found(database) == []
