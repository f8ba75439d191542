"""Tests cannot reach the network or what belongs to whoever runs them."""

import os
import socket
from pathlib import Path

import pytest

from core.settings import load_settings


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 443)])
def test_connections_beyond_this_machine_are_refused(address):
    with socket.socket() as probe, pytest.raises(AssertionError, match="must not reach the network"):
        probe.connect(address)


def test_names_beyond_this_machine_are_not_looked_up():
    with pytest.raises(AssertionError, match="must not reach the network"):
        socket.getaddrinfo("example.org", 443)


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_no_key_and_no_dotenv_file_gets_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-personal\n", encoding="utf-8")
    assert load_settings().simulated


def test_the_home_is_not_the_real_one(outer_environment):
    assert Path(os.environ["HOME"]) != Path(outer_environment["HOME"])
