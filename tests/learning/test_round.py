"""Rounds that cannot be tested: what they find waits for people, and nothing goes live by itself."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from sqlmodel import SQLModel, col, select

from core.db import Database, open_database
from core.episodes.importing import import_recorded
from core.learning.contrast import make_batches
from core.learning.service import run_rounds
from core.settings import Settings, UtilitySettings, load_settings
from core.tables import Episode, LedgerEntry, Reflection, Round, Rule, RuleEvent, RuleUse
from tests.support.recordings import airline_file, line, said, user, write_lines

NOW = datetime(2026, 3, 1, tzinfo=UTC)
Row = TypeVar("Row", bound=SQLModel)


def settings_for(environment: str) -> Settings:
    return load_settings(
        environment={"name": environment},
        lifecycle={"approval": "auto", "verified_successes": 1},
        round={"tasks": 6},
        agent={"rollouts_per_task": 2},
        simulation={"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
    )


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def rows(database: Database, table: type[Row]) -> list[Row]:
    with database.read() as session:
        return list(session.exec(select(table)).all())


@pytest.mark.parametrize("environment", ["tests.support.worlds:Doors", "tests.support.worlds:FewHeldOutDoors"])
def test_without_enough_held_out_tasks_nothing_goes_live(database: Database, environment: str) -> None:
    """A candidate with all it takes is put into the library first: only the missing test holds it back."""
    domain = "doors" if environment.endswith(":Doors") else "few_doors"
    with database.write() as session:
        session.add(
            Rule(
                id="rule_ready", name="Follow the draught", origin="reflection", domain=domain, state="candidate",
                condition="A draught comes from one side of the hall", verified=9,
                action="Use open_left_door where the draught comes from the left.", created_at=NOW,
            )
        )  # fmt: skip
    run_rounds(settings_for(environment), database, rounds=2)

    assert [(row.status, row.phase) for row in rows(database, Round)] == [("untested", "finished")] * 2
    assert {rule.state for rule in rows(database, Rule)} <= {"candidate", "archived"}
    assert "rule_ready" in {rule.id for rule in rows(database, Rule) if rule.state == "candidate"}
    assert not [event for event in rows(database, RuleEvent) if event.to_state == "active"]
    calls = rows(database, LedgerEntry)
    assert {call.agent for call in calls if call.episode_id} == {"rulewright"}
    assert {call.agent for call in calls if not call.episode_id} == {""}


def test_what_rules_say_is_looked_for_in_episodes_without_them_too_but_teaches_nothing(database: Database) -> None:
    with database.write() as session:
        session.add(
            Rule(
                id="rule_left", name="Left", origin="reflection", domain="doors", state="candidate",
                condition="A draught comes from one side", action="Call open_left_door first.", created_at=NOW,
            )
        )  # fmt: skip
    settings = settings_for("tests.support.worlds:Doors")
    run_rounds(settings.model_copy(update={"utility": UtilitySettings(library_holdout=0.5)}), database, rounds=1)

    uses = [use for use in rows(database, RuleUse) if use.rule_id == "rule_left"]
    took_left = {
        one.id: "open_left_door" in json.dumps(one.messages[1:])
        for one in rows(database, Episode)
        if one.arm == "learn"
    }
    for disposition in ("served", "left_out"):
        judged = [use for use in uses if use.disposition == disposition and use.episode_id in took_left]
        assert {use.judged_by for use in judged} == {"check"}
        assert [use.compliance == "complied" for use in judged] == [took_left[use.episode_id] for use in judged]
    assert not any(use.verified for use in uses if use.disposition == "left_out")
    (rule,) = [rule for rule in rows(database, Rule) if rule.id == "rule_left"]
    assert rule.n_used == sum(use.disposition == "served" and use.episode_id in took_left for use in uses)


def test_what_a_person_approved_goes_live_all_the_same(database: Database) -> None:
    with database.write() as session:
        session.add(
            Rule(
                id="rule_approved", name="Follow the draught", origin="reflection", domain="doors",
                state="candidate", condition="A draught comes from one side of the hall", verified=9,
                action="Use open_left_door where the draught comes from the left.", created_at=NOW,
                approved_by="ada",
            )
        )  # fmt: skip
    run_rounds(settings_for("tests.support.worlds:Doors"), database, rounds=1)
    assert {rule.state for rule in rows(database, Rule) if rule.id == "rule_approved"} == {"active"}


def test_recorded_episodes_of_one_kind_leave_a_note_and_cost_nothing(database: Database, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "desk.jsonl",
        *[line(id=f"e{n}", task_id=f"t{n}", reward=1.0, messages=[user("Hello"), said("Hi")]) for n in range(4)],
    )
    settings = settings_for("recorded:desk")
    import_recorded(database, path, settings=settings, clock=lambda: NOW)
    run_rounds(settings, database, rounds=1)

    (row,) = rows(database, Round)
    assert row.status == "untested"
    assert row.notes == [
        {
            "template": "Nothing to contrast: {passing} passing and {failing} failing episodes among {total} new ones",
            "values": {"passing": 4, "failing": 0, "total": 4},
        }
    ]
    assert rows(database, Reflection) == []


def test_the_real_recordings_leave_candidates_whose_evidence_can_be_opened(database: Database) -> None:
    settings = settings_for("recorded:airline")
    import_recorded(database, airline_file(), settings=settings, clock=lambda: NOW)
    episodes = rows(database, Episode)
    grades: dict[str, set[str]] = {}
    for episode in episodes:
        grades.setdefault(episode.task_id, set()).add(episode.grade)
    mixed = {task for task, seen in grades.items() if {"pass", "fail"} <= seen}
    assert len(mixed) == 15

    run_rounds(settings, database, rounds=1)

    (row,) = rows(database, Round)
    assert row.status == "untested"
    with database.read() as session:
        reflections = session.exec(select(Reflection).order_by(col(Reflection.batch))).all()
        rules = session.exec(select(Rule)).all()
    by_id = {episode.id: episode for episode in episodes}
    first = [by_id[key].task_id for reflection in reflections[:3] for key in reflection.passing]
    assert set(first) == mixed, "the tasks with both outcomes come first"
    assert len(make_batches(episodes, settings.round)) == len(reflections)
    assert rules, "reflection over the recordings proposes something"
    assert any(rule.state == "candidate" for rule in rules)
    assert {rule.state for rule in rules} <= {"candidate", "archived"}, "archived: merged into another one"
    for rule in rules:
        assert rule.evidence
        assert set(rule.evidence) <= by_id.keys()
