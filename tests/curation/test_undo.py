"""Every action can be taken back, once, exactly, and only while nothing came after it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, col, select

from core import curation
from core.audit import first_broken_link
from core.curation import SeenConflict
from core.curation.handbook import HandbookRule
from core.curation.recorder import key_of, state_of
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.people.accounts import Identity, set_sign_in_needed
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change, create_rule, get_rule, last_event_id, move_rule
from core.rules.lifecycle import Cause, State
from core.rules.policies import Decision, PolicyTerms
from core.settings import ReviewSettings, Settings
from core.tables import (
    Approval,
    Assignment,
    AuditEntry,
    Conflict,
    Episode,
    EpisodeReward,
    EvidenceWish,
    LoopControl,
    Memory,
    Person,
    Policy,
    Proposal,
    Refusal,
    Round,
    Rule,
    RulePin,
    SavedView,
    SettingOverride,
    Undone,
)
from core.tables.rules import RuleContent
from tests.learning.rows import a_memory, an_episode
from tests.support.embedding import WordEmbedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
BY_LOOP = Change(SYSTEM, lambda: NOW, round_number=1)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
TWO_EYES = Settings(_env_file=None, review=ReviewSettings(second_opinion="desk"))
TABLES: tuple[type[SQLModel], ...] = (
    *(Rule, RulePin, Conflict, Proposal, Refusal, SettingOverride, LoopControl, Person),
    *(Memory, Approval, Assignment, EpisodeReward, Episode, EvidenceWish, Policy, SavedView),
)


def draft(condition: str, action: str) -> RuleContent:
    return RuleContent(name="Rotate", condition=condition, action=action, domain="desk", confidence=0.9)


def invite(session: Session, email: str, *roles: str, active: bool = True) -> None:
    session.add(Person(email=email, roles=list(roles), active=active, invited_by="root", created_at=NOW))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A candidate c, live rules a and b in conflict, an archived rule x, a merge m of p and q, and what waits.

    Rule z came a round later; b is pinned. An episode e came from outside.
    """
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        session.add(Round(number=1, environment="desk", seed=1, trigger="schedule", started_at=NOW))
        for name in "cabxpq":
            text = draft(f"the log volume {name} is nearly full", "rotate the logs and delete the oldest archives")
            rule = create_rule(session, text, BY_LOOP, origin="reflection", id=name)
            if name in "abx":
                move_rule(session, rule, State.ACTIVE, Cause.VERIFIED, BY_LOOP)
        move_rule(session, get_rule(session, "x"), State.ARCHIVED, Cause.PRUNED, BY_LOOP)
        text = draft("any log volume is nearly full", "rotate the logs and delete the oldest archives")
        create_rule(session, text, BY_LOOP, origin="merge", id="m", parents=["p", "q"])
        for name in "pq":
            move_rule(session, get_rule(session, name), State.ARCHIVED, Cause.MERGED, BY_LOOP, merged_into="m")
        finding = ConflictFinding("b", "lexicon", "opposed", {}, hard=True)
        record_conflicts(session, get_rule(session, "a"), [finding], BY_LOOP)
        after = {"action": "rotate the logs, then check that the volume has room"}
        session.add(
            Proposal(id="o", rule_id="a", rule_version=2, kind="edit", after=after, round_number=1, created_at=NOW)
        )
        refused = draft("the cache is cold after a deploy", "warm it before the traffic is switched over").model_dump()
        invite(session, "old@example.com", "expert")
        invite(session, "gone@example.com", "expert", active=False)
        session.add(Refusal(id="f", draft=refused, reasons=[], created_at=NOW))
        session.add(Round(number=2, environment="desk", seed=1, trigger="schedule", started_at=NOW))
        late = draft("the report is empty on a Monday", "run the weekend import again before it is sent")
        create_rule(session, late, Change(SYSTEM, lambda: NOW, round_number=2), origin="reflection", id="z")
        session.add(RulePin(rule_id="b", pinned_by="ada", pinned_at=NOW))
        session.add(an_episode("e", arm="external"))
        session.flush()
        session.add(a_memory("e", id=7, tier="cold", covered_by=9, vector=b"\x80\xff"))
        session.add(SavedView(id="v", page="library", owner="ada", name="Mine", query={"a": "1"}, changed_at=NOW))
    yield opened
    opened.close()


