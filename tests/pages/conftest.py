"""Pages run on a database of their own, at a fixed language, without the loop."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.db import Database, open_database
from tests.support.speed import copy_into, filled_file

SHELL = Path(__file__).resolve().parents[2] / "pages" / "shell.py"

OpenPage = Callable[..., AppTest]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """An empty database that the pages open too."""
    url = f"sqlite:///{tmp_path}/pages.db"
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", url)
    st.cache_resource.clear()
    opened = open_database(url)
    yield opened
    opened.close()
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with eight rounds of work in it."""
    return filled_file(tmp_path_factory.mktemp("filled") / "filled.db")


@pytest.fixture
def sample(database: Database, filled: Path) -> Database:
    """The empty database with eight rounds of work put into it."""
    copy_into(database, filled)
    return database


@pytest.fixture
def open_page(database: Database) -> OpenPage:
    """Open a page by name, in a language, with further query parameters."""

    def open_(page: str = "overview", language: str = "en", **query: str) -> AppTest:
        at = AppTest.from_file(SHELL, default_timeout=30)
        at.switch_page(f"{page}.py")
        at.query_params["lang"] = language
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_
