"""The audit trail: chained, and gone with the action that it belongs to."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from core.audit import entry_digest, record_action
from core.db import Database, open_database
from core.tables import AuditEntry

NOW = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


def record(database: Database, object_id: str, at: datetime = NOW, **detail: Any) -> None:
    with database.write() as session:
        record_action(
            session, lambda: at, actor="ada", action="archive", object_kind="rule", object_id=object_id, detail=detail
        )


def entries(database: Database) -> list[AuditEntry]:
    with database.read() as session:
        return list(session.exec(select(AuditEntry).order_by(col(AuditEntry.id))))


def test_each_entry_is_chained_to_the_one_before(database: Database) -> None:
    for name in ("a", "b", "c"):
        record(database, name, reason=f"“{name}” 过时", share=0.1)
    found = entries(database)
    assert [entry.object_id for entry in found] == ["a", "b", "c"]
    assert [entry.previous_digest for entry in found] == ["", found[0].digest, found[1].digest]
    assert [entry_digest(entry) for entry in found] == [entry.digest for entry in found]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "eve"),
        ("action", "restore"),
        ("object_kind", "conflict"),
        ("object_id", "b"),
        ("detail", {"reason": "y"}),
        ("created_at", NOW + timedelta(microseconds=1)),
        ("previous_digest", "0" * 64),
    ],
)
def test_any_change_of_an_entry_shows(database: Database, column: str, value: Any) -> None:
    record(database, "a", reason="x")
    (entry,) = entries(database)
    setattr(entry, column, value)
    assert entry_digest(entry) != entry.digest


def test_an_action_that_fails_leaves_no_entry(database: Database) -> None:
    with pytest.raises(RuntimeError), database.write() as session:
        record_action(session, lambda: NOW, actor="ada", action="x", object_kind="rule", object_id="a")
        raise RuntimeError
    assert entries(database) == []


def test_a_clock_of_another_zone_gives_an_entry_that_still_verifies(database: Database) -> None:
    record(database, "a", at=NOW.astimezone(timezone(timedelta(hours=8))))
    (entry,) = entries(database)
    assert entry.created_at == NOW
    assert entry_digest(entry) == entry.digest
