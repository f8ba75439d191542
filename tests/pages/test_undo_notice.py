"""The notice after an action takes it back, and says what was undone."""

from sqlmodel import select

from core.clock import utc_now
from core.db import Database
from core.tables import AuditEntry, Rule, SettingOverride
from core.views.undo import last_action
from tests.pages.conftest import OpenPage

OLDEST = "rule_0000000000000005"
NAME = "Find deleted files that are still open"


def rule(database: Database, rule_id: str = OLDEST) -> Rule:
    with database.read() as session:
        return session.get_one(Rule, rule_id)


def archive(open_page: OpenPage, rule_id: str = OLDEST):
    at = open_page("library", rule=rule_id)
    at.text_input(key=f"library_{rule_id}_reason").set_value("Caches are gone.")
    return at.button(key=f"library_{rule_id}_send").click().run()


def test_the_notice_takes_the_action_back_and_then_that_too(sample: Database, open_page: OpenPage) -> None:
    at = archive(open_page)
    at.button(key="shell_undo").click().run()
    assert not at.exception
    assert at.success[0].value == f"Undone: Archive – {NAME}"
    assert rule(sample).state == "candidate"
    at.button(key="shell_undo").click().run()
    assert at.success[0].value == f"Done again: Archive – {NAME}"
    assert rule(sample).state == "archived"


def test_what_cannot_be_undone_any_more_is_said(sample: Database, open_page: OpenPage) -> None:
    at = archive(open_page)
    with sample.write() as session:
        changed = session.get_one(Rule, OLDEST)
        changed.version += 1
        session.add(changed)
    at.button(key="shell_undo").click().run()
    assert "has changed since, so the action cannot be undone" in at.error[0].value
    assert rule(sample).state == "archived"


def test_one_press_of_save_is_undone_as_one(sample: Database, open_page: OpenPage) -> None:
    at = open_page("loop")
    at.number_input(key="loop_setting_gate.tasks").set_value(40)
    at.number_input(key="loop_setting_gate.min_tasks").set_value(12)
    at.button(key="loop_save_gate").click().run()
    at.button(key="shell_undo").click().run()
    assert not at.exception
    assert at.success[0].value.count("Undone: Change a setting") == 2
    with sample.read() as session:
        assert session.exec(select(SettingOverride)).all() == []


def test_the_last_action_is_the_newest_that_stands_and_ones_own(sample: Database, open_page: OpenPage) -> None:
    at = archive(open_page)
    with sample.write() as session:
        newest = session.exec(select(AuditEntry)).one()
        foreign = newest.model_dump() | {"id": 9, "actor": "eve", "created_at": utc_now()}
        session.add(AuditEntry(**foreign))
    with sample.read() as session:
        standing = last_action(session, "local")
        assert standing is not None
        assert (standing.entry_id, standing.action, standing.name) == (newest.id, "archive", NAME)
        assert last_action(session, "ann") is None
    at.button(key="shell_undo").click().run()
    with sample.read() as session:
        assert last_action(session, "local") is None
    at.button(key="shell_undo").click().run()
    with sample.read() as session:
        again = last_action(session, "local")
    assert again is not None
    assert (again.action, again.taken_back) == ("archive", False)
