"""Reader for one trajectory: its reward, the rules in its prompt, then the conversation, the decisive step marked."""

import streamlit as st

from core.i18n import Translator
from core.views.episodes import EpisodeStory, Message, ServedRule
from core.views.rewards import RewardStory
from pages.context import Context
from pages.episode_reward import show_reward
from pages.labels import (
    ARMS,
    COMPLIANCE,
    COMPLIANCE_LOOKS,
    DISPOSITIONS,
    GRADE_LOOKS,
    GRADES,
    ROLES,
    STATE_LOOKS,
    STATES,
    label,
)
from pages.widgets import badge, digest_text, plain, rule_link

_AVATARS = {
    "user": ":material/assignment:",
    "assistant": ":material/smart_toy:",
    "tool": ":material/terminal:",
}


def show_episode(app: Context, t: Translator, story: EpisodeStory, reward: RewardStory | None) -> None:
    """Show the episode, and its reward if it has one."""
    row = story.row
    st.title(plain(row.task_type), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge(t, GRADES, GRADE_LOOKS, row.grade)
        st.badge(label(t, ARMS, row.arm), color="gray", icon=":material/labs:")
        st.caption(" · ".join(_facts(t, story)), width="content")
    st.text(row.query)
    if story.error:
        st.error(plain(story.error), title=t("The agent could not finish"), icon=":material/error:")
    if story.digest:
        with st.expander(t("Digest"), icon=":material/summarize:"):
            digest_text(t, story.digest)
    if reward is not None:
        show_reward(app, t, reward)
    st.subheader(t("Rules in its prompt"), anchor=False)
    _rules(t, story)
    st.subheader(t("What happened"), anchor=False)
    for message in story.messages:
        _message(t, message, decisive=message.index == story.decisive_step)


def _facts(t: Translator, story: EpisodeStory) -> list[str]:
    row = story.row
    facts = []
    if row.round_number is not None:
        facts.append(t("round {number}", number=t.number(row.round_number)))
    facts += [
        t("reward {reward}", reward=t.number(row.reward, 2)),
        t.plural("{n} turn", "{n} turns", row.turns),
        t(
            "{failed} of {calls} tool calls failed",
            failed=t.number(row.tool_errors),
            calls=t.number(row.tool_calls),
        ),
        plain(story.model),
        t.moment(row.started_at),
    ]
    return [fact for fact in facts if fact]


def _rules(t: Translator, story: EpisodeStory) -> None:
    if story.library_left_out:
        st.info(
            t("The whole library was left out by chance, to measure what it is worth."),
            icon=":material/casino:",
        )
    if not story.rules:
        st.caption(t("No rule was retrieved for this prompt."))
        return
    served = [rule for rule in story.rules if rule.disposition == "served"]
    others = [rule for rule in story.rules if rule.disposition != "served"]
    for place, rule in enumerate(served, 1):
        _rule(t, rule, place)
    if others:
        with st.expander(
            t.plural("{n} retrieved rule not in the prompt", "{n} retrieved rules not in the prompt", len(others))
        ):
            for rule in others:
                _rule(t, rule, None)


def _rule(t: Translator, rule: ServedRule, place: int | None) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if place is None:
                st.badge(label(t, DISPOSITIONS, rule.disposition), color="gray", icon=":material/block:")
            else:
                st.badge(t.number(place), color="primary")
                badge(t, COMPLIANCE, COMPLIANCE_LOOKS, rule.compliance)
            badge(t, STATES, STATE_LOOKS, rule.state)
            st.caption(_served(t, rule), width="content")
        st.text(rule.text)
        rule_link(t, rule.rule_id, rule.name)


def _served(t: Translator, rule: ServedRule) -> str:
    facts = [
        t("score {score}", score=t.number(rule.score, 2)),
        t("version {number}", number=t.number(rule.served_version)),
    ]
    if rule.version != rule.served_version:
        facts.append(t("now version {number}: the exact text is in the system prompt", number=t.number(rule.version)))
    if rule.verified:
        facts.append(t("counted as a verified success"))
    return " · ".join(facts)


def _message(t: Translator, message: Message, *, decisive: bool) -> None:
    name = label(t, ROLES, message.role) + (f": {plain(message.tool)}" if message.tool else "")
    if message.role == "system":
        with st.expander(name, icon=":material/settings:"):
            st.code(message.text, language=None, wrap_lines=True)
        return
    with st.chat_message(message.role, avatar=_AVATARS.get(message.role, ":material/chat:")):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(name, width="content")
            if decisive:
                st.badge(t("Decisive step"), icon=":material/flag:", color="violet")
        if message.text:
            st.text(message.text)
        for call in message.calls:
            st.code(f"{call.name}({call.arguments})", language=None, wrap_lines=True)
