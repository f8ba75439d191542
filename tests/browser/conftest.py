"""The whole product in a process of its own, and Chromium in front of it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.tools.screenshots import ARGUMENTS, CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
_START_S = 60
_OVERRIDES = {"RULEWRIGHT_LOOP__HEARTBEAT_S": "0.5", "RULEWRIGHT_LOOP__IDLE_S": "0.2"}


@dataclass(frozen=True)
class Running:
    """The product as it runs: where, and on which database."""

    url: str
    database_url: str


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Running]:
    """Run ``streamlit run app.py`` on a fresh database; end it by its process id."""
    port = _free_port()
    database_url = f"sqlite:///{tmp_path}/product.db"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "RULEWRIGHT_"))}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (tmp_path / "product.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=kept | _OVERRIDES | {"DATABASE_URL": database_url},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield Running(f"http://127.0.0.1:{port}", database_url)
        finally:
            process.terminate()
            process.wait(timeout=60)


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
    page.set_default_timeout(30_000)
    yield page
    context.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        assert process.poll() is None, "the product ended while starting; see product.log"
        try:
            with urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            process_ended = process.poll()
            assert process_ended is None, "the product ended while starting; see product.log"
    pytest.fail(f"the product did not answer within {_START_S} s")
