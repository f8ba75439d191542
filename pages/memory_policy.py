"""Memory and policy: how far experience reaches, what is remembered and learned (design section 12)."""

from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.policy.phases import PHASES, Readiness, missing
from core.settings import Settings
from core.views.memory import remembering_environments
from core.views.policy import PhaseState, phase_state
from pages.address import choice, keep
from pages.context import Context, actor, can, context, settings_now, translator
from pages.labels import POLICY_PHASES, label
from pages.memory_list import show_memories
from pages.memory_state import show_state
from pages.policy_explanations import show_explanations
from pages.policy_snapshots import show_policy
from pages.widgets import perform, show_notice

_PARTS = {
    "phases": (mark("Phases"), ":material/stairs:"),
    "memories": (mark("Memories"), ":material/inventory_2:"),
    "state": (mark("A state"), ":material/manage_search:"),
    "policy": (mark("Snapshots"), ":material/photo_library:"),
    "explanations": (mark("What was learned"), ":material/lightbulb:"),
}
_MEANING = {
    "static": mark("Rules alone: nothing is taken from experience."),
    "recall": mark("Remembered decisions in situations like the one at hand are shown in the prompt."),
    "reward": mark("In addition, what they led to speaks for or against each action: advantages, and a learned Q."),
    "adapt": mark("In addition, a small network learns a bias for each action, watched by a guardrail."),
}
_PAGE = "memory_page"


def _part(t: Translator) -> str:
    key = "memory_part"
    given = st.query_params.get(key, "phases")
    st.session_state[key] = given if given in _PARTS else "phases"
    part = st.segmented_control(
        t("Part of the page"),
        list(_PARTS),
        format_func=lambda part: f"{_PARTS[part][1]} {t(_PARTS[part][0])}",
        key=key,
        required=True,
        on_change=keep,
        args=(key, _PAGE),
        label_visibility="collapsed",
    )
    return part or "phases"


def _environment(app: Context, t: Translator, settings: Settings) -> str:
    """Return whose experience is shown: the agent's, unless there is that of others too and one of them is chosen."""
    with app.database.read() as session:
        known = remembering_environments(session)
    own = settings.environment.name.removeprefix("recorded:")
    offered = {one: one for one in (*(one for one in known if one == own), *(one for one in known if one != own))}
    if len(offered) < 2:
        return next(iter(offered), own)
    return choice(t("Environment"), "memory_environment", offered, _PAGE)


def _phases(app: Context, t: Translator, settings: Settings, environment: str) -> None:
    st.caption(
        t(
            "Experience reaches agents step by step. Each phase holds all before it, and is unlocked when what it "
            "needs is there; the way back is always open. A change takes effect with the next round."
        )
    )
    with app.database.read() as session:
        state = phase_state(session, environment, settings, app.clock())
    reached = PHASES.index(state.phase)
    needs = {one.phase: one for one in state.readiness}
    for place, phase in enumerate(PHASES):
        with st.container(border=True):
            _heading(t, phase, place, reached)
            st.text(t(_MEANING[phase]))
            if phase in needs:
                _checks(t, needs[phase])
            _choose(app, t, state, phase, environment)


def _heading(t: Translator, phase: str, place: int, reached: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(f"{t.number(place)} · {label(t, POLICY_PHASES, phase)}", anchor=False, width="content")
        if place == reached:
            st.badge(t("In force"), icon=":material/check_circle:", color="green")
        elif place < reached:
            st.badge(t("Included"), icon=":material/check:", color="gray")


def _checks(t: Translator, needs: Readiness) -> None:
    for check in needs.checks:
        icon = ":green[:material/check:]" if check.met else ":orange[:material/hourglass_top:]"
        told = t("there") if check.met else t("missing")
        st.markdown(f"{icon} **{told}** · {t(check.template, **check.values)}")


def _choose(app: Context, t: Translator, state: PhaseState, phase: str, environment: str) -> None:
    if phase == state.phase or not can(Action.CHOOSE_PHASE):
        return
    forward = PHASES.index(phase) > PHASES.index(state.phase)
    lacking = len(missing(state.readiness, phase)) if forward else 0
    if lacking:
        st.caption(t.plural("{n} thing is still missing.", "{n} things are still missing.", lacking))
    name = label(t, POLICY_PHASES, phase)
    pressed = st.button(
        t("Go on to {phase}", phase=name) if forward else t("Go back to {phase}", phase=name),
        icon=":material/arrow_forward:" if forward else ":material/arrow_back:",
        key=f"memory_phase_{phase}",
        disabled=bool(lacking),
    )
    if pressed:
        action = partial(
            curation.choose_phase,
            app.database,
            phase=phase,
            environment=environment,
            settings=app.settings,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Phase in force from the next round on: {phase}", phase=name))


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Memory and policy"), anchor=False)
    show_notice()
    settings = settings_now(app)
    part = _part(t)
    environment = _environment(app, t, settings)
    if part == "memories":
        show_memories(app, t, environment)
    elif part == "state":
        show_state(t, settings, environment)
    elif part == "policy":
        show_policy(app, t, settings, environment)
    elif part == "explanations":
        show_explanations(app, t, environment)
    else:
        _phases(app, t, settings, environment)


main()
