"""The keys of Review: a sheet that lists them, and the one that takes the last action back."""

import streamlit as st

from core.i18n import Translator, mark
from core.people.names import ACTION_NAMES
from core.people.permissions import Action
from core.views.review_queue import QueueFilter, find_item
from core.views.undo import last_action
from pages.context import Context, actor
from pages.keyboard import listen
from pages.review_queue import go_to
from pages.widgets import plain, take_back

FIELD = "review_field"
"""Key of the field that gets the cursor, and which opening of it that is."""

KEYS = (
    ("A", mark("Approve, or accept a proposal")),
    ("L", mark("Approve and put it into prompts at once")),
    ("E", mark("Edit and approve; Ctrl+Enter saves")),
    ("X", mark("Refuse; then 1 to 5 for a reason, or 6 to type one and Enter")),
    ("M", mark("Merge into another rule; Ctrl+Enter merges")),
    ("W", mark("Ask for more evidence; Enter sends")),
    ("J", mark("Later: the next item")),
    ("K", mark("Back: the item before")),
    ("U", mark("Undo your last action")),
    ("Esc", mark("Close what was opened; a draft is kept")),
    ("?, H", mark("This sheet")),
)


def show_keys(app: Context, t: Translator) -> None:
    """Offer the sheet of keys and the undo of the visitor's last action."""
    with app.database.read() as session:
        last = last_action(session, actor())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if last is not None:
            st.button(
                t("Undo last"),
                icon=":material/undo:",
                key="review_undo",
                shortcut="u",
                on_click=_undo,
                args=(app, t, last.entry_id, last.object_id),
            )
            action = t(ACTION_NAMES[Action(last.action)])
            st.caption(t("{action} – {name}", action=action, name=plain(last.name)), width="content")
        asked = st.button(t("Keys"), icon=":material/keyboard:", key="review_keys", shortcut="h")
    if listen(*st.session_state.get(FIELD, ("", ""))) or asked:
        st.dialog(t("Keys"))(_sheet)(t)


def _undo(app: Context, t: Translator, entry_id: int, object_id: str) -> None:
    take_back(t, (entry_id,))
    with app.database.read() as session:
        item = find_item(session, object_id, QueueFilter(), actor=actor(), now=app.clock())
    if item is not None:
        go_to(item)


def _sheet(t: Translator) -> None:
    rows = [{t("Key"): key, t("What it does"): t(meaning)} for key, meaning in KEYS]
    st.table(rows, hide_index=True, alt=t("Keys and what they do"))
    st.caption(t("Keys work while no field has the cursor. C and R belong to Streamlit."))
