"""What people set: the loop and the settings. Each act is one change and one entry, or nothing at all."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, select

from core import curation
from core.control import read_control
from core.db import Database, open_database
from core.errors import UserError
from core.settings import Settings
from core.tables import AuditEntry, SettingOverride

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def everything(database: Database) -> list[str]:
    """All that an act could change, to show that a refused one changed nothing."""
    with database.read() as session:
        return [str(row) for table in (AuditEntry, SettingOverride) for row in session.exec(select(table)).all()]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("round.tasks", 0),
        ("round.tasks", 1001),
        ("round.tasks", "many"),
        ("round.nonsense", 1),
        ("model.act", "gpt-x"),
        ("agent.fail_reward", 0.8),
        ("round.share_history", 0.5),
    ],
)
def test_a_setting_out_of_range_leaves_nothing_behind(database: Database, name: str, value: object) -> None:
    with pytest.raises(UserError):
        curation.change_setting(database, name=name, value=value, settings=SETTINGS, **WHO)
    assert everything(database) == []


def test_a_setting_is_changed_and_changed_again(database: Database) -> None:
    for value in (12, 13):
        curation.change_setting(database, name="round.tasks", value=value, settings=SETTINGS, **WHO)
    with database.read() as session:
        (row,) = session.exec(select(SettingOverride)).all()
    assert (row.value, row.changed_by) == (13, "ada")


def wanted(session: Session) -> tuple[str, int]:
    control = read_control(session)
    assert control is not None
    return control.wanted, control.steps


def test_the_loop_is_told_what_to_do(database: Database) -> None:
    curation.set_loop(database, wanted="run", **WHO)
    with database.read() as session:
        assert wanted(session) == ("run", 0)
    curation.step_loop(database, rounds=3, **WHO)
    with database.read() as session:
        assert wanted(session) == ("pause", 3)


@pytest.mark.parametrize("rounds", [-1, 0, 101])
def test_impossible_wishes_for_the_loop_are_refused(database: Database, rounds: int) -> None:
    with pytest.raises(UserError):
        curation.step_loop(database, rounds=rounds, **WHO)
    with pytest.raises(UserError):
        curation.set_loop(database, wanted="fly", **WHO)
    with database.read() as session:
        assert read_control(session) is None
    assert everything(database) == []
