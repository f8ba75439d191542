"""The five ways to settle a conflict: each does what it says, with both rules as they were seen, or nothing."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from core import curation
from core.curation import SeenConflict
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.people.accounts import set_sign_in_needed
from core.rules.conflict_records import live_conflicts, losers, record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.utility import Ucb
from core.settings import RetrievalSettings, Settings, UtilitySettings
from core.tables import AuditEntry, Conflict, Person, Round, Rule
from core.tables.rules import RuleContent
from tests.curation.test_undo import last_entry
from tests.support.embedding import WordEmbedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
BY_LOOP = Change(SYSTEM, lambda: NOW, round_number=1)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW, "reason": "we know"}
SEEN = {"a": 2, "b": 2}
SHORT = "a remediation is about to run"
LONG = "a remediation is about to run on a production database"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Live rules: a asks to verify, b not to; b's condition is the general one, a's the special one."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add(Round(number=1, environment="desk", seed=1, trigger="schedule", started_at=NOW))
        texts = {
            "a": (LONG, "verify the backup of the data before running it"),
            "b": (SHORT, "run it at once and do not verify again"),
        }
        for name, (condition, action) in texts.items():
            draft = RuleContent(name=name, condition=condition, action=action, domain="desk", confidence=0.9)
            counted = {"n_used": 10, "n_success": 7, "avg_delta": 0.2, "verified": 2}
            rule = create_rule(session, draft, BY_LOOP, origin="reflection", id=name, approved_by="eva", **counted)
            move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, BY_LOOP)
        record_conflicts(session, get_rule(session, "a"), [ConflictFinding("b", "model", "e", {}, hard=True)], BY_LOOP)
    yield opened
    opened.close()


def seen(database: Database, **versions: int) -> SeenConflict:
    with database.read() as session:
        (conflict,) = session.exec(select(Conflict)).all()
    return SeenConflict(conflict.id, SEEN | versions)


def narrow(database: Database, changes: dict[str, dict[str, str]], **versions: int) -> None:
    given = {"seen": seen(database, **versions), "settings": SETTINGS, "embedder": WordEmbedder()}
    curation.narrow(database, changes=changes, **given, **WHO)


def merge(database: Database, **content: str) -> str:
    return curation.merge_pair(database, seen=seen(database), content=content, settings=SETTINGS, **WHO)


APART = {"b": {"exclusion": "a production database"}}
ONE_TEXT = {"condition": SHORT, "action": "verify it first on a production database, else run it at once"}
WAYS: dict[str, Callable[[Database, SeenConflict], object]] = {
    "keep": lambda d, s: curation.keep_rule(d, seen=s, keep="a", **WHO),
    "priority": lambda d, s: curation.set_priority(d, seen=s, first="a", **WHO),
    "narrowed": lambda d, s: curation.narrow(
        d, seen=s, changes=APART, settings=SETTINGS, embedder=WordEmbedder(), **WHO
    ),
    "merged": lambda d, s: curation.merge_pair(d, seen=s, content=ONE_TEXT, settings=SETTINGS, **WHO),
    "not_a_conflict": lambda d, s: curation.dismiss_conflict(d, seen=s, **WHO),
}
each_way = pytest.mark.parametrize("way", WAYS)


def everything(database: Database) -> dict[str, Any]:
    with database.read() as session:
        return {
            f"{table.__tablename__} {row.id}": row.model_dump()
            for table in (Rule, Conflict, AuditEntry)
            for row in session.exec(select(table))
        }


def rule_of(database: Database, rule_id: str) -> Rule:
    with database.read() as session:
        return get_rule(session, rule_id)


def conflict_of(database: Database) -> Conflict:
    with database.read() as session:
        return session.exec(select(Conflict)).one()


def library(database: Database) -> LibrarySnapshot:
    with database.read() as session:
        maker = SnapshotMaker(WordEmbedder(), Ucb(UtilitySettings(), 1.2), RetrievalSettings())
        return maker.current(session, "desk")


def served(database: Database, query: str) -> set[str]:
    return {hit.rule.id for hit in library(database).retrieve(query).hits}


@each_way
def test_each_way_settles_and_says_who_when_why_and_where_it_is_recorded(database: Database, way: str) -> None:
    WAYS[way](database, seen(database))
    conflict, entry = conflict_of(database), last_entry(database)
    assert conflict.status == ("dismissed" if way == "not_a_conflict" else "resolved")
    assert conflict.resolution.partition(":")[0] == way
    assert (conflict.resolved_by, conflict.resolved_at, conflict.reason) == ("ada", NOW, "we know")
    assert (conflict.entry_id, entry.action, entry.object_id) == (entry.id, "resolve_conflict", conflict.id)
    assert (entry.detail["way"], entry.detail["reason"]) == (way, "we know")
    with database.read() as session:
        assert live_conflicts(session) == []


@each_way
@pytest.mark.parametrize("changed", ["a", "b"])
def test_a_rule_that_changed_meanwhile_stops_each_way(database: Database, way: str, changed: str) -> None:
    with database.write() as session:
        edit_rule(session, get_rule(session, changed), {"rationale": "new"}, BY_LOOP)
    before = everything(database)
    with pytest.raises(ConcurrentChangeError, match=f"Rule {changed} .*saw version 2, it is now 3"):
        WAYS[way](database, seen(database))
    assert everything(database) == before


@each_way
@pytest.mark.parametrize("first", ["keep", "not_a_conflict"])
def test_a_second_click_is_refused_and_changes_nothing(database: Database, way: str, first: str) -> None:
    at = seen(database)
    WAYS[first](database, at)
    before = everything(database)
    with pytest.raises(UserError, match="takes Open"):
        WAYS[way](database, at)
    assert everything(database) == before


@each_way
def test_a_conflict_with_an_archived_rule_is_not_settled(database: Database, way: str) -> None:
    curation.archive(database, rule_id="b", version=2, **WHO)
    before = everything(database)
    with pytest.raises(UserError, match="nothing to settle"):
        WAYS[way](database, seen(database, b=3))
    assert everything(database) == before


@each_way
@pytest.mark.parametrize("roles", [["expert"], ["manager"], []])
def test_only_an_operator_settles(database: Database, way: str, roles: list[str]) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        session.add(Person(email="ada", roles=roles, invited_by="root", created_at=NOW))
    before = everything(database)
    with pytest.raises(NotAllowedError):
        WAYS[way](database, seen(database))
    assert everything(database) == before


def test_neither_of_the_two_cannot_win(database: Database) -> None:
    before = everything(database)
    for act in (lambda: curation.keep_rule(database, seen=seen(database), keep="z", **WHO),
                lambda: curation.set_priority(database, seen=seen(database), first="z", **WHO),
                lambda: narrow(database, {"z": {"condition": "x"}})):  # fmt: skip
        with pytest.raises(UserError, match="neither of the two"):
            act()
    assert everything(database) == before


def test_the_loser_stays_out_only_while_the_winner_is_in_use(database: Database) -> None:
    WAYS["keep"](database, seen(database))
    assert (rule_of(database, "a").state, rule_of(database, "b").state) == ("active", "probation")
    with database.read() as session:
        assert losers(session) == {"b"}
    curation.archive(database, rule_id="a", version=2, **WHO)
    with database.read() as session:
        assert losers(session) == frozenset()


def test_a_priority_leaves_both_live_and_serves_the_second_only_where_the_first_does_not_fit(
    database: Database,
) -> None:
    assert len(served(database, SHORT)) == 1
    for first, second in (("a", "b"), ("b", "a")):
        curation.set_priority(database, seen=seen(database), first=first, **WHO)
        assert served(database, SHORT) == {first}
        left_out = {one.rule.id: one.reason for one in library(database).retrieve(SHORT).left_out}
        assert left_out == {second: "priority"}
        assert (rule_of(database, "a").state, rule_of(database, "b").state) == ("active", "active")
        curation.undo(database, entry_id=last_entry(database).id or 0, actor="ada", clock=lambda: NOW)
    with database.write() as session:
        edit_rule(session, get_rule(session, "a"), {"exclusion": "a staging cluster"}, BY_LOOP)
    curation.set_priority(database, seen=seen(database, a=3), first="a", **WHO)
    assert served(database, f"{SHORT} on a staging cluster") == {"b"}


def test_narrowing_changes_when_rules_apply_and_keeps_their_approval(database: Database) -> None:
    narrow(database, {**APART, "a": {"condition": f"{LONG} with customers on it", "exclusion": ""}})
    a, b = rule_of(database, "a"), rule_of(database, "b")
    assert (a.condition, b.exclusion) == (f"{LONG} with customers on it", "a production database")
    assert (a.state, b.state, a.approved_by, b.approved_by) == ("active", "active", "eva", "eva")
    assert (a.version, b.version) == (3, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "first"),
        ({"a": {"condition": LONG}}, "first"),
        ({"a": {"action": "run it"}}, "never what it asks for"),
        ({"a": {"condition": "  "}}, "was not saved, your text is kept. The field condition is empty"),
        ({"a": {"condition": "a remediation is about to run\u200b on it"}}, "was not saved"),
        ({"a": {"condition": "word " * 2000}}, "far too long"),
        ({"a": {"condition": "a remediation is about to run on a database"}}, "still contradict each other"),
    ],
)
def test_a_narrowing_that_does_not_do_leaves_the_conflict_open(
    database: Database, changes: dict[str, dict[str, str]], message: str
) -> None:
    before = everything(database)
    with pytest.raises(UserError, match=message):
        narrow(database, changes)
    assert everything(database) == before


def test_a_narrowed_rule_is_held_against_the_rest_of_the_library(database: Database) -> None:
    with database.write() as session:
        draft = RuleContent(name="c", condition="a backup starts", action="verify before running it", domain="desk")
        create_rule(session, draft, BY_LOOP, origin="reflection", id="c")
    narrow(database, {"b": {"condition": "a backup starts"}})
    with database.read() as session:
        assert [(one.rule_a, one.rule_b) for one in live_conflicts(session)] == [("b", "c")]


def test_a_merge_takes_over_what_both_counted_and_goes_live_if_that_is_enough(database: Database) -> None:
    with database.write() as session:
        edit_rule(session, get_rule(session, "a"), {"evidence": ["e1"], "lineage": ["x"]}, BY_LOOP)
        edit_rule(session, get_rule(session, "b"), {"evidence": ["e1", "e2"]}, BY_LOOP)
    given = {"seen": seen(database, a=3, b=3), "settings": SETTINGS}
    merged = rule_of(database, curation.merge_pair(database, content=ONE_TEXT, **given, **WHO))
    assert (merged.n_used, merged.n_success, merged.avg_delta, merged.verified) == (20, 14, pytest.approx(0.2), 4)
    assert (merged.origin, merged.parents, merged.state, merged.approved_by) == ("merge", ["a", "b"], "active", "ada")
    assert (merged.evidence, merged.lineage, merged.action) == (["e1", "e2"], ["x"], ONE_TEXT["action"])
    parents = [rule_of(database, name) for name in "ab"]
    assert [(one.state, one.merged_into) for one in parents] == [("archived", merged.id)] * 2


def test_a_merge_by_who_may_not_approve_waits_for_an_expert(database: Database) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        session.add(Person(email="ada", roles=["operator"], invited_by="root", created_at=NOW))
    merged = rule_of(database, merge(database, **ONE_TEXT))
    assert (merged.state, merged.approved_by) == ("candidate", None)


def test_a_merge_inherits_the_conflicts_that_its_parents_have_with_others(database: Database) -> None:
    with database.write() as session:
        for name in ("c", "d"):
            draft = RuleContent(name=name, condition="a node restarts", action="wait for it", domain="desk")
            rule = create_rule(session, draft, BY_LOOP, origin="reflection", id=name)
            record_conflicts(session, rule, [ConflictFinding("a", "model", "because", {}, hard=True)], BY_LOOP)
        first = next(one for one in live_conflicts(session) if one.rule_b == "b")
        second = next(one for one in live_conflicts(session) if one.rule_b == "d")
    versions = {"a": 2, "d": 1}
    curation.set_priority(database, seen=SeenConflict(second.id, versions), first="d", **WHO)
    merged = curation.merge_pair(
        database, seen=SeenConflict(first.id, SEEN), content=ONE_TEXT, settings=SETTINGS, **WHO
    )  # fmt: skip
    with database.read() as session:
        pairs = [{one.rule_a, one.rule_b} for one in live_conflicts(session)]
    assert sorted(map(sorted, pairs)) == sorted(map(sorted, [{merged, "c"}, {merged, "d"}]))
    assert rule_of(database, merged).state == "candidate"


def test_a_merged_text_that_is_no_rule_is_refused(database: Database) -> None:
    before = everything(database)
    for content in ({"action": "\u202e\u2066"}, {"action": " "}, {"action": "verify it " * 1000}):
        with pytest.raises(UserError, match="your text is kept"):
            merge(database, **content)
    assert everything(database) == before


def test_a_merge_taken_apart_brings_both_back_with_their_conflict(database: Database) -> None:
    merged = merge(database, **ONE_TEXT)
    version = rule_of(database, merged).version
    curation.unmerge(database, rule_id=merged, version=version, **WHO)
    assert [rule_of(database, name).state for name in ("a", "b", merged)] == ["active", "active", "archived"]
    assert conflict_of(database).status == "open"
    assert len(served(database, SHORT)) == 1
    assert rule_of(database, "a").n_used == 10


def test_a_dismissed_pair_is_remembered(database: Database) -> None:
    WAYS["not_a_conflict"](database, seen(database))
    with database.write() as session:
        finding = ConflictFinding("b", "lexicon", "again", {}, hard=True)
        record_conflicts(session, get_rule(session, "a"), [finding], BY_LOOP)
    assert conflict_of(database).status == "dismissed"
    assert served(database, SHORT) == {"a", "b"}


def test_a_loser_on_probation_is_not_served_beside_its_winner(database: Database) -> None:
    WAYS["keep"](database, seen(database))
    assert served(database, SHORT) == {"a"}
    curation.archive(database, rule_id="a", version=2, **WHO)
    assert served(database, SHORT) == {"b"}
