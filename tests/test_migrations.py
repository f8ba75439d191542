"""Migrations make the schema that the code declares, and opening a database is safe at any time."""

import multiprocessing
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel

from core.db import Database, open_database
from core.errors import UserError
from core.tables import AuditEntry, AuditObject, LoopControl, Reflection

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"


def count(session: Session, table: type[SQLModel]) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def control(name: str) -> LoopControl:
    return LoopControl(name=name, changed_at=NOW)


def revision(database: Database) -> str:
    with database.read() as session:
        return str(session.execute(text("SELECT version_num FROM alembic_version")).scalar_one())


def test_migrated_schema_is_the_declared_one(url: str) -> None:
    database = open_database(url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"compare_type": True, "render_as_batch": True, "target_metadata": SQLModel.metadata},
        )
        assert compare_metadata(context, SQLModel.metadata) == []


def test_opening_again_changes_nothing(url: str) -> None:
    first = open_database(url)
    with first.write() as session:
        session.add(control("kept"))
    before = revision(first)
    first.close()

    second = open_database(url)

    assert revision(second) == before
    with second.read() as session:
        assert session.get(LoopControl, "kept") is not None


def open_at_the_barrier(url: str, barrier: Barrier, name: str) -> None:
    barrier.wait(timeout=60)
    with open_database(url).write() as session:
        session.add(control(name))


def test_two_processes_may_open_a_new_database_at_the_same_moment(url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    names = ("one", "two")
    processes = [spawn.Process(target=open_at_the_barrier, args=(url, barrier, name)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)

    assert [process.exitcode for process in processes] == [0, 0]
    with open_database(url).read() as session:
        assert count(session, LoopControl) == 2


@pytest.mark.parametrize(
    ("pragma", "expected"), [("journal_mode", "wal"), ("foreign_keys", 1), ("busy_timeout", 30_000)]
)
def test_every_connection_is_prepared(url: str, pragma: str, expected: object) -> None:
    database = open_database(url)
    with database.engine.connect() as one, database.engine.connect() as other:
        assert one.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() == expected
        assert other.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() == expected


def test_foreign_keys_are_enforced(url: str) -> None:
    database = open_database(url)
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(Reflection(id="r", round_number=99, batch=0, status="done", created_at=NOW))


def test_write_keeps_all_or_nothing(url: str) -> None:
    database = open_database(url)
    with pytest.raises(RuntimeError, match="half way"), database.write() as session:
        session.add(control("first"))
        session.flush()
        raise RuntimeError("half way")
    with database.read() as session:
        assert count(session, LoopControl) == 0


def test_what_a_reader_changes_is_thrown_away(url: str) -> None:
    database = open_database(url)
    with database.read() as session:
        session.add(control("stray"))
        session.flush()
    with database.read() as session:
        assert count(session, LoopControl) == 0


def test_a_writer_waits_for_another_instead_of_failing(url: str) -> None:
    """Both read before they write: without BEGIN IMMEDIATE the second would fail as stale."""
    database = open_database(url)
    with database.write() as session:
        session.add(control("counter"))
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    processes = [spawn.Process(target=add_steps, args=(url, barrier)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)

    assert [process.exitcode for process in processes] == [0, 0]
    with database.read() as session:
        row = session.get(LoopControl, "counter")
        assert row is not None
        assert row.steps == 100


def add_steps(url: str, barrier: Barrier) -> None:
    database = open_database(url)
    barrier.wait(timeout=60)
    for _ in range(50):
        with database.write() as session:
            row = session.get_one(LoopControl, "counter")
            row.steps += 1
            session.add(row)


@pytest.mark.parametrize("url", ["nonsense", "mysterious://host/name", "sqlite:////proc/no/such/place.db"])
def test_a_database_that_cannot_be_opened_is_explained(url: str) -> None:
    with pytest.raises(UserError, match=r"cannot be opened.*--database"):
        open_database(url)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(UserError) as caught:
        open_database("postgresql+psycopg://me:hunter2@127.0.0.1:1/nothing")
    assert "hunter2" not in str(caught.value)


def test_entries_written_before_there_was_an_index_of_their_objects_are_found_by_them(url: str) -> None:
    database = open_database(url)
    changes = [{"table": "rule", "key": "r", "before": {}, "after": {}}]
    entries = [("proposal", "p", changes), ("rule", "old", None)]
    with database.write() as session:
        for number, (kind, key, changed) in enumerate(entries, 1):
            session.add(
                AuditEntry(
                    id=number, actor="ada", action="x", object_kind=kind, object_id=key, changes=changed, created_at=NOW
                )
            )
    go_back(database, "0003")
    database.close()

    with open_database(url).read() as session:
        found = session.execute(select(AuditObject.kind, AuditObject.object_id, AuditObject.entry_id)).all()
    assert sorted(found) == [("proposal", "p", 1), ("rule", "old", 2), ("rule", "r", 1)]


def go_back(database: Database, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "core" / "migrations"))
    with database.engine.connect().execution_options(write=True) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
        connection.commit()
