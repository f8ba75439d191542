"""Without sign-in whoever reaches the server may do everything, so only this machine may reach it."""

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from core.errors import UserError

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_Served = Callable[[_Message, _Receive, _Send], Awaitable[None]]

_REFUSAL = b"There is no sign-in here, so only the machine itself is served. Configure sign-in first (README)."


def is_loopback(host: str | None) -> bool:
    """Say whether an address leads to this machine only; none means all of its addresses."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address((host or "").strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def check_address(address: str | None, *, sign_in: bool) -> None:
    """Refuse to serve others than this machine without sign-in.

    Raises:
        UserError: the server was told to listen on another address.
    """
    if not sign_in and not is_loopback(address):
        raise UserError(
            "Without sign-in whoever reaches the server may do everything, so it only listens on this machine, "
            "not on {address}. Set server.address to 127.0.0.1, or configure sign-in in .streamlit/secrets.toml "
            "as the README says.",
            address=address or "0.0.0.0",
        )


class LoopbackOnly:
    """ASGI middleware for a server that was started past ``check_address``, such as by uvicorn on its own.

    Args:
        app: what is served.
        sign_in: whether people have to sign in.
    """

    def __init__(self, app: _Served, sign_in: Callable[[], bool]) -> None:
        self._app = app
        self._sign_in = sign_in

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Pass a request on, or refuse it if it comes from elsewhere."""
        client = scope.get("client")
        if scope["type"] == "lifespan" or client is None or is_loopback(client[0]) or self._sign_in():
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": _REFUSAL})
