"""The page Audit: what people did is found, opened, taken back, verified and taken away."""

import csv
import io
import json
from typing import Any

import pytest
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from core import curation
from core.clock import utc_now
from core.db import Database
from core.settings import Settings
from core.views.audit import AuditFilter, trail, trail_as_csv, trail_as_json
from tests.pages.conftest import OpenPage

RULE = "rule_0000000000000001"
SETTINGS = Settings(_env_file=None)
HOSTILE = "<b>x</b> **bold** [a](https://example.com)"


def acted(database: Database) -> None:
    """Three entries: ada archives a rule, bob restores it, ada changes a setting."""
    by: dict[str, Any] = {"clock": utc_now}
    with database.read() as session:
        version = session.execute(text("SELECT version FROM rule WHERE id = :id"), {"id": RULE}).scalar_one()
    curation.archive(database, rule_id=RULE, version=version, reason=HOSTILE, actor="ada", **by)
    curation.restore(database, rule_id=RULE, version=version + 1, reason="needed", actor="bob", **by)
    curation.change_setting(database, name="round.tasks", value=7, settings=SETTINGS, actor="ada", **by)


def entries(at: AppTest) -> list[str]:
    return [one.label for one in at.expander if "·" in one.label]


def test_an_empty_trail_says_what_will_be_in_it(database: Database, open_page: OpenPage) -> None:
    at = open_page("audit")
    assert not at.exception
    assert "Whatever people decide from now on" in at.info[0].value


def test_the_newest_entry_comes_first_and_opens_to_what_it_changed(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    at = open_page("audit")
    assert not at.exception
    assert [one.split(" · ")[1:3] for one in entries(at)] == [
        ["`ada`", "Change a setting"],
        ["`bob`", "Restore"],
        ["`ada`", "Archive"],
    ]
    shown = [one.value for one in at.text]
    assert f"Reason: {HOSTILE}" in shown
    tables = [table.value.to_dict("records") for table in at.table]
    assert {"Field": "State", "Before": "Archived", "After": "Candidate"} in tables[1]


def test_feedback_on_an_episode_shows_the_outcome_before_and_after(sample: Database, open_page: OpenPage) -> None:
    told = {"version": 0, "verdict": "taken_over", "reason": HOSTILE, "actor": "ada", "clock": utc_now}
    curation.give_feedback(sample, episode_id="episode_07learn000", **told)
    at = open_page("audit")
    assert not at.exception
    assert entries(at)[0].endswith("Say how an episode ended · `episode_07learn000`")
    shown = [one.value for one in at.text]
    assert {"Grade before: pass", "Grade after: fail", "Reward after: -1.0", f"Reason: {HOSTILE}"} <= set(shown)


def test_filters_are_in_the_address(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    at = open_page("audit", person="ada", action="archive")
    assert [one.split(" · ")[2] for one in entries(at)] == ["Archive"]
    at.selectbox(key="audit_action").set_value(None).run()
    assert "action" not in at.query_params
    assert len(entries(at)) == 2
    at.selectbox(key="audit_person").set_value("bob").run()
    assert at.query_params["person"] == "bob"
    assert [one.split(" · ")[2] for one in entries(at)] == ["Restore"]


def test_an_unknown_filter_or_day_in_the_address_finds_nothing_or_does_not_count(
    sample: Database, open_page: OpenPage
) -> None:
    acted(sample)
    at = open_page("audit", person="<script>")
    assert not at.exception
    assert "No entry fits" in at.info[0].value
    at = open_page("audit", since="2026-99-99", entry="x" * 30)
    assert not at.exception
    assert len(entries(at)) == 3


def test_all_entries_about_a_rule_are_found_whatever_they_acted_on(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    at = open_page("audit", kind="rule", object=RULE)
    before = len(entries(at))
    at.button(key="audit_2_undo").click().run()
    assert at.success[0].value == "Undone: Restore"
    assert [one.split(" · ")[2] for one in entries(at)] == ["Undo", "Restore", "Archive"]
    assert before == 2
    assert "audit_2_undo" not in {button.key for button in at.button}


def test_what_cannot_be_undone_any_more_says_why(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    at = open_page("audit")
    at.button(key="audit_1_undo").click().run()
    assert "has changed since, so the action cannot be undone" in at.error[0].value


def test_verify_counts_what_it_checked(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    at = open_page("audit")
    at.button(key="audit_verify").click().run()
    assert at.success[0].value == "3 entries checked: all are as they were written."
    assert len(at.code[0].value) == 64


def test_verify_names_the_first_broken_entry_even_if_it_cannot_be_read(sample: Database, open_page: OpenPage) -> None:
    acted(sample)
    with sample.engine.begin() as connection:
        connection.execute(text("UPDATE audit_entry SET detail = 'no JSON' WHERE id = 2"))
    at = open_page("audit")
    assert not at.exception
    assert "cannot be read any more" in at.error[0].value
    at.button(key="audit_verify").click().run()
    assert at.error[0].value == "First broken: entry 2. This entry was changed after it was written."


def test_exports_hold_all_that_the_filter_finds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.views.audit._BATCH", 7)
    for number in range(1, 61):
        curation.set_loop(database, wanted="run", actor="ada" if number % 2 else "=cmd()", clock=utc_now)
    with database.read() as session:
        rows = list(csv.DictReader(io.StringIO("".join(trail_as_csv(session, AuditFilter())))))
        found = json.loads("".join(trail_as_json(session, AuditFilter(person="ada"))))
        total = trail(session, AuditFilter(person="ada"), limit=1).total
    assert [row["id"] for row in rows] == [str(number) for number in range(1, 61)]
    assert rows[1]["actor"] == "'=cmd()"
    assert json.loads(rows[0]["detail"]) == {"wanted": "run"}
    assert len(found) == total == 30
    assert {entry["actor"] for entry in found} == {"ada"}
    with database.read() as session:
        assert json.loads("".join(trail_as_json(session, AuditFilter(person="nobody")))) == []
