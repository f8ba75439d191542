"""Without sign-in the server answers this machine alone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.people.loopback import LoopbackOnly, check_address, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"])
def test_addresses_of_this_machine(host: str) -> None:
    assert is_loopback(host)
    check_address(host, sign_in=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", None, "192.0.2.1", "example.com", "localhost.example.com"])
def test_other_addresses_are_refused_without_sign_in(host: str | None) -> None:
    check_address(host, sign_in=True)
    with pytest.raises(UserError, match="only listens on this machine"):
        check_address(host, sign_in=False)


@given(st.ip_addresses())
def test_only_the_loopback_networks_count(address: Any) -> None:
    text = str(address)
    assert is_loopback(text) == (text.startswith("127.") or text == "::1" or text.startswith("::ffff:127."))


def ask(kind: str, client: tuple[str, int] | None, *, sign_in: bool) -> list[dict[str, Any]]:
    """Send a request through the middleware; what the server behind it says is one message of its own."""
    sent: list[dict[str, Any]] = []

    async def served(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "served"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    async def run() -> None:
        await LoopbackOnly(served, lambda: sign_in)({"type": kind, "client": client}, receive, send)

    # A thread of its own: where a browser test ran before, this one has an event loop already.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, run()).result()
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_requests_from_elsewhere_are_refused_without_sign_in(kind: str) -> None:
    assert ask(kind, ("127.0.0.1", 1), sign_in=False) == [{"type": "served"}]
    assert ask(kind, ("192.0.2.1", 1), sign_in=True) == [{"type": "served"}]
    assert ask(kind, None, sign_in=False) == [{"type": "served"}]
    refused = ask(kind, ("192.0.2.1", 1), sign_in=False)
    assert {"type": "served"} not in refused
    assert refused[0].get("status", refused[0].get("code")) in (403, 1008)
