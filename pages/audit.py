"""Audit: what people did, on what, and whether the trail is still as it was written."""

import streamlit as st

from pages.context import translator

st.title(translator()("Audit"), anchor=False)
