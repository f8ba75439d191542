"""What experience says of a typed state: its nearest memories, and what speaks for or against each action."""

from collections.abc import Sequence

import streamlit as st

from core.episodes.memory.index import Near
from core.errors import UserError
from core.experience_preview import ActionView, StateView
from core.i18n import Translator
from core.settings import Settings
from pages.labels import TIERS, label
from pages.memory_list import no_memories
from pages.models import experience_reader
from pages.widgets import episode_link, plain

_FEW = 3
"""Neighbours that took an action: fewer say too little of it."""
_SHOWN = 5
"""Memories shown at once; the rest unfolds."""


def show_state(t: Translator, settings: Settings, environment: str) -> None:
    """Let the visitor type a state, and show what experience says of it."""
    state = st.text_area(
        t("State"),
        key="memory_state",
        placeholder=t("A task in its user's words; on a further line what a tool said last"),
        persist_state="session",
    )
    st.caption(t("Whatever phase is in force: this is what experience would say."))
    if not (state or "").strip():
        return
    try:
        with st.spinner(t("Looking up memories …")):
            found = experience_reader().look(settings, environment, state or "")
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    if not found.near:
        no_memories(t)
        return
    if not found.familiar:
        st.warning(
            t("This state is unlike what is remembered. An agent would be told nothing of what follows."),
            icon=":material/explore_off:",
        )
    _actions(t, found)
    _near(t, found)


def _actions(t: Translator, found: StateView) -> None:
    st.subheader(t("Actions"), anchor=False)
    first, second = st.columns(2)
    n = len(found.near)
    first.metric(t("V: mean return of {n} neighbours", n=t.number(n)), t.signed(found.value), border=True)
    updates = t.plural("{n} update", "{n} updates", found.updates) if found.updates is not None else t("none yet")
    second.metric(t("Adapter"), updates, border=True)
    st.table(_rows(t, found.actions), hide_index=True)
    st.caption(
        t(
            "Q is the mean return of the neighbours that took the action, its advantage is Q less V. Both the "
            "advantage and the adapter's bias are added to the model's own preference. An action that fewer than {n} "
            "neighbours took is too little tried to tell.",
            n=t.number(_FEW),
        )
    )


def _rows(t: Translator, actions: Sequence[ActionView]) -> list[dict[str, str]]:
    return [
        {
            t("Action"): plain(one.action),
            t("Tried"): t.number(one.tried),
            "Q": t.signed(one.q),
            t("Advantage"): _advantage(t, one),
            t("Adapter's bias"): t.signed(one.bias),
            t("Together, in logits"): t.signed(one.logit),
        }
        for one in actions
    ]


def _advantage(t: Translator, one: ActionView) -> str:
    if not one.tried:
        return t("not tried")
    told = t.signed(one.advantage)
    return told if one.tried >= _FEW else f"{told} – {t('too few to tell (n = {n})', n=t.number(one.tried))}"


def _near(t: Translator, found: StateView) -> None:
    st.subheader(t("Nearest memories"), anchor=False)
    for one in found.near[:_SHOWN]:
        _memory(t, one)
    further = found.near[_SHOWN:]
    if further:
        with st.expander(t.plural("{n} more memory", "{n} more memories", len(further))):
            for one in further:
                _memory(t, one)


def _memory(t: Translator, one: Near) -> None:
    memory = one.memory
    with st.container(border=True):
        st.markdown(f"**{plain(memory.action)}**")
        facts = (
            t("similarity {value}", value=t.number(one.similarity, 2)),
            t("return {value}", value=t.signed(memory.value)),
            t("Q {value}", value=t.signed(memory.q)),
            label(t, TIERS, memory.tier),
        )
        st.caption(" · ".join(facts))
        st.text(memory.state)
        episode_link(t, memory.episode_id)
