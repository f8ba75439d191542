"""How long Audit takes with few and with many entries: ``python -m tests.bench.audit``. Server side, milliseconds."""

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session

from core.db import Database, open_database
from core.tables import AuditEntry, AuditObject
from core.views.audit import AuditFilter, people_in_trail, trail
from tests.bench.machine import machine

START = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (100, 200_000)
REPEATS = 9
_CHUNK = 5000
KINDS = ("rule", "conflict", "setting", "loop")
ACTIONS = ("approve", "resolve_conflict", "change_setting", "set_loop")
LOOKS: dict[str, Callable[[Session], object]] = {
    "all, first page": lambda s: trail(s, AuditFilter()),
    "all, a page far back": lambda s: trail(s, AuditFilter(), offset=80),
    "one person": lambda s: trail(s, AuditFilter(person="person3@example.com")),
    "one person, one action": lambda s: trail(s, AuditFilter(person="person3@example.com", action="approve")),
    "a kind": lambda s: trail(s, AuditFilter(kind="rule")),
    "an object": lambda s: trail(s, AuditFilter(kind="rule", object_id="rule_7")),
    "a day": lambda s: trail(s, AuditFilter(since=START, before=START + timedelta(days=1))),
    "who ever acted": people_in_trail,
}


def build(folder: Path, size: int) -> Database:
    """A trail of so many entries by twenty people on a tenth as many objects; every entry changes one row."""
    database = open_database(f"sqlite:///{folder}/{size}.db")
    with database.write() as session:
        for start in range(0, size, _CHUNK):
            rows = [entry(number, size) for number in range(start, min(start + _CHUNK, size))]
            session.execute(insert(AuditEntry), rows)
            found = [{"object_id": row["object_id"], "kind": row["object_kind"], "entry_id": row["id"]} for row in rows]
            session.execute(insert(AuditObject), found)
    return database


def entry(number: int, size: int) -> dict[str, Any]:
    kind, action = KINDS[number % 4], ACTIONS[number % 4]
    key = f"{kind}_{number % (size // 10)}"
    return {
        "id": number + 1,
        "actor": f"person{number % 20}@example.com",
        "action": action,
        "object_kind": kind,
        "object_id": key,
        "detail": {"reason": "a reason of some length, as people type it"},
        "changes": [{"table": kind, "key": key, "before": {"state": "a"}, "after": {"state": "b"}}],
        "created_at": START + timedelta(minutes=number),
        "previous_digest": "0" * 64,
        "digest": "0" * 64,
    }


def milliseconds(database: Database, look: Callable[[Session], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        with database.read() as session:
            start = time.perf_counter()
            look(session)
            taken.append(1000 * (time.perf_counter() - start))
    return median(taken)


def main() -> None:
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        few, many = (build(Path(folder), size) for size in SIZES)
        print(f"{'':28}{SIZES[0]:>10,}{SIZES[1]:>10,}")
        for name, look in LOOKS.items():
            print(f"{name:28}{milliseconds(few, look):>10.1f}{milliseconds(many, look):>10.1f}")


if __name__ == "__main__":
    main()
