"""A good rule and a bad one in the same round: the gate keeps the one and drops the other."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlmodel import col, select

from core.db import Database, open_database
from core.learning.second_try import changes_to_blame
from core.learning.service import run_rounds
from core.learning.verdict import Outcome
from core.rules.library import SYSTEM, Change, create_rule
from core.settings import load_settings
from core.tables import Episode, Round, Rule, RuleEvent
from core.tables.rules import RuleContent
from tests.learning.rows import NOW, a_round, a_rule, a_use, an_episode
from tests.support.worlds import Cues

GOOD = {"condition": "A cold wind blows through the curtain", "action": "Use open_red_door: it leads out of the hall."}
BAD = {"condition": "A church bell rings behind the wall", "action": "Use open_red_door: it leads out of the hall."}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def found_in_round_1(database: Database, rules: dict[str, dict[str, str]]) -> None:
    """Leave a round before its gate, with rules that it has found."""
    change = Change(SYSTEM, lambda: NOW, round_number=1)
    with database.write() as session:
        session.add(a_round(1, environment=Cues.name, status="running", phase="settled"))
        session.flush()
        for rule_id, text in rules.items():
            create_rule(session, RuleContent(name=rule_id, domain=Cues.name, **text), change, id=rule_id,
                        origin="reflection")  # fmt: skip


def after_its_gate(database: Database) -> Round:
    settings = load_settings(
        environment={"name": "tests.support.worlds:Cues"},
        gate={"tasks": 36},
        simulation={"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
    )
    run_rounds(settings, database, rounds=1)
    with database.read() as session:
        return session.get_one(Round, 1)


def states(database: Database) -> dict[str, str]:
    with database.read() as session:
        return dict(session.exec(select(Rule.id, Rule.state)).all())


def test_the_second_try_keeps_the_good_rule_and_drops_the_bad_one(database: Database) -> None:
    found_in_round_1(database, {"good": GOOD, "bad": BAD})
    row = after_its_gate(database)

    assert states(database) == {"good": "candidate", "bad": "archived"}
    assert row.status == "committed"
    assert row.verdict["dropped"] == ["bad"]
    assert row.verdict["arm"] == row.gain["arm"] == "second"
    assert row.verdict["value"] > 0
    with database.read() as session:
        tested = session.exec(select(Episode).where(col(Episode.arm) == "after")).all()
        events = session.exec(select(RuleEvent).where(RuleEvent.kind == "gate")).all()
    without = sum(e.reward for e in arm(database, "before")) / len(tested)
    assert sum(e.reward for e in tested) / len(tested) <= without, "both together made it worse"
    assert [(event.rule_id, event.to_state) for event in events] == [("bad", "archived")]


def test_a_good_rule_alone_needs_no_second_try(database: Database) -> None:
    found_in_round_1(database, {"good": GOOD})
    row = after_its_gate(database)
    assert (row.status, row.verdict["arm"], row.verdict["dropped"]) == ("committed", "after", [])
    assert not arm(database, "second")


def test_a_bad_rule_alone_is_rolled_back_without_a_second_try(database: Database) -> None:
    found_in_round_1(database, {"bad": BAD})
    row = after_its_gate(database)
    assert (row.status, row.verdict["arm"], row.gain["arm"]) == ("rolled_back", "before", "before")
    assert states(database) == {"bad": "archived"}
    assert not arm(database, "second")


def arm(database: Database, name: str) -> list[Episode]:
    with database.read() as session:
        return list(session.exec(select(Episode).where(Episode.arm == name)).all())


def blamed(database: Database, followed: Iterable[str]) -> set[str]:
    """Blame for a task that got worse, where some rules were followed, among a merge, its parents and a stranger."""
    with database.write() as session:
        session.add(a_round(1))
        session.add_all([a_rule("parent_1"), a_rule("parent_2"), a_rule("stranger"), a_rule("unchanged")])
        session.add(a_rule("merged", parents=["parent_1", "parent_2", "long_gone"]))
        session.add_all([an_episode(f"e_{a}", task_id="desk/t", round_number=1, arm=a) for a in ("before", "after")])
        session.flush()
        for rule_id in ("parent_1", "parent_2", "stranger", "unchanged", "merged"):
            where = "e_before" if rule_id.startswith("parent") else "e_after"
            judged = "complied" if rule_id in followed else "violated"
            session.add(a_use(where, rule_id, compliance=judged))
    worse = [Outcome("desk/t", "queues", reward, reward > 0.5) for reward in (1.0, 0.0)]
    undone = {rule_id: {"name": rule_id} for rule_id in ("parent_1", "parent_2", "merged", "stranger")}
    with database.read() as session:
        found = changes_to_blame(session, 1, worse[:1], worse[1:], undone)
    assert all(content == undone[rule_id] for rule_id, content in found.items())
    return set(found)


@pytest.mark.parametrize(
    ("followed", "to_blame"),
    [
        (["merged"], {"merged", "parent_1", "parent_2"}),
        (["parent_2"], {"merged", "parent_1", "parent_2"}),
        (["stranger"], {"stranger"}),
        (["unchanged"], set()),
        ([], set()),
    ],
)
def test_relatives_by_merge_stand_or_fall_together(database: Database, followed: list[str], to_blame: set[str]) -> None:
    assert blamed(database, followed) == to_blame
