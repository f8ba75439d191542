"""The loop's state and controls, as Overview and Loop show them."""

import re
from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator, mark
from core.views.loop import LoopState, loop_state
from pages.context import Context, actor, context, translator
from pages.labels import ACTIVITIES, LOOP_LOOKS, LOOP_STATUS, label
from pages.sign_in import stay_admitted
from pages.widgets import badge, perform, plain

_REFRESH_S = 3
_PROGRESS = re.compile(r"(?P<phase>\w+)/(?P<done>\d+)/(?P<total>\d+)/\d+")

_EXPLAINED = {
    "slow": mark("Its last sign of life is late; a long model call does that. If it stays so, look at the log."),
    "stopped": mark("No process runs the loop. Start the product again, or run: python -m core run"),
}


def read_loop(app: Context) -> LoopState:
    """Read the loop's state now."""
    loop = app.settings.loop
    with app.database.read() as session:
        return loop_state(session, now=app.clock(), heartbeat_s=loop.heartbeat_s, lease_ttl_s=loop.lease_ttl_s)


@st.fragment(run_every=_REFRESH_S)
def loop_status() -> None:
    """Show the loop's state; refreshes by itself."""
    stay_admitted()
    app, t = context(), translator()
    state = read_loop(app)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge(t, LOOP_STATUS, LOOP_LOOKS, state.status)
        st.caption(" · ".join(_facts(t, state)))
    if state.status in _EXPLAINED:
        st.caption(t(_EXPLAINED[state.status]))
    if state.reason:
        reason = plain(t(state.reason, **state.reason_values))
        st.warning(t("The loop paused itself: {reason}", reason=reason), icon=":material/pause_circle:")


def loop_controls(app: Context, t: Translator, key: str) -> None:
    """Show start, pause and step. Belongs into the main script, so that a busy fragment cannot hold it up."""
    state = read_loop(app)
    runs = state.wanted == "run"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if runs and st.button(t("Pause"), icon=":material/pause:", key=f"{key}_pause"):
            perform(t, partial(_want, app, "pause"), t("The loop pauses after what it is doing now."))
        if not runs and st.button(t("Run"), icon=":material/play_arrow:", type="primary", key=f"{key}_run"):
            perform(t, partial(_want, app, "run"), t("The loop runs."))
        if not runs and st.button(t("One round"), icon=":material/skip_next:", key=f"{key}_step"):
            step = partial(curation.step_loop, app.database, rounds=1, actor=actor(), clock=app.clock)
            perform(t, step, t("The loop runs one round, then rests."))


def _want(app: Context, wanted: str) -> None:
    curation.set_loop(app.database, wanted=wanted, actor=actor(), clock=app.clock)


def _activity(t: Translator, activity: str) -> str:
    """Say what the loop is doing; ``phase/done/total/round`` is put into words."""
    progress = _PROGRESS.fullmatch(activity)
    if progress is None:
        return label(t, ACTIVITIES, activity)
    text = label(t, ACTIVITIES, progress["phase"])
    if progress["total"] == "0":
        return text
    return t("{activity} {done} of {total}", activity=text, done=progress["done"], total=progress["total"])


def _facts(t: Translator, state: LoopState) -> list[str]:
    facts = []
    if state.round_number is not None:
        facts.append(t("round {number}", number=t.number(state.round_number)))
    if state.activity and state.status != "stopped":
        facts.append(_activity(t, state.activity))
    if state.steps:
        facts.append(t.plural("{n} round to go", "{n} rounds to go", state.steps))
    if state.heartbeat_age is None:
        facts.append(t("never started on this database"))
    else:
        facts.append(t("last sign of life {age} ago", age=t.duration(state.heartbeat_age)))
    return facts
