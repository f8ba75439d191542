"""What would otherwise be done again for every test, and comes out the same each time.

None of it changes what is tested: a new database starts as a copy of one that the migrations have made, and a
database with the sample in it as a copy of one that was filled.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, make_url
from streamlit.components.v2 import manifest_scanner

import core.db
from core.clock import utc_now
from core.db import Database, open_database
from core.tables import Lease
from tests.support.sample_data import fill


@contextmanager
def shortcuts(folder: Path) -> Iterator[None]:
    """Start new SQLite files from a migrated one, and look through the installed packages only once."""
    migrated = folder / "migrated.db"
    open_database(f"sqlite:///{migrated}").close()
    create = core.db._create_engine

    def create_engine(url: str) -> Engine:
        path = _file(url)
        if path is not None and not path.exists():
            shutil.copyfile(migrated, path)
        return create(url)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core.db, "_create_engine", create_engine)
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


def filled_file(path: Path) -> Path:
    """Write a database with the sample in it."""
    with closing(open_database(f"sqlite:///{path}")) as database:
        fill(database, now=utc_now())
    return path


def copy_into(database: Database, filled: Path) -> None:
    """Make an open database equal to a filled one, whose loop gave its last sign of life just now."""
    target: Any = _file(str(database.engine.url))
    with closing(sqlite3.connect(filled)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    with database.write() as session:
        lease = session.get_one(Lease, "loop")
        lease.heartbeat_at = utc_now()
        session.add(lease)


def _file(url: str) -> Path | None:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        return None
    return Path(str(parsed.database))
