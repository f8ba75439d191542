"""The hit list of a task type, counted by hand."""

from pathlib import Path

import pytest

from core.db import Database, open_database
from core.views.hits import hit_list, task_types
from tests.learning.rows import DOMAIN, a_round, a_rule, a_use, an_episode


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add_all([a_round(1), a_round(2), a_rule("good"), a_rule("rare")])
        session.flush()
        session.add_all(
            [
                an_episode("e1", round_number=2),
                an_episode("e2", round_number=2, grade="fail"),
                an_episode("e3", round_number=2),
                an_episode("without", round_number=2, library_left_out=True),
                an_episode("other", round_number=2, task_type="names"),
                an_episode("old", round_number=1),
                an_episode("tested", round_number=2, arm="after", split="held_out"),
            ]
        )
        session.flush()
        session.add_all(a_use(f"e{n}", "good", score=score) for n, score in ((1, 0.9), (2, 0.5), (3, 0.4)))
        session.add(a_use("e1", "rare", disposition="trimmed"))
        session.add(a_use("e2", "rare", disposition="left_out"))
        session.add_all(a_use(each, "rare") for each in ("other", "old", "tested"))
    return opened


def test_hits_are_counted_by_what_became_of_them(database: Database) -> None:
    with database.read() as session:
        found = hit_list(session, DOMAIN, "queues", [2])
    assert found.prompts == 3
    good, rare = found.hits
    assert (good.rule_id, good.retrieved, good.served, good.left_out, good.trimmed) == ("good", 3, 3, 0, 0)
    assert good.score == pytest.approx(0.6)
    assert (good.passed.value, good.passed.n) == (pytest.approx(2 / 3), 3)
    assert (rare.rule_id, rare.retrieved, rare.served, rare.left_out, rare.trimmed) == ("rare", 2, 0, 1, 1)
    assert (rare.passed.value, rare.passed.n) == (None, 0)


def test_types_are_those_of_training(database: Database) -> None:
    with database.read() as session:
        assert task_types(session, DOMAIN) == ["names", "queues"]
        assert hit_list(session, DOMAIN, "names", [1]).hits == ()
