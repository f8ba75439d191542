"""A rule in an open conflict does not become live by any way back, and a solution that is gone opens it again."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.curation import SeenConflict
from core.db import Database, open_database
from core.errors import UserError
from core.learning.harm import Record
from core.learning.rollback import contents_without_round, roll_back_round
from core.learning.transitions import apply_transitions, gather_evidence
from core.rules.comebacks import settle_returned
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, last_event_id, move_rule, rewind
from core.rules.lifecycle import Cause, State
from core.settings import LifecycleSettings, Settings
from core.tables import Conflict, Round
from core.tables.rules import RuleContent
from tests.curation.test_undo import last_entry
from tests.support.embedding import WordEmbedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
FINE = Record(25, 5, 40, 20)


def by_loop(round_number: int = 1) -> Change:
    return Change(SYSTEM, lambda: NOW, round_number=round_number)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        for number in (1, 2):
            session.add(
                Round(number=number, environment="desk", seed=1, trigger="schedule", status="committed", started_at=NOW)
            )
    yield opened
    opened.close()


def make(database: Database, rule_id: str, state: str = "active", **columns: Any) -> None:
    draft = RuleContent(
        name=rule_id, condition="a remediation is about to run", action=f"run it as {rule_id} says", domain="desk"
    )
    with database.write() as session:
        rule = create_rule(session, draft, by_loop(), origin="reflection", id=rule_id, **columns)
        if state != "candidate":
            move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, by_loop())
        if state == "probation":
            move_rule(session, rule, State.PROBATION, Cause.TRIMMED, by_loop())


def oppose(database: Database, a: str = "a", b: str = "b") -> None:
    with database.write() as session:
        finding = ConflictFinding(b, "model", "because", {}, hard=True)
        record_conflicts(session, get_rule(session, a), [finding], by_loop())


def states(database: Database, names: str = "ab") -> list[str]:
    with database.read() as session:
        return [get_rule(session, name).state for name in names]


def version(database: Database, rule_id: str) -> int:
    with database.read() as session:
        return get_rule(session, rule_id).version


def conflict(database: Database) -> Conflict:
    with database.read() as session:
        return session.exec(select(Conflict)).one()


def seen(database: Database) -> SeenConflict:
    return SeenConflict(conflict(database).id, {name: version(database, name) for name in "ab"})


def archive(database: Database, rule_id: str) -> int:
    curation.archive(database, rule_id=rule_id, version=version(database, rule_id), reason="old", **WHO)
    return last_entry(database).id or 0


def activate(database: Database, rule_id: str) -> None:
    seen_version = version(database, rule_id)
    curation.approve(database, rule_id=rule_id, version=seen_version, settings=SETTINGS, activate=True, **WHO)


def restore(database: Database, rule_id: str) -> None:
    curation.restore(database, rule_id=rule_id, version=version(database, rule_id), reason="again", **WHO)


def test_undoing_an_archiving_brings_two_live_rules_back_as_they_were(database: Database) -> None:
    make(database, "a")
    make(database, "b")
    oppose(database)
    first, second = archive(database, "a"), archive(database, "b")
    for entry in (second, first):
        curation.undo(database, entry_id=entry, **WHO)
    assert states(database) == ["active", "active"]


def test_undoing_an_archiving_is_refused_when_the_other_rule_went_live_meanwhile(database: Database) -> None:
    make(database, "a")
    make(database, "b", "candidate")
    oppose(database)
    entry = archive(database, "a")
    activate(database, "b")
    with pytest.raises(UserError, match="contradicts “b”, which went live meanwhile"):
        curation.undo(database, entry_id=entry, **WHO)
    assert states(database) == ["archived", "active"]
    restore(database, "a")
    with pytest.raises(UserError, match="contradicts “b”"):
        activate(database, "a")
    assert states(database) == ["candidate", "active"]


def test_a_restored_loser_is_a_candidate_and_its_conflict_is_open_again(database: Database) -> None:
    make(database, "a")
    make(database, "b", "candidate", verified=9)
    oppose(database)
    curation.keep_rule(database, seen=seen(database), keep="a", reason="", **WHO)
    assert states(database) == ["active", "archived"]
    restore(database, "b")
    assert (conflict(database).status, conflict(database).resolution) == ("open", "")
    with pytest.raises(UserError, match="contradicts “a”"):
        activate(database, "b")
    curation.approve(database, rule_id="b", version=version(database, "b"), settings=SETTINGS, **WHO)
    assert states(database) == ["active", "candidate"]


@pytest.mark.parametrize(("winner_lives", "becomes"), [(True, "probation"), (False, "active")])
def test_a_loser_recovers_only_when_its_winner_is_gone(database: Database, winner_lives: bool, becomes: str) -> None:
    make(database, "a")
    make(database, "b")
    oppose(database)
    curation.keep_rule(database, seen=seen(database), keep="a", reason="", **WHO)
    if not winner_lives:
        archive(database, "a")
    with database.write() as session:
        evidence = gather_evidence(session, "desk", 2, {"b": FINE})
        apply_transitions(session, "desk", evidence, LifecycleSettings(), by_loop(2))
    assert states(database, "b") == [becomes]


def test_a_winner_that_returns_beside_its_recovered_loser_meets_an_open_conflict(database: Database) -> None:
    make(database, "a")
    make(database, "b")
    oppose(database)
    curation.keep_rule(database, seen=seen(database), keep="a", reason="", **WHO)
    archive(database, "a")
    with database.write() as session:
        move_rule(session, get_rule(session, "b"), State.ACTIVE, Cause.RECOVERED, by_loop(2))
    restore(database, "a")
    assert (states(database), conflict(database).status) == (["candidate", "active"], "open")


rivals = pytest.mark.parametrize(
    ("rival", "becomes"), [("active", ["active", "active"]), ("candidate", ["candidate", "active"])]
)


def test_a_rule_on_probation_in_an_open_conflict_does_not_recover(database: Database) -> None:
    make(database, "a", "probation")
    make(database, "b")
    oppose(database)
    with database.write() as session:
        evidence = gather_evidence(session, "desk", 2, {"a": FINE})
        apply_transitions(session, "desk", evidence, LifecycleSettings(), by_loop(2))
    assert states(database) == ["probation", "active"]


def merged(database: Database, *parents: str, round_number: int) -> None:
    with database.write() as session:
        draft = RuleContent(name="m", condition="any remediation runs", action="run it", domain="desk")
        create_rule(session, draft, by_loop(round_number), origin="merge", id="m", parents=list(parents))
        for parent in parents:
            rule = get_rule(session, parent)
            move_rule(session, rule, State.ARCHIVED, Cause.MERGED, by_loop(round_number), merged_into="m")


def verify(database: Database, rule_id: str, round_number: int) -> None:
    with database.write() as session:
        move_rule(session, get_rule(session, rule_id), State.ACTIVE, Cause.VERIFIED, by_loop(round_number))


@pytest.mark.parametrize(
    ("rival", "becomes"), [("active", ["active", "active"]), ("candidate", ["candidate", "active"])]
)
def test_a_rolled_back_round_brings_no_rule_live_against_what_it_let_in(
    database: Database, rival: str, becomes: list[str]
) -> None:
    make(database, "a")
    make(database, "b", rival)
    oppose(database)
    merged(database, "a", round_number=2)
    if rival == "candidate":
        verify(database, "b", 2)
    with database.write() as session:
        roll_back_round(session, contents_without_round(session, 2), by_loop(2))
    assert states(database) == becomes
    assert conflict(database).status == "open"


@pytest.mark.parametrize(
    ("rival", "becomes"), [("active", ["active", "active"]), ("candidate", ["candidate", "active"])]
)
def test_a_merge_taken_apart_brings_no_parent_live_against_what_went_live_since(
    database: Database, rival: str, becomes: list[str]
) -> None:
    make(database, "a")
    make(database, "b", rival)
    oppose(database)
    merged(database, "a", round_number=2)
    if rival == "candidate":
        activate(database, "b")
    curation.unmerge(database, rule_id="m", version=1, reason="differ", **WHO)
    assert states(database) == becomes


def test_a_rewind_to_before_a_decision_opens_the_conflict_again(database: Database) -> None:
    make(database, "a")
    make(database, "b")
    oppose(database)
    with database.read() as session:
        before = last_event_id(session)
    curation.keep_rule(database, seen=seen(database), keep="a", reason="", **WHO)
    with database.write() as session:
        rewind(session, before, Change("ada", lambda: NOW), "desk")
        settle_returned(session, ["a", "b"], Cause.REWOUND, Change("ada", lambda: NOW))
    assert (states(database), conflict(database).status) == (["active", "active"], "open")


def test_texts_that_say_again_what_they_said_contradict_again(database: Database) -> None:
    make(database, "a")
    make(database, "b")
    oppose(database)
    with database.read() as session:
        before = last_event_id(session)
    changes = {"b": {"condition": "the nightly report is late"}}
    curation.narrow(
        database, seen=seen(database), changes=changes, settings=SETTINGS, embedder=WordEmbedder(), reason="", **WHO
    )
    with database.write() as session:
        edit_rule(session, get_rule(session, "a"), {"rationale": "better"}, by_loop(2))
        settle_returned(session, ["a", "b"], Cause.REWOUND, Change("ada", lambda: NOW))
        assert session.exec(select(Conflict)).one().status == "resolved"
        rewind(session, before, Change("ada", lambda: NOW), "desk")
        settle_returned(session, ["a", "b"], Cause.REWOUND, Change("ada", lambda: NOW))
    assert conflict(database).status == "open"
