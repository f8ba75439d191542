"""What people do in the library: write, edit, pin, choose several, rewind, keep views."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from core import curation
from core.curation.handbook import HandbookRule
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, NotAllowedError, UserError
from core.rules.library import SYSTEM, Change, create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.settings import Settings
from core.tables import AuditEntry, Conflict, Round, Rule, RuleEvent, RulePin, SavedView
from core.tables.rules import RuleContent

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}
TEXT = {
    "name": "Rotate logs",
    "condition": "the log volume is nearly full",
    "action": "rotate the logs and delete the oldest archives",
    "domain": "desk",
}


def by_loop(number: int) -> Change:
    return Change(SYSTEM, lambda: NOW, round_number=number)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An active rule a of round 1, a candidate c of round 2, both unlike any other."""
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    with opened.write() as session:
        for number in (1, 2):
            session.add(Round(number=number, environment="desk", seed=1, trigger="schedule", started_at=NOW))
        first = RuleContent(**TEXT | {"condition": "the report is empty", "action": "import it again, then resend"})
        create_rule(session, first, by_loop(1), origin="reflection", id="a")
        move_rule(session, get_rule(session, "a"), State.ACTIVE, Cause.VERIFIED, by_loop(1))
        second = RuleContent(**TEXT | {"condition": "a queue has no consumer", "action": "start one and read its log"})
        create_rule(session, second, by_loop(2), origin="reflection", id="c")
    yield opened
    opened.close()


def rule(database: Database, rule_id: str) -> Rule:
    with database.read() as session:
        return get_rule(session, rule_id)


def count(database: Database, table: Any) -> int:
    with database.read() as session:
        return len(session.exec(select(table)).all())


def create(database: Database, **changes: object) -> str:
    return curation.create(database, content=TEXT | changes, settings=SETTINGS, **WHO)


