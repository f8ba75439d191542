"""Counting what rules did, once per episode and rule (design section 5)."""

from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core.db import Database, open_database
from core.learning.credit import Baseline, baselines, credit_episodes, mark_retrieved
from core.tables import Rule, RuleUse
from tests.learning.rows import DOMAIN, a_round, a_rule, a_use, an_episode


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add_all([a_rule("r"), a_rule("s"), a_round(1), a_round(2)])
    return opened


def lived(database: Database, episode_id: str, *uses: tuple[str, str, str], **columns: Any) -> None:
    """Store an episode with uses of rules: rule, disposition, compliance."""
    with database.write() as session:
        session.add(an_episode(episode_id, **columns))
        session.flush()
        for rule_id, disposition, compliance in uses:
            session.add(a_use(episode_id, rule_id, disposition=disposition, compliance=compliance))


def credited(database: Database) -> int:
    with database.write() as session:
        return credit_episodes(session, DOMAIN)


def figures(database: Database, rule_id: str = "r") -> tuple[int, int, int]:
    with database.read() as session:
        rule = session.get_one(Rule, rule_id)
        return rule.n_used, rule.n_success, rule.verified


SERVED = ("r", "served", "complied")


def test_an_episode_is_counted_once_however_often_it_is_asked(database: Database) -> None:
    lived(database, "e1", SERVED)
    assert [credited(database) for _ in range(3)] == [1, 0, 0]
    assert figures(database) == (1, 1, 1)
    lived(database, "e2", SERVED)
    assert credited(database) == 1
    assert figures(database) == (2, 2, 2)


def test_what_was_counted_in_a_transaction_that_failed_is_counted_again(database: Database) -> None:
    lived(database, "e1", SERVED)
    with pytest.raises(RuntimeError), database.write() as session:
        credit_episodes(session, DOMAIN)
        raise RuntimeError
    assert figures(database) == (0, 0, 0)
    assert credited(database) == 1
    assert figures(database) == (1, 1, 1)


@pytest.mark.parametrize(
    ("disposition", "compliance", "grade", "counted"),
    [
        ("served", "complied", "pass", (1, 1, 1)),
        ("served", "complied", "marginal", (1, 0, 0)),
        ("served", "complied", "fail", (1, 0, 0)),
        ("served", "violated", "pass", (1, 1, 0)),
        ("served", "not_applicable", "pass", (1, 1, 0)),
        ("served", "unjudged", "pass", (1, 1, 0)),
        ("left_out", "complied", "pass", (0, 0, 0)),
        ("trimmed", "complied", "pass", (0, 0, 0)),
    ],
)
def test_only_served_rules_count_and_only_followed_ones_are_verified(
    database: Database, disposition: str, compliance: str, grade: str, counted: tuple[int, int, int]
) -> None:
    lived(database, "e1", ("r", disposition, compliance), grade=grade)
    credited(database)
    assert figures(database) == counted
    with database.read() as session:
        assert session.exec(select(RuleUse.verified)).one() is (counted[2] == 1)


def test_verified_successes_are_of_different_episodes(database: Database) -> None:
    for number in range(3):
        lived(database, f"e{number}", SERVED, ("s", "served", "violated"))
    credited(database)
    assert figures(database) == (3, 3, 3)
    assert figures(database, "s") == (3, 3, 0)


@pytest.mark.parametrize(
    "columns",
    [{"arm": "after"}, {"arm": "empty"}, {"arm": "random"}, {"environment": "another"}],
)
def test_evaluations_and_other_worlds_are_not_counted(database: Database, columns: dict[str, Any]) -> None:
    lived(database, "e1", SERVED, **columns)
    assert credited(database) == 0
    assert figures(database) == (0, 0, 0)


def test_outside_episodes_are_counted(database: Database) -> None:
    lived(database, "e1", SERVED, arm="external")
    assert credited(database) == 1
    assert figures(database) == (1, 1, 1)


def test_an_episode_that_a_failing_call_ended_proves_nothing(database: Database) -> None:
    lived(database, "e1", SERVED, status="failed", grade="fail", reward=0.0)
    lived(database, "e2", SERVED)
    assert credited(database) == 2
    assert figures(database) == (1, 1, 1)


