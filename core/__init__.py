"""Rulewright's engine: everything but the pages. Nothing in here imports Streamlit."""
