"""Whatever somebody does to the trail in the database itself is found, and the first broken entry named."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.audit import BrokenLink, fingerprint, first_broken_link, record_action
from core.db import Database, open_database

NOW = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
LENGTH = 6
COLUMNS = (
    "actor",
    "action",
    "object_kind",
    "object_id",
    "detail",
    "changes",
    "created_at",
    "previous_digest",
    "digest",
)
IDS = st.integers(1, LENGTH)
JUNK = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    st.binary(max_size=8),
    st.sampled_from(["null", "[]", "{}", "no JSON", "[1]", '"x"', "7", "2026-03-01 08:30:00.000001", "0" * 64, None]),
)


@pytest.fixture(scope="module")
def trail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Path]]:
    """Six entries, and where they are."""
    path = tmp_path_factory.mktemp("trail") / "t.db"
    database = open_database(f"sqlite:///{path}")
    for number in range(LENGTH):
        with database.write() as session:
            change = {"table": "rule", "key": f"r{number}", "before": None, "after": {"action": f"wait {number}"}}
            record_action(
                session,
                lambda: NOW,
                actor=f"ada{number}",
                action="archive",
                object_kind="rule",
                object_id=f"r{number}",
                detail={"reason": "ü 过时", "share": 0.1 * number},
                changes=[change],
            )
    yield database, path
    database.close()


@contextmanager
def tampered(trail: tuple[Database, Path], *statements: tuple[str, tuple[Any, ...]]) -> Iterator[BrokenLink | None]:
    """Do something to the trail past the product; give what is found then; put the trail back as it was."""
    database, path = trail
    database.engine.dispose()
    kept = path.read_bytes()
    try:
        # Without SQLite's own checks, as somebody would who wants to hide something.
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement, values in statements:
                connection.execute(statement, values)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with database.read() as session:
            yield first_broken_link(session)
    finally:
        database.engine.dispose()
        for left in (path.with_name("t.db-wal"), path.with_name("t.db-shm")):
            left.unlink(missing_ok=True)
        path.write_bytes(kept)


def value_of(trail: tuple[Database, Path], entry_id: int, column: str) -> Any:
    with closing(sqlite3.connect(trail[1])) as connection:
        return connection.execute(f"SELECT {column} FROM audit_entry WHERE id = ?", (entry_id,)).fetchone()[0]


SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_an_untouched_trail_is_whole(trail: tuple[Database, Path]) -> None:
    with tampered(trail) as found, trail[0].read() as session:
        assert found is None
        assert fingerprint(session).entries == LENGTH


@pytest.mark.parametrize("column", COLUMNS)
@settings(parent=SLOW, max_examples=12)
@given(entry_id=IDS, value=JUNK)
def test_a_changed_value_of_any_column_of_any_entry(
    trail: tuple[Database, Path], column: str, entry_id: int, value: object
) -> None:
    if value == value_of(trail, entry_id, column) or (value is None and column != "changes"):
        return  # no change at all, or one that the database itself refuses
    with tampered(trail, (f"UPDATE audit_entry SET {column} = ? WHERE id = ?", (value, entry_id))) as found:
        assert found is not None
        assert found.entry_id == entry_id


@SLOW
@given(entry_id=IDS, other=st.integers(-5, 20).filter(lambda number: not 1 <= number <= LENGTH))
def test_a_changed_number(trail: tuple[Database, Path], entry_id: int, other: int) -> None:
    with tampered(trail, ("UPDATE audit_entry SET id = ? WHERE id = ?", (other, entry_id))) as found:
        assert found is not None
        first = min(entry_id + 1, LENGTH) if other > LENGTH else other
        assert found.entry_id == (other if entry_id == LENGTH else first)


@SLOW
@given(entry_id=IDS)
def test_a_removed_entry(trail: tuple[Database, Path], entry_id: int) -> None:
    with tampered(trail, ("DELETE FROM audit_entry WHERE id = ?", (entry_id,))) as found:
        assert found is not None
        assert found.entry_id == (None if entry_id == LENGTH else entry_id + 1)


@SLOW
@given(start=IDS)
def test_a_cut_off_end(trail: tuple[Database, Path], start: int) -> None:
    with tampered(trail, ("DELETE FROM audit_entry WHERE id >= ?", (start,))) as found:
        assert found is not None
        assert found.entry_id is None


@SLOW
@given(entry_id=IDS, place=st.sampled_from([-1, 0, LENGTH + 1]))
def test_an_inserted_entry(trail: tuple[Database, Path], entry_id: int, place: int) -> None:
    names = ", ".join(COLUMNS)
    copy = f"INSERT INTO audit_entry (id, {names}) SELECT ?, {names} FROM audit_entry WHERE id = ?"
    with tampered(trail, (copy, (place, entry_id))) as found:
        assert found is not None
        assert found.entry_id == place


@SLOW
@given(pair=st.lists(IDS, min_size=2, max_size=2, unique=True))
def test_two_entries_in_each_others_place(trail: tuple[Database, Path], pair: list[int]) -> None:
    one, other = sorted(pair)
    move = "UPDATE audit_entry SET id = ? WHERE id = ?"
    with tampered(trail, (move, (99, one)), (move, (one, other)), (move, (other, 99))) as found:
        assert found is not None
        assert found.entry_id == one


@pytest.mark.parametrize(("column", "value"), [("entries", 5), ("entries", 7), ("digest", "0" * 64), ("name", "other")])
def test_a_changed_end_mark(trail: tuple[Database, Path], column: str, value: object) -> None:
    with tampered(trail, (f"UPDATE audit_head SET {column} = ?", (value,))) as found:
        assert found is not None
        assert found.entry_id is None


def test_cutting_the_end_and_moving_its_mark_shows_in_the_fingerprint(trail: tuple[Database, Path]) -> None:
    """What nobody could tell from the database alone: hence the fingerprint, to be kept elsewhere."""
    with trail[0].read() as session:
        kept = fingerprint(session)
    cut = ("DELETE FROM audit_entry WHERE id = ?", (LENGTH,))
    mark = ("UPDATE audit_head SET entries = ?, digest = (SELECT digest FROM audit_entry WHERE id = ?)", (5, 5))
    with tampered(trail, cut, mark) as found, trail[0].read() as session:
        assert found is None
        assert fingerprint(session) != kept