def picture(database: Database, *, without: str = "") -> dict[tuple[str, str], dict[str, Any]]:
    """Everything people act on, by table and key, but for versions, which only ever grow."""
    with database.read() as session:
        rows = [row for table in TABLES for row in session.exec(select(table))]
        found = {(str(row.__tablename__), str(key_of(row))): state_of(row) for row in rows}
    for state in found.values():
        state.pop("version", None)
    return {key: state for key, state in found.items() if key[1] != without}


def last_entry(database: Database) -> AuditEntry:
    with database.read() as session:
        return session.exec(select(AuditEntry).order_by(col(AuditEntry.id).desc())).all()[0]


def conflict_id(database: Database) -> str:
    with database.read() as session:
        return session.exec(select(Conflict.id)).one()


def seen(database: Database) -> SeenConflict:
    return SeenConflict(conflict_id(database), {"a": 2, "b": 2})


def newest_event(database: Database) -> int:
    with database.read() as session:
        return last_event_id(session)


NEW_TEXT = {"action": "rotate the logs, then look for the service that writes most"}
ACTS: dict[str, Callable[[Database], object]] = {
    "approve": lambda d: curation.approve(d, rule_id="c", version=1, settings=SETTINGS, **WHO),
    "activate": lambda d: curation.approve(d, rule_id="c", version=1, settings=SETTINGS, activate=True, **WHO),
    "edit": lambda d: curation.edit_and_approve(
        d, rule_id="c", version=1, content={"condition": "a log volume has no room"}, settings=SETTINGS, **WHO
    ),
    "refuse": lambda d: curation.refuse(d, rule_id="c", version=1, reason="no", **WHO),
    "ask_evidence": lambda d: curation.ask_for_evidence(d, rule_id="c", version=1, unit="verified", count=3, **WHO),
    "bulk_approve": lambda d: curation.approve_many(d, versions={"c": 1, "m": 1}, settings=SETTINGS, **WHO),
    "bulk_refuse": lambda d: curation.refuse_many(d, versions={"c": 1, "m": 1}, reason="no", **WHO),
    "first_opinion": lambda d: curation.approve(d, rule_id="c", version=1, settings=TWO_EYES, **WHO),
    "set_policies": lambda d: curation.set_policies(
        d, policies=[PolicyTerms("handbook", "", 0.8, 1.0, Decision.APPROVE)], seen=[], **WHO
    ),
    "archive": lambda d: curation.archive(d, rule_id="a", version=2, reason="old", **WHO),
    "restore": lambda d: curation.restore(d, rule_id="x", version=3, reason="true after all", **WHO),
    "unmerge": lambda d: curation.unmerge(d, rule_id="m", version=1, reason="differ", **WHO),
    "quarantine": lambda d: curation.quarantine(
        d, rule_id="a", version=2, descendants={"b": 2, "c": 1}, reason="poisoned", **WHO
    ),
    "edit_live": lambda d: curation.edit(
        d, rule_id="a", version=2, content=NEW_TEXT, reason="clearer", settings=SETTINGS, **WHO
    ),
    "pin": lambda d: curation.pin(d, rule_id="a", version=2, **WHO),
    "unpin": lambda d: curation.unpin(d, rule_id="b", version=2, **WHO),
    "archive_many": lambda d: curation.archive_many(d, rules={"a": 2, "c": 1}, reason="old", **WHO),
    "restore_many": lambda d: curation.restore_many(d, rules={"x": 3}, reason="true after all", **WHO),
    "pin_many": lambda d: curation.pin_many(d, rules={"a": 2, "b": 2}, **WHO),
    "unpin_many": lambda d: curation.unpin_many(d, rules={"a": 2, "b": 2}, **WHO),
    "rewind": lambda d: curation.rewind_to_round(
        d, domain="desk", round_number=1, seen=newest_event(d), reason="worse since", **WHO
    ),
    "save_view": lambda d: curation.save_view(d, page="library", name="Mine too", query={"b": "2"}, **WHO),
    "delete_view": lambda d: curation.delete_view(d, view_id="v", **WHO),
    "accept_proposal": lambda d: curation.accept_proposal(d, proposal_id="o", settings=SETTINGS, **WHO),
    "refuse_proposal": lambda d: curation.refuse_proposal(d, proposal_id="o", reason="no", **WHO),
    "keep": lambda d: curation.keep_rule(d, seen=seen(d), keep="a", reason="ours", **WHO),
    "set_priority": lambda d: curation.set_priority(d, seen=seen(d), first="b", reason="", **WHO),
    "narrow": lambda d: curation.narrow(
        d,
        seen=seen(d),
        changes={"a": {"condition": "a log volume of a database is nearly full"}, "b": {"exclusion": "a database"}},
        settings=SETTINGS,
        embedder=WordEmbedder(),
        reason="",
        **WHO,
    ),
    "dismiss": lambda d: curation.dismiss_conflict(d, seen=seen(d), reason="", **WHO),
    "give_feedback": lambda d: curation.give_feedback(
        d, episode_id="e", version=0, verdict="taken_over", reason="the agent gave up", **WHO
    ),
    "restore_memory": lambda d: curation.restore_memory(d, memory_id=7, **WHO),
    "choose_phase": lambda d: curation.choose_phase(d, phase="static", environment="desk", settings=SETTINGS, **WHO),
    "set_loop": lambda d: curation.set_loop(d, wanted="run", **WHO),
    "step_loop": lambda d: curation.step_loop(d, rounds=3, **WHO),
    "setting": lambda d: curation.change_setting(d, name="round.tasks", value=7, settings=SETTINGS, **WHO),
    "budget": lambda d: curation.change_setting(d, name="budget.per_day_usd", value=7, settings=SETTINGS, **WHO),
    "invite": lambda d: curation.invite(d, email="bob@example.com", name="Bob", roles=["manager"], **WHO),
    "change_roles": lambda d: curation.change_roles(d, email="old@example.com", version=1, roles=["operator"], **WHO),
    "deactivate": lambda d: curation.deactivate(d, email="old@example.com", version=1, **WHO),
    "reactivate": lambda d: curation.reactivate(d, email="gone@example.com", version=1, **WHO),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_an_undone_action_leaves_all_as_it_was_and_can_be_done_again(
    database: Database, act: Callable[[Database], object]
) -> None:
    before = picture(database)
    act(database)
    after = picture(database)
    assert after != before
    entry = last_entry(database)
    curation.undo(database, entry_id=entry.id or 0, **WHO)
    assert picture(database) == before
    undoing = last_entry(database)
    assert (undoing.action, undoing.object_id, undoing.actor) == ("undo", str(entry.id), "ada")
    curation.undo(database, entry_id=undoing.id or 0, **WHO)
    assert picture(database) == after
    with database.read() as session:
        assert first_broken_link(session) is None


def test_an_assignment_is_undone_and_done_again(database: Database) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        for email in ("ada", "bob"):
            invite(session, email, "expert")
    test_an_undone_action_leaves_all_as_it_was_and_can_be_done_again(
        database, lambda d: curation.assign(d, item_id="c", person="bob", **WHO)
    )


def test_an_action_from_before_a_table_got_a_new_column_is_undone_all_the_same(database: Database) -> None:
    before = picture(database)
    ACTS["dismiss"](database)
    with database.write() as session:
        entry = session.get_one(AuditEntry, 1)
        (change,) = entry.changes or []
        older = {side: {k: v for k, v in change[side].items() if k != "found_in"} for side in ("before", "after")}
        entry.changes = [change | older]
        session.add(entry)
    curation.undo(database, entry_id=1, **WHO)
    assert picture(database) == before


CREATING: dict[str, Callable[[Database], str]] = {
    "revive": lambda d: curation.revive_refusal(d, refusal_id="f", **WHO),
    "create": lambda d: curation.create(d, content=WRITTEN, settings=SETTINGS, **WHO),
    "import": lambda d: curation.import_handbook(
        d, file="b.md", rules=[HandbookRule("h", 3, WRITTEN)], settings=SETTINGS, **WHO
    )[0],
}
WRITTEN = draft("a queue has no consumer", "start one and look at why the last one ended").model_dump()


@pytest.mark.parametrize("make", CREATING.values(), ids=CREATING)
def test_what_an_undone_action_created_goes_to_the_archive_with_its_history(
    database: Database, make: Callable[[Database], str]
) -> None:
    before = picture(database)
    rule_id = make(database)
    curation.undo(database, entry_id=last_entry(database).id or 0, **WHO)
    assert picture(database, without=rule_id) == before
    with database.read() as session:
        assert get_rule(session, rule_id).state == "archived"


def test_an_undone_merge_of_two_rules_in_conflict_leaves_them_in_conflict(database: Database) -> None:
    before = picture(database)
    content = {"condition": "a log volume, or the archive volume, is nearly full"}
    merged = curation.merge_pair(database, seen=seen(database), content=content, settings=SETTINGS, reason="", **WHO)
    after = picture(database)
    curation.undo(database, entry_id=last_entry(database).id or 0, **WHO)
    assert picture(database, without=merged) == before
    curation.undo(database, entry_id=last_entry(database).id or 0, **WHO)
    assert picture(database) == after


def test_an_action_is_undone_once(database: Database) -> None:
    ACTS["archive"](database)
    entry = last_entry(database).id or 0
    curation.undo(database, entry_id=entry, **WHO)
    after = picture(database)
    with pytest.raises(UserError, match="Undone"):
        curation.undo(database, entry_id=entry, **WHO)
    assert picture(database) == after


def test_what_came_later_is_not_overwritten(database: Database) -> None:
    curation.approve(database, rule_id="c", version=1, settings=SETTINGS, **WHO)
    entry = last_entry(database).id or 0
    curation.refuse(database, rule_id="c", version=2, reason="second thoughts", **WHO)
    before = picture(database)
    with pytest.raises(ConcurrentChangeError, match="Rule c"):
        curation.undo(database, entry_id=entry, **WHO)
    assert picture(database) == before


def test_an_undo_needs_an_action(database: Database) -> None:
    with pytest.raises(UserError, match="no action 7"):
        curation.undo(database, entry_id=7, **WHO)


def test_an_action_older_than_the_record_of_changes_cannot_be_undone(database: Database) -> None:
    ACTS["archive"](database)
    with database.write() as session:
        entry = session.exec(select(AuditEntry)).one()
        entry.changes = None
        session.add(entry)
    with pytest.raises(UserError, match="before actions could be undone"):
        curation.undo(database, entry_id=1, **WHO)


def test_only_who_did_it_or_an_administrator_undoes_and_only_with_the_right_to_do_it(database: Database) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        invite(session, "ada", "expert")
        invite(session, "bob", "expert")
        invite(session, "root", "admin")
    curation.archive(database, rule_id="a", version=2, reason="old", **WHO)
    with pytest.raises(NotAllowedError, match="done by ada"):
        curation.undo(database, entry_id=1, actor="bob", clock=lambda: NOW)
    with database.write() as session:
        person = session.get_one(Person, "ada")
        person.roles = ["manager"]
        session.add(person)
    with pytest.raises(NotAllowedError, match="Archive"):
        curation.undo(database, entry_id=1, **WHO)
    curation.undo(database, entry_id=1, actor="root", clock=lambda: NOW)
    with database.read() as session:
        assert get_rule(session, "a").state == "active"
        assert [row.by_entry_id for row in session.exec(select(Undone))] == [2]


def test_a_first_sign_in_can_be_undone_by_an_administrator_so_that_another_subject_gets_in(database: Database) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        invite(session, "root", "admin")
    before = picture(database)
    ada = Identity("old@example.com", "https://id.example.com 1")
    curation.first_sign_in(database, identity=ada, clock=lambda: NOW)
    with pytest.raises(NotAllowedError, match="in use already"):
        curation.first_sign_in(database, identity=ada, clock=lambda: NOW)
    curation.undo(database, entry_id=1, actor="root", clock=lambda: NOW)
    assert picture(database) == before


def test_an_undo_leaves_an_administrator_too(database: Database) -> None:
    with database.write() as session:
        set_sign_in_needed(session, lambda: NOW, needed=True)
        invite(session, "root", "admin")
    by_root: dict[str, Any] = {"actor": "root", "clock": lambda: NOW}
    curation.change_roles(database, email="old@example.com", version=1, roles=["admin"], **by_root)
    curation.deactivate(database, email="root", version=1, actor="old@example.com", clock=lambda: NOW)
    with pytest.raises(UserError, match="Nobody would be left"):
        curation.undo(database, entry_id=1, actor="old@example.com", clock=lambda: NOW)


def test_versions_grow_when_an_action_is_undone(database: Database) -> None:
    curation.deactivate(database, email="old@example.com", version=1, **WHO)
    curation.undo(database, entry_id=1, **WHO)
    with database.read() as session:
        assert session.get_one(Person, "old@example.com").version == 3
