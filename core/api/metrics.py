"""``GET /api/metrics``: the product's figures as Prometheus reads them, for whoever has the key."""

import hmac
import re
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.api.figures import Figures
from core.clock import Clock
from core.db import Database
from core.i18n import Translator, choose_language
from core.settings import Settings

PATH = "/api/metrics"


def metrics_route(product: Callable[[], tuple[Settings, Database]], clock: Clock) -> Route:
    """Return the route; it answers 404 while no key is set, and 401 without the right one.

    Args:
        product: the settings of the start and the database, from the moment on at which the server runs.
        clock: the present moment.
    """

    # Not async, so that Starlette runs it in a thread of its own: it waits for the database.
    def metrics(request: Request) -> Response:
        settings, database = product()
        refusal = _refusal(request, settings)
        if refusal is not None:
            return refusal
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        with database.read() as session:
            registry = CollectorRegistry()
            registry.register(Figures(session, settings, clock()))
            return Response(encode(registry), media_type=kind, headers={"Cache-Control": "no-store"})

    return Route(PATH, metrics, methods=["GET"])


def _refusal(request: Request, settings: Settings) -> Response | None:
    t = Translator(choose_language(*re.split("[,;]", request.headers.get("accept-language", ""))))
    if settings.metrics.key is None:
        text = t("No metrics are served: there is no key. Set {name} and start again.", name="RULEWRIGHT_METRICS__KEY")
        return PlainTextResponse(text, 404)
    if not _has_key(request, settings.metrics.key.get_secret_value()):
        text = t(
            "The key is missing or wrong. Send the header {header} with the key from {name}.",
            header="Authorization: Bearer …",
            name="RULEWRIGHT_METRICS__KEY",
        )
        return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})
    return None


def _has_key(request: Request, key: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    # In constant time, so that the time it takes tells nothing about how much of a guess is right.
    same = hmac.compare_digest(given.strip().encode("latin-1"), key.encode())
    return same and scheme.lower() == "bearer"
