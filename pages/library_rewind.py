"""The library as it was after an earlier round: what would change, then the rewind itself."""

from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.curation.rewind import RewindPreview, RewoundRule
from core.errors import UserError
from core.i18n import Translator
from core.views.loop import rounds
from pages.context import Context, actor
from pages.labels import FIELDS, STATES, label
from pages.library_write import known_domains
from pages.widgets import perform, plain

_SHOWN = 50


def show_rewind(app: Context, t: Translator) -> None:
    """Let the visitor choose a round, show what would change, and rewind."""
    st.caption(
        t(
            "Rules go back to what they said and where they stood after that round; later ones go to the archive. "
            "What was counted stays, and quarantined rules stay out. It can be undone."
        )
    )
    with app.database.read() as session:
        newest = rounds(session, limit=1).items
    if not newest:
        st.info(t("No round has run yet, so there is nothing to go back to."), icon=":material/history:")
        return
    left, right = st.columns(2)
    domain = left.selectbox(t("Domain"), known_domains(app), key="library_rewind_domain")
    number = right.number_input(
        t("Back to the end of round"),
        min_value=1,
        max_value=newest[0].number,
        value=max(1, newest[0].number - 1),
        step=1,
        key="library_rewind_round",
    )
    if st.button(t("Show what would change"), icon=":material/preview:", key="library_rewind_preview"):
        st.session_state["library_rewind_asked"] = (domain, int(number))
    if st.session_state.get("library_rewind_asked") != (domain, int(number)):
        return
    try:
        preview = curation.preview_rewind(app.database, domain=domain, round_number=int(number), clock=app.clock)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    _preview(app, t, domain, preview)


def _preview(app: Context, t: Translator, domain: str, preview: RewindPreview) -> None:
    if not preview.rules:
        st.info(t("Nothing would change: the library is as it was then."), icon=":material/check:")
        return
    st.subheader(t.plural("{n} rule would change", "{n} rules would change", len(preview.rules)), anchor=False)
    st.table([_change(t, rule) for rule in preview.rules[:_SHOWN]], hide_index=True)
    if len(preview.rules) > _SHOWN:
        st.caption(t("The first {n} are shown.", n=t.number(_SHOWN)))
    seen = st.session_state.get("library_rewind_seen", preview.seen)
    st.session_state["library_rewind_seen"] = preview.seen
    with st.form("library_rewind", border=True):
        reason = st.text_input(t("Why?"), key="library_rewind_reason")
        sent = st.form_submit_button(
            t("Rewind to round {number}", number=t.number(preview.round_number)),
            icon=":material/history:",
            key="library_rewind_send",
        )
    if sent and not reason.strip():
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif sent:
        action = partial(
            curation.rewind_to_round,
            app.database,
            domain=domain,
            round_number=preview.round_number,
            seen=seen,
            reason=reason,
            actor=actor(),
            clock=app.clock,
        )
        del st.session_state["library_rewind_asked"]
        perform(t, action, t("Rewound to round {number}", number=t.number(preview.round_number)))


def _change(t: Translator, rule: RewoundRule) -> dict[str, str]:
    moved = rule.state_now != rule.state_then
    states = f"{label(t, STATES, rule.state_now)} → {label(t, STATES, rule.state_then)}"
    return {
        t("Rule"): plain(rule.name),
        t("State"): states if moved else label(t, STATES, rule.state_now),
        t("What changes"): "; ".join(_field(t, name, pair) for name, pair in rule.changed.items() if name in FIELDS),
    }


def _field(t: Translator, name: str, pair: tuple[Any, Any]) -> str:
    now, then = (plain(str(value)) or "–" for value in pair)
    return f"{label(t, FIELDS, name)}: {now} → {then}"