def test_avg_delta_is_the_mean_distance_from_the_types_baseline(database: Database) -> None:
    # Without rules: queues reach 0.2 on average, caches 0.8.
    for number in range(5):
        lived(database, f"q{number}", task_type="queues", grade="fail", reward=0.2)
        lived(database, f"c{number}", task_type="caches", reward=0.8)
    lived(database, "a", SERVED, task_type="queues", reward=1.0)  # + 0.8
    lived(database, "b", SERVED, task_type="caches", reward=1.0)  # + 0.2
    lived(database, "c", SERVED, task_type="caches", grade="fail", reward=0.1)  # - 0.7
    credited(database)
    with database.read() as session:
        assert session.get_one(Rule, "r").avg_delta == pytest.approx((0.8 + 0.2 - 0.7) / 3)


def test_a_baseline_is_of_episodes_without_rules_if_there_are_five(database: Database) -> None:
    for number in range(5):
        lived(database, f"q{number}", ("r", "left_out", "unjudged"), task_type="queues", grade="fail", reward=0.0)
        lived(database, f"w{number}", SERVED, task_type="queues")
    for number in range(4):
        lived(database, f"c{number}", task_type="caches", grade="fail", reward=0.0)
    lived(database, "c4", SERVED, task_type="caches")
    lived(database, "x", task_type="caches", status="failed", grade="fail", reward=0.0)
    with database.read() as session:
        assert baselines(session, DOMAIN) == {"queues": Baseline(0.0, 0, 5), "caches": Baseline(0.2, 1, 5)}
        assert baselines(session, "another") == {}


def test_a_retrieved_rule_remembers_the_round_served_or_not(database: Database) -> None:
    lived(database, "e1", ("r", "left_out", "unjudged"), round_number=2)
    lived(database, "e2", ("s", "served", "unjudged"), round_number=2, arm="after")
    with database.write() as session:
        mark_retrieved(session, 2)
    with database.read() as session:
        assert session.get_one(Rule, "r").last_retrieved_round == 2
        assert session.get_one(Rule, "s").last_retrieved_round is None, "evaluations do not count"


def test_a_use_from_before_a_merge_counts_for_the_rule_and_for_what_it_is_part_of_now(database: Database) -> None:
    with database.write() as session:
        session.add_all([a_rule("rs", parents=["r", "s"]), a_rule("wide", parents=["rs"])])
        session.flush()
        for part, whole in (("r", "rs"), ("s", "rs"), ("rs", "wide")):
            session.get_one(Rule, part).merged_into = whole
    both = (SERVED, ("s", "served", "complied"))
    lived(database, "e1", *both)
    lived(database, "e2", SERVED, ("s", "served", "violated"), grade="fail", reward=0.25)
    lived(database, "e3", ("s", "left_out", "unjudged"))
    lived(database, "e4", ("rs", "served", "complied"))
    assert [credited(database) for _ in range(2)] == [4, 0]
    assert figures(database, "r") == figures(database, "s") == (2, 1, 1)
    assert figures(database, "rs") == (5, 3, 2), "uses add up; an episode is one verified success"
    assert figures(database, "wide") == (5, 3, 2)
    with database.read() as session:
        deltas = {name: session.get_one(Rule, name).avg_delta for name in ("r", "rs")}
    base = (1.0 + 0.25 + 1.0 + 1.0) / 4
    assert deltas["r"] == pytest.approx((1.0 + 0.25) / 2 - base)
    assert deltas["rs"] == pytest.approx((1.0 + 0.25 + 1.0 + 0.25 + 1.0) / 5 - base)


def test_a_use_counts_for_the_rule_alone_once_its_merge_was_taken_back(database: Database) -> None:
    with database.write() as session:
        session.add(a_rule("rs", parents=["r", "s"], state="archived"))
    lived(database, "e1", SERVED)
    credited(database)
    assert (figures(database), figures(database, "rs")) == ((1, 1, 1), (0, 0, 0))
