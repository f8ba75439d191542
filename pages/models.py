"""What takes seconds to load and all visitors share."""

import streamlit as st

from core.experience_preview import ExperienceReader
from core.preview import Previewer
from pages.context import context


@st.cache_resource(show_spinner=False)
def previewer() -> Previewer:
    """Return the one that looks tasks up, with its embedding model."""
    app = context()
    return Previewer(app.settings, app.database)


@st.cache_resource(show_spinner=False)
def experience_reader() -> ExperienceReader:
    """Return the one that looks states up in memory, with the same embedding model."""
    return ExperienceReader(context().database, previewer().embedder)
