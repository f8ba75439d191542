"""The pages with people told apart by a cookie, and no loop; signing in has tests of its own."""

from pathlib import Path

import streamlit as st

import pages.context

# The pages take the name over when they are imported, which is later.
pages.context.actor = lambda: st.context.cookies.get("test-person", "local")

app = st.App(str(Path(__file__).resolve().parents[2] / "pages" / "shell.py"))
