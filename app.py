"""Entry of the product: ``streamlit run app.py`` serves the pages and runs the learning loop beside them."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from core.api.metrics import metrics_route
from core.cli.edge import translator
from core.clock import utc_now
from core.curation import ensure_an_admin
from core.db import Database, open_database
from core.errors import UserError
from core.learning.service import LoopService
from core.people.accounts import set_sign_in_needed
from core.people.loopback import LoopbackOnly, check_address
from core.settings import Settings, load_settings
from pages.context import auth_section
from pages.sign_in import sign_in_configured


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Run the learning loop's thread for as long as the server runs (design section 1)."""
    settings, database = _start()
    service = LoopService(settings, database)
    service.start()
    try:
        yield {"settings": settings, "database": database}
    finally:
        await asyncio.to_thread(service.stop)
        database.close()


def _start() -> tuple[Settings, Database]:
    """Open the product; end the process with the reason if it must not or cannot be served like this."""
    try:
        settings, sign_in = load_settings(), sign_in_configured()
        check_address(st.get_option("server.address"), sign_in=sign_in)
        database = open_database(settings.database_url)
        if sign_in:
            ensure_an_admin(database, first_admin=settings.access.first_admin, clock=utc_now)
        with database.write() as session:
            set_sign_in_needed(session, utc_now, needed=sign_in)
    except UserError as error:
        sys.tracebacklimit = 0  # the server prints a traceback, in which nobody would find the reason
        raise SystemExit(translator().error(error)) from None
    return settings, database


def _product() -> tuple[Settings, Database]:
    return app.state["settings"], app.state["database"]


app = st.App(
    "pages/shell.py",
    lifespan=lifespan,
    routes=[metrics_route(_product, utc_now)],
    middleware=[Middleware(LoopbackOnly, sign_in=lambda: bool(auth_section()))],
)
