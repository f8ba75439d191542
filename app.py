"""Entry of the product: ``streamlit run app.py`` serves the pages and runs the learning loop beside them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st

from core.db import open_database
from core.learning.service import LoopService
from core.settings import load_settings


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Run the learning loop's thread for as long as the server runs (design section 1)."""
    settings = load_settings()
    database = open_database(settings.database_url)
    service = LoopService(settings, database)
    service.start()
    try:
        yield
    finally:
        await asyncio.to_thread(service.stop)
        database.close()


app = st.App("pages/shell.py", lifespan=lifespan)