def test_a_rule_written_by_hand_is_a_candidate_like_any_other(database: Database) -> None:
    written = rule(database, create(database))
    assert (written.state, written.origin, written.approved_by) == ("candidate", "human", None)
    assert (written.created_round, written.condition) == (2, TEXT["condition"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"condition": "  \u200b\t "}, "condition"),
        ({"action": "x" * 10_000}, "not saved"),
        ({"action": "be careful"}, "not saved"),
        ({"domain": " "}, "domain"),
        ({"priority": 7}, "priority"),
        ({"action": "rotate the logs on 10.1.2.3 and delete the oldest archives"}, "10.1.2.3"),
    ],
)
def test_a_text_that_does_not_pass_is_not_stored(database: Database, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        create(database, **changes)
    assert count(database, Rule) == 2
    assert count(database, AuditEntry) == 0


def test_a_second_click_makes_no_second_rule(database: Database) -> None:
    create(database)
    with pytest.raises(UserError, match=r"already.*Rotate logs"):
        create(database)
    assert count(database, Rule) == 3


def test_what_a_new_rule_contradicts_is_found_among_hundreds_of_others(database: Database) -> None:
    with database.write() as session:
        for number in range(300):
            other = RuleContent(
                **TEXT | {"condition": f"door {number} of the depot jams", "action": "call the caretaker"}
            )
            create_rule(session, other, by_loop(2), origin="reflection", id=f"n{number:03}")
        opposed = RuleContent(**TEXT | {"action": "do not rotate the logs and never delete the oldest archives"})
        create_rule(session, opposed, by_loop(2), origin="reflection", id="opposed")
    written = create(database)
    with database.read() as session:
        conflict = session.exec(select(Conflict)).one()
    assert {conflict.rule_a, conflict.rule_b} == {written, "opposed"}


def edit(database: Database, rule_id: str, version: int, **content: object) -> None:
    curation.edit(
        database, rule_id=rule_id, version=version, content=content, reason="clearer", settings=SETTINGS, **WHO
    )


def test_an_edit_of_a_live_rule_is_a_new_version_that_its_editor_vouches_for(database: Database) -> None:
    edit(database, "a", 2, action="run the import again and compare the totals")
    changed = rule(database, "a")
    assert (changed.state, changed.version, changed.approved_by) == ("active", 3, "ada")
    assert changed.action == "run the import again and compare the totals"


def test_an_edit_of_a_candidate_needs_a_new_approval(database: Database) -> None:
    curation.approve(database, rule_id="c", version=1, settings=SETTINGS, **WHO)
    edit(database, "c", 2, action="start one and find out why the last one ended")
    assert rule(database, "c").approved_by is None


def test_an_edit_goes_through_the_same_checks(database: Database) -> None:
    with pytest.raises(UserError, match="not saved"):
        edit(database, "a", 2, action="be careful")
    with pytest.raises(UserError, match="says this already"):
        edit(database, "a", 2)
    with pytest.raises(UserError, match="has this rule already"):
        edit(database, "a", 2, condition="a queue has no consumer", action="start one and read its log")
    with pytest.raises(ConcurrentChangeError):
        edit(database, "a", 1, action="run the import again and compare the totals")
    assert rule(database, "a").version == 2


def test_a_pin_is_a_fact_of_its_own_with_an_event_and_an_entry(database: Database) -> None:
    curation.pin(database, rule_id="a", version=2, **WHO)
    curation.pin(database, rule_id="a", version=2, **WHO)
    assert rule(database, "a").version == 2
    with database.read() as session:
        assert session.get_one(RulePin, "a").pinned_by == "ada"
        event = session.exec(select(RuleEvent).order_by(col(RuleEvent.id).desc())).first()
    assert event is not None
    assert (event.kind, event.entry_id, event.before) == ("pinned", 1, event.after)
    curation.unpin(database, rule_id="a", version=2, **WHO)
    assert count(database, RulePin) == 0


def test_several_are_archived_as_one_action_or_not_at_all(database: Database) -> None:
    with pytest.raises(ConcurrentChangeError, match="Rule c"):
        curation.archive_many(database, rules={"a": 2, "c": 7}, reason="old", **WHO)
    assert (rule(database, "a").state, count(database, AuditEntry)) == ("active", 0)
    curation.archive_many(database, rules={"a": 2, "c": 1}, reason="old", **WHO)
    assert {rule(database, name).state for name in "ac"} == {"archived"}
    assert count(database, AuditEntry) == 1
    with pytest.raises(UserError, match="Archive several rules"):
        curation.archive_many(database, rules={"a": 3, "c": 2}, reason="old", **WHO)
    curation.restore_many(database, rules={"a": 3, "c": 2}, reason="needed", **WHO)
    assert {rule(database, name).state for name in "ac"} == {"candidate"}


def test_nothing_chosen_is_said(database: Database) -> None:
    with pytest.raises(UserError, match="Choose at least one"):
        curation.pin_many(database, rules={}, **WHO)
    assert count(database, AuditEntry) == 0


def test_a_preview_of_a_rewind_changes_nothing_and_the_rewind_does_what_it_says(database: Database) -> None:
    with database.write() as session:
        edit_rule(session, get_rule(session, "a"), {"action": "resend it"}, by_loop(2))
    preview = curation.preview_rewind(database, domain="desk", round_number=1, clock=lambda: NOW)
    assert [(one.rule_id, one.state_now, one.state_then) for one in preview.rules] == [
        ("a", "active", "active"),
        ("c", "candidate", "archived"),
    ]
    assert preview.rules[0].changed == {"action": ("resend it", "import it again, then resend")}
    assert rule(database, "a").action == "resend it"
    changed = curation.rewind_to_round(
        database, domain="desk", round_number=1, seen=preview.seen, reason="worse since", **WHO
    )
    assert changed == 2
    assert (rule(database, "a").action, rule(database, "c").state) == ("import it again, then resend", "archived")


def test_a_rewind_needs_the_preview_of_the_library_as_it_is(database: Database) -> None:
    preview = curation.preview_rewind(database, domain="desk", round_number=1, clock=lambda: NOW)
    curation.archive(database, rule_id="a", version=2, reason="old", **WHO)
    with pytest.raises(ConcurrentChangeError, match="since this preview"):
        curation.rewind_to_round(database, domain="desk", round_number=1, seen=preview.seen, reason="x", **WHO)
    assert rule(database, "c").state == "candidate"


def test_a_rewind_to_what_is_there_already_or_was_never_there_is_said(database: Database) -> None:
    seen = curation.preview_rewind(database, domain="desk", round_number=2, clock=lambda: NOW).seen
    with pytest.raises(UserError, match="already"):
        curation.rewind_to_round(database, domain="desk", round_number=2, seen=seen, reason="x", **WHO)
    with pytest.raises(UserError, match="no history"):
        curation.preview_rewind(database, domain="desk", round_number=0, clock=lambda: NOW)


def handbook(*lines: int, **changes: object) -> list[HandbookRule]:
    return [
        HandbookRule(f"rule_h{n}", n, TEXT | {"condition": f"the log volume {n} is nearly full"} | changes)
        for n in lines
    ]


def imported(database: Database, rules: list[HandbookRule]) -> list[str]:
    return curation.import_handbook(database, file="ops.md", rules=rules, settings=SETTINGS, **WHO)


def test_a_handbook_is_imported_once_whatever_became_of_its_rules(database: Database) -> None:
    assert imported(database, handbook(3, 8)) == ["rule_h3", "rule_h8"]
    first = rule(database, "rule_h3")
    assert (first.origin, first.state) == ("handbook", "candidate")
    with database.read() as session:
        event = session.exec(select(RuleEvent).where(RuleEvent.rule_id == "rule_h8")).one()
    assert (event.reason, event.reason_values) == ("From {file}, line {line}", {"file": "ops.md", "line": 8})
    edit(database, "rule_h3", 1, action="rotate the logs and compress the oldest archives")
    curation.archive(database, rule_id="rule_h8", version=1, reason="wrong", **WHO)
    with pytest.raises(UserError, match="all of these rules already"):
        imported(database, handbook(3, 8))
    assert imported(database, handbook(3, 8, 9)) == ["rule_h9"]


def test_one_bad_rule_of_a_handbook_stops_the_import(database: Database) -> None:
    with pytest.raises(UserError, match="line 8"):
        imported(database, [*handbook(3), *handbook(8, action="be careful")])
    assert count(database, Rule) == 2


def test_a_view_is_kept_replaced_and_deleted_by_its_owner(database: Database) -> None:
    view_id = curation.save_view(database, page="library", name="  Old   ones ", query={"state": "archived"}, **WHO)
    again = curation.save_view(database, page="library", name="Old ones", query={"state": "probation"}, **WHO)
    assert view_id == again
    with database.read() as session:
        view = session.exec(select(SavedView)).one()
    assert (view.name, view.query) == ("Old ones", {"state": "probation"})
    with pytest.raises(NotAllowedError, match="ada"):
        curation.delete_view(database, view_id=view_id, actor="bob", clock=lambda: NOW)
    curation.delete_view(database, view_id=view_id, **WHO)
    with pytest.raises(UserError, match="gone"):
        curation.delete_view(database, view_id=view_id, **WHO)
    for name in (" ", "x" * 61):
        with pytest.raises(UserError, match="1 to 60"):
            curation.save_view(database, page="library", name=name, query={}, **WHO)
