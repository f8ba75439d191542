"""What every command needs at its edge: options, language, settings, database, tables of text."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from core.db import Database, open_database
from core.i18n import Translator, choose_language
from core.settings import Settings, load_settings

_PLAIN_WIDTH = 140


def translator() -> Translator:
    """Return the translation function in the language of the terminal (LC_ALL, LC_MESSAGES, LANG)."""
    return Translator(choose_language(*(os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))))


def settings_for(database: str | None, **explicit: Any) -> Settings:
    """Read settings; what was given on the command line beats every other source.

    Args:
        database: URL from ``--database``; None: from the environment or the default.
        **explicit: further values by field name; those that are None count as not given.
    """
    given = {name: value for name, value in explicit.items() if value is not None}
    if database is not None:
        given["DATABASE_URL"] = database
    return load_settings(**given)


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """Open the database of the settings, and close it at the end."""
    database = open_database(settings.database_url)
    try:
        yield database
    finally:
        database.close()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[int] = (0,)) -> None:
    """Print a table; the columns numbered in ``words`` go to the left, figures to the right."""
    shown = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for index, name in enumerate(columns):
        shown.add_column(name, justify="left" if index in words else "right")
    for row in rows:
        shown.add_row(*row)
    terminal = Console()
    (terminal if terminal.is_terminal else Console(width=_PLAIN_WIDTH)).print(shown)
