"""The Streamlit pages: thin, reading ``core.views`` and acting through ``core.curation``."""
