"""Drafts that the quality step refused, with the reasons, and the way to revive one."""

from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.loop import RefusalRow, refusals
from pages.context import Context, actor
from pages.labels import DETECTORS, FIELDS, label
from pages.widgets import pager, perform, plain, rule_link

_ROWS = 10


def show_refusals(app: Context, t: Translator) -> None:
    """List refused drafts, newest first."""
    with app.database.read() as session:
        total = refusals(session, limit=1).total
        offset = pager(t, total, _ROWS, "loop_refusals_page")
        found = refusals(session, limit=_ROWS, offset=offset)
    if not found.items:
        st.info(t("Nothing was refused so far. Drafts that are vague, tied to one case or unsafe would appear here."))
    for row in found.items:
        with st.container(border=True):
            _refusal(app, t, row)


def _refusal(app: Context, t: Translator, row: RefusalRow) -> None:
    name = str(row.draft.get("name", ""))
    st.markdown(f"**{plain(name)}**")
    for field in ("condition", "action", "exclusion"):
        if row.draft.get(field):
            st.text(f"{label(t, FIELDS, field)}: {row.draft[field]}")
    for reason in row.reasons:
        detector = label(t, DETECTORS, str(reason.get("detector", "")))
        st.caption(f"{detector}: {plain(t.message(reason))}")
    if row.revived_as:
        rule_link(t, row.revived_as, t("Revived as a candidate"))
    elif st.button(t("Make it a candidate all the same"), key=f"loop_revive_{row.id}", icon=":material/undo:"):
        action = partial(curation.revive_refusal, app.database, refusal_id=row.id, actor=actor(), clock=app.clock)
        perform(t, action, t("Now a candidate: {name}", name=plain(name)))
