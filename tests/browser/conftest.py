"""The whole product in a process of its own, and Chromium in front of it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from core.db import Database, open_database
from tests.conftest import ROOT
from tests.tools.ports import free_port
from tests.tools.screenshots import ARGUMENTS, CHROMIUM

_START_S = 180
_STOP_S = 240
"""The loop ends what it is at first, and shares its cores with other tests."""
_PATIENCE_MS = 30_000
"""The page shares its cores with the loop, and perhaps with other tests."""
_SMALL = {
    "RULEWRIGHT_LOOP__HEARTBEAT_S": "0.5",
    "RULEWRIGHT_LOOP__IDLE_S": "0.2",
    "RULEWRIGHT_ROUND__TASKS": "12",
    "RULEWRIGHT_GATE__TASKS": "20",
}


@dataclass(frozen=True)
class Running:
    """The product as it runs: where, on which database, with which log."""

    url: str
    database_url: str
    log: Path

    @contextmanager
    def database(self) -> Iterator[Database]:
        opened = open_database(self.database_url)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The product with small rounds, for scenarios that do not mind one another."""
    with run_product(tmp_path_factory.mktemp("product"), _SMALL) as running:
        yield running


@pytest.fixture
def fresh_product(tmp_path: Path) -> Iterator[Running]:
    """The product as the README's first command starts it, on a database that does not exist yet; small rounds."""
    with run_product(tmp_path, _SMALL) as running:
        yield running


@contextmanager
def run_product(folder: Path, settings: dict[str, str], *options: str) -> Iterator[Running]:
    """Run ``streamlit run app.py`` with further options; end it by its process id."""
    port = free_port()
    running = Running(f"http://127.0.0.1:{port}", f"sqlite:///{folder}/product.db", folder / "product.log")
    with running.log.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *options],
            cwd=ROOT,
            env={**os.environ, **settings, "DATABASE_URL": running.database_url},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(f"{running.url}/_stcore/health", process, running.log)
            yield running
        finally:
            process.terminate()
            process.wait(timeout=_STOP_S)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all scenarios."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """A fresh visitor."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000}, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    expect.set_options(timeout=_PATIENCE_MS)
    yield page
    context.close()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            pytest.fail(f"the product ended while starting:\n{log.read_text()}")
        with suppress(URLError, OSError), urlopen(url, timeout=1) as answer:
            if answer.status == 200:
                return
    pytest.fail(f"the product did not answer within {_START_S} s")
