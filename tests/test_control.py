"""What people want of the running product, as the database has it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import Session

from core.control import count_step_down, current_settings, read_control, set_control
from core.db import Database, open_database
from core.errors import UserError
from core.settings import Settings
from core.tables import SettingOverride

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def override(session: Session, name: str, value: object) -> None:
    session.add(SettingOverride(name=name, value=value, changed_by="ada", changed_at=NOW))
    session.flush()


def test_nobody_has_said_anything_yet(database: Database) -> None:
    with database.read() as session:
        assert read_control(session) is None
        assert current_settings(session, SETTINGS) is SETTINGS


def test_what_people_changed_beats_the_settings_of_the_start(database: Database) -> None:
    with database.write() as session:
        override(session, "round.tasks", 12)
        override(session, "gate.mode", "strict")
        now = current_settings(session, SETTINGS)
    assert (now.round.tasks, now.gate.mode) == (12, "strict")
    assert now.round.share_current == SETTINGS.round.share_current
    assert SETTINGS.round.tasks == 40


def test_a_setting_given_explicitly_at_the_start_is_kept(database: Database) -> None:
    with database.write() as session:
        override(session, "round.tasks", 12)
        override(session, "gate.tasks", 30)
        now = current_settings(session, SETTINGS, pinned=frozenset({"round.tasks"}))
    assert (now.round.tasks, now.gate.tasks) == (40, 30)


def test_a_stored_change_that_does_not_fit_any_more_is_named(database: Database) -> None:
    with database.write() as session:
        override(session, "round.gone", 12)
        with pytest.raises(UserError, match=r"round\.gone"):
            current_settings(session, SETTINGS)


def test_steps_are_counted_down_to_none(database: Database) -> None:
    with database.write() as session:
        count_step_down(session)  # before anybody said anything
        set_control(session, lambda: NOW, wanted="pause", actor="ada", steps=2)
        for left in (1, 0, 0):
            count_step_down(session)
            control = read_control(session)
            assert control is not None
            assert (control.steps, control.wanted) == (left, "pause")


def test_there_is_one_control_row_and_the_last_word_counts(database: Database) -> None:
    with database.write() as session:
        set_control(
            session,
            lambda: NOW,
            wanted="pause",
            actor="system",
            reason="{spent} USD",
            reason_values={"spent": 9},
            steps=3,
        )
        set_control(session, lambda: NOW, wanted="run", actor="ada")
    with database.read() as session:
        control = read_control(session)
    assert control is not None
    assert (control.wanted, control.steps, control.changed_by) == ("run", 0, "ada")
    assert (control.reason, control.reason_values) == ("", {})
