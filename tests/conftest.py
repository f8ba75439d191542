"""What holds for every test: no network beyond this machine, no settings and no files of whoever runs it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.settings import Settings
from tests.support.speed import shortcuts

ROOT = Path(__file__).resolve().parents[1]
_PERSONAL = ("OPENAI_", "RULEWRIGHT_")


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Refuse names and connections that lead off this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", _guarded(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
        yield


@pytest.fixture(scope="session", autouse=True)
def outer_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Forget the settings and the home of whoever runs the tests; gives the environment as it was."""
    outer = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for name in outer:
            if name.startswith(_PERSONAL) or name == "DATABASE_URL":
                patch.delenv(name)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setitem(Settings.model_config, "env_file", None)
        yield outer


@pytest.fixture(scope="session", autouse=True)
def no_repeated_work(tmp_path_factory: pytest.TempPathFactory, outer_environment: dict[str, str]) -> Iterator[None]:
    """Do once what comes out the same each time."""
    with shortcuts(tmp_path_factory.mktemp("shortcuts")):
        yield


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_beyond_loopback(address[0])
        return connect(self, address)

    return guarded


def _guarded_lookup(lookup: Any) -> Any:
    def guarded(host: Any, *arguments: Any, **keywords: Any) -> Any:
        if host is not None:
            _refuse_beyond_loopback(host.decode() if isinstance(host, bytes) else host)
        return lookup(host, *arguments, **keywords)

    return guarded


def _refuse_beyond_loopback(host: str) -> None:
    if host not in ("localhost", "::1", "") and not host.startswith("127."):
        raise AssertionError(f"Tests must not reach the network: {host}")
