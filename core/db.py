"""Engine, migrations and session scope. SQLite runs in WAL mode with foreign keys on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlmodel import Session
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random

import core.tables  # noqa: F401  (registers the tables)
from core.errors import UserError

_BUSY_TIMEOUT_MS = 30_000


class Database:
    """An engine with short sessions: ``read()``, ``write()``, and ``rehearsal()`` for a write that is not kept.

    Share the Database between threads, never a session.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Give a session for reading; whatever it changes is thrown away."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Give a session whose changes commit together at the end, or not at all if an error leaves it.

        On SQLite it takes the write lock at once (BEGIN IMMEDIATE): a transaction that reads first and
        writes later would otherwise fail when another one wrote in between.
        """
        with Session(self.engine, expire_on_commit=False) as session:
            session.connection(execution_options={"write": True})
            yield session
            session.commit()

    @contextmanager
    def rehearsal(self) -> Iterator[Session]:
        """Give a session like that of ``write()`` whose changes are all thrown away: to see what would happen."""
        with Session(self.engine, expire_on_commit=False) as session:
            session.connection(execution_options={"write": True})
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(url: str) -> Database:
    """Open a database and bring its schema up to date, creating it if there is none.

    Args:
        url: SQLAlchemy URL, e.g. ``sqlite:///data/rulewright.db``.

    Raises:
        UserError: the URL is malformed, its driver is missing, or the database cannot be opened.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            Path(str(parsed.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = _create_engine(url)
        _migrate(engine)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, DBAPIError, OSError) as error:
        raise UserError(
            "The database {url} cannot be opened: {problem}. Check --database or DATABASE_URL, "
            "for example sqlite:///data/rulewright.db.",
            url=_without_password(url),
            problem=str(getattr(error, "orig", error)),
        ) from error
    return Database(engine)


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url


def _create_engine(url: str) -> Engine:
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin in _begin_sqlite, not by the driver's guess
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={_BUSY_TIMEOUT_MS}", "foreign_keys=ON", "synchronous=NORMAL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.execute("PRAGMA recursive_triggers=ON")  # without it, rows that a REPLACE puts out are never counted off
    _use_wal(cursor)
    cursor.close()


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY


# SQLite does not wait for its busy timeout here: two processes that open a new file at once collide.
@retry(
    retry=retry_if_exception(_is_busy),
    wait=wait_random(0.01, 0.05),
    stop=stop_after_delay(_BUSY_TIMEOUT_MS / 1000),
    reraise=True,
)
def _use_wal(cursor: sqlite3.Cursor) -> None:
    cursor.execute("PRAGMA journal_mode=WAL")


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _migrate(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    # One transaction round all steps: alembic would commit each, and another process could come in between.
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
