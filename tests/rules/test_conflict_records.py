"""The people's queue of conflicts: each pair once, and only while both rules are in use."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import Session, select

from core.db import Database, open_database
from core.rules.conflict_records import close_gone_conflicts, live_conflicts, record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import Change, create_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.tables import Conflict, Rule
from core.tables.rules import RuleContent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CHANGE = Change("system", lambda: NOW, round_number=None)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def make_rule(session: Session, rule_id: str, condition: str = "a queue grows") -> Rule:
    content = RuleContent(name=rule_id, condition=condition, action="drain it")
    return create_rule(session, content, CHANGE, origin="human", id=rule_id)


def finding(other_id: str) -> ConflictFinding:
    return ConflictFinding(other_id, "lexicon", "“{new}” against “{other}”", {"new": "x", "other": "y"}, hard=True)


def test_a_pair_is_queued_once_whichever_side_finds_it(database: Database) -> None:
    with database.write() as session:
        a, b = make_rule(session, "a"), make_rule(session, "b", "a queue grows after a deploy of the cache")
        record_conflicts(session, b, [finding("a")], CHANGE)
        record_conflicts(session, a, [finding("b")], CHANGE)
        (conflict,) = session.exec(select(Conflict)).all()
        assert (conflict.rule_a, conflict.rule_b, conflict.status) == ("a", "b", "open")
        assert conflict.evidence.format(**conflict.evidence_values) == "“x” against “y”"
        assert conflict.suggestion == "b", "the more specific condition"


@pytest.mark.parametrize("status", ["resolved", "dismissed"])
def test_a_settled_pair_is_not_brought_up_again(database: Database, status: str) -> None:
    with database.write() as session:
        a = make_rule(session, "a")
        make_rule(session, "b")
        record_conflicts(session, a, [finding("b")], CHANGE)
        session.exec(select(Conflict)).one().status = status
        record_conflicts(session, a, [finding("b")], CHANGE)
        assert session.exec(select(Conflict)).one().status == status
        assert live_conflicts(session) == []


def test_a_conflict_sleeps_while_one_of_its_rules_is_archived(database: Database) -> None:
    with database.write() as session:
        a, b = make_rule(session, "a"), make_rule(session, "b")
        record_conflicts(session, a, [finding("b")], CHANGE)
        assert [conflict.rule_a for conflict in live_conflicts(session)] == ["a"]
        move_rule(session, b, State.ARCHIVED, Cause.PERSON, CHANGE)
        assert live_conflicts(session) == []
        move_rule(session, b, State.CANDIDATE, Cause.PERSON, CHANGE)
        assert [conflict.rule_b for conflict in live_conflicts(session)] == ["b"]


def test_an_edit_that_reconciles_two_rules_closes_their_conflict_and_leaves_others(database: Database) -> None:
    with database.write() as session:
        a = make_rule(session, "a")
        for other in ("b", "c"):
            make_rule(session, other)
        record_conflicts(session, a, [finding("b"), finding("c")], CHANGE)
        close_gone_conflicts(session, a, [finding("c")], CHANGE)
        assert [conflict.rule_b for conflict in live_conflicts(session)] == ["c"]


def test_a_pair_that_an_edit_reconciled_is_queued_again_when_it_contradicts_again(database: Database) -> None:
    with database.write() as session:
        a = make_rule(session, "a")
        make_rule(session, "b")
        record_conflicts(session, a, [finding("b")], CHANGE)
        close_gone_conflicts(session, a, [], CHANGE)
        assert live_conflicts(session) == []
        record_conflicts(session, a, [finding("b")], CHANGE)
        (conflict,) = live_conflicts(session)
        assert (conflict.resolution, conflict.resolved_by, conflict.resolved_at) == ("", None, None)
