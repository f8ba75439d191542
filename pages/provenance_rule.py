"""One rule's provenance: what it does, over time and by task type, and where it came from."""

import json
from collections.abc import Sequence

import streamlit as st

from core.effects import Effect
from core.i18n import Translator
from core.views.effects import effects_by, rule_effects
from core.views.health import METRICS
from core.views.provenance import Origin, origin
from pages.context import Context
from pages.labels import METRICS as METRIC_NAMES
from pages.labels import ORIGINS, OUTCOMES, PURPOSES, label
from pages.rule_effects import effect_said, finding_said, show_effects
from pages.widgets import episode_link, plain, rule_link

_EPISODES = 10


def show_rule(app: Context, t: Translator, rule_id: str) -> None:
    """Show what a rule does and where it came from."""
    with app.database.read() as session:
        effects, source = rule_effects(session, rule_id), origin(session, rule_id)
    if source is None:
        st.warning(t("There is no rule {id}.", id=plain(rule_id)), icon=":material/search_off:")
        return
    st.subheader(t("What it does"), anchor=False)
    show_effects(t, effects)
    metric = st.selectbox(
        t("Over time and by task type"),
        METRICS,
        format_func=lambda one: label(t, METRIC_NAMES, one),
        key="provenance_rule_metric",
    )
    left, right = st.columns(2)
    with app.database.read() as session:
        by_round = effects_by(session, rule_id, metric, "round")
        by_type = effects_by(session, rule_id, metric, "type")
    with left:
        _split(t, metric, t("Round"), {t.number(int(key)): one for key, one in by_round.items()})
    with right:
        _split(t, metric, t("Task type"), {plain(str(key)): one for key, one in by_type.items()})
    st.subheader(t("Where it came from"), anchor=False)
    _origin(t, source)


def _split(t: Translator, metric: str, heading: str, effects: dict[str, Effect]) -> None:
    if not effects:
        st.caption(t("No training prompt has found it yet."))
        return
    rows = [
        {
            heading: key,
            t("Effect of the rule"): effect_said(t, one),
            t("What it says"): finding_said(t, metric, one.finding)[0],
        }
        for key, one in effects.items()
    ]
    st.table(rows, hide_index=True)


def _origin(t: Translator, source: Origin) -> None:
    st.caption(label(t, ORIGINS, source.how))
    for parent, name in source.parents.items():
        rule_link(t, parent, name)
    episode_list(t, t("Episodes it rests on"), source.evidence)
    if not source.reflection_id:
        return
    st.markdown(f"**{t('The reflection that wrote it, round {number}', number=t.number(source.round_number))}**")
    left, right = st.columns(2)
    with left:
        episode_list(t, t("It was shown as successes"), source.passing)
    with right:
        episode_list(t, t("It was shown as failures"), source.failing)
    with st.expander(t("What it found and asked for"), icon=":material/compare_arrows:"):
        st.code(_as_text({"differences": source.differences, "operation": source.operation}), language="json")
    _calls(t, source)


def episode_list(t: Translator, title: str, episodes: Sequence[str]) -> None:
    """Show how many episodes there are, and links to the first ones when unfolded; nothing if there are none."""
    if not episodes:
        return
    with st.expander(f"{title} ({t.number(len(episodes))})", icon=":material/forum:"):
        for episode in episodes[:_EPISODES]:
            episode_link(t, episode, plain(episode))


def _calls(t: Translator, source: Origin) -> None:
    st.markdown(f"**{t('Model calls made for it')}**")
    if not source.calls:
        st.caption(t("Calls of rounds run by an earlier version do not name their reflection."))
        return
    rows = [
        {
            t("Purpose"): label(t, PURPOSES, call.purpose),
            t("Model"): plain(call.model),
            t("Attempt"): t.number(call.attempt),
            t("Outcome"): label(t, OUTCOMES, call.outcome),
            t("Input tokens"): t.number(call.input_tokens),
            t("Output tokens"): t.number(call.output_tokens),
            t("USD"): t.money(call.cost_usd, 4),
        }
        for call in source.calls
    ]
    st.table(rows, hide_index=True)


def _as_text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=list)
