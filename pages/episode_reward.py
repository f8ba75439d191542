"""An episode's reward: what the three signals say, who set them, and the way to say how it ended after all."""

from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.views.rewards import Feedback, JudgedBy, RewardStory, Signals
from pages.context import Context, actor, can
from pages.labels import GRADES, label
from pages.widgets import address, badge, has_reason, perform, plain, seen_version

_SIGNALS = {"high": mark("High"), "unclear": mark("Unclear"), "negative": mark("Negative")}
_SIGNAL_LOOKS = {
    "high": ("green", ":material/check:"),
    "unclear": ("orange", ":material/remove:"),
    "negative": ("red", ":material/close:"),
}
_JUDGED_BY = {
    JudgedBy.PRESET: mark("Preset: nothing called for the judge"),
    JudgedBy.MODEL: mark("Said by the model"),
    JudgedBy.SETTLED: mark("Not asked: another signal is negative, so its answer could change nothing"),
    JudgedBy.FAILED: mark("Asked in vain: the call failed"),
    JudgedBy.PERSON: mark("Not asked: a person said how it ended first"),
}
_DISPLEASED = ":material/sentiment_dissatisfied:"
_VERDICTS = {
    "success": mark("A success"),
    "partial": mark("A partial success"),
    "failure": mark("A failure"),
    "taken_over": mark("A person had to take over"),
}


def show_reward(app: Context, t: Translator, story: RewardStory) -> None:
    """Show the reward, and to whoever may say how the episode ended, the form for it."""
    st.subheader(t("Reward"), anchor=False)
    if story.signals is None:
        st.caption(t("Not worked out yet; the next round does it."))
    else:
        _signals(t, story.signals, said=story.feedback is not None)
    if story.feedback is not None:
        _said(t, story.feedback)
    if can(Action.GIVE_FEEDBACK):
        _form(app, t, story)


def _signals(t: Translator, found: Signals, *, said: bool) -> None:
    value, rules, tools, judge = st.columns(4)
    with value.container(border=True, height="stretch"):
        st.metric(t("Reward"), t.number(found.value, 1))
        st.caption(t("By a person's word") if said else t("From these three signals"))
    with rules.container(border=True, height="stretch"):
        _signal(t, t("End state"), found.rules, t("Grade, errors, time-outs"))
    with tools.container(border=True, height="stretch"):
        _signal(t, t("Tools"), found.tools, t("Whether its tool calls worked"))
    with judge.container(border=True, height="stretch"):
        _signal(t, t("Judge"), found.judge, t(_JUDGED_BY[found.judged_by]))
        if found.judge_reason:
            st.caption(plain(found.judge_reason))
    if found.displeasure:
        words = t("Signs of displeasure in the user's words: {words}", words=plain(", ".join(found.displeasure)))
        st.caption(" ".join([_DISPLEASED, words]))


def _signal(t: Translator, name: str, value: str, told: str) -> None:
    st.caption(name)
    badge(t, _SIGNALS, _SIGNAL_LOOKS, value)
    st.caption(told)


def _said(t: Translator, said: Feedback) -> None:
    with st.container(border=True):
        st.markdown(
            t(
                "{who} said on {when}: **{verdict}**",
                who=address(said.by),
                when=t.moment(said.at),
                verdict=label(t, _VERDICTS, said.verdict),
            )
        )
        if said.reason:
            st.text(said.reason)
        st.caption(
            t(
                "Recorded before: {grade}, reward {reward}. What was said counts in its place, everywhere.",
                grade=label(t, GRADES, said.recorded_grade),
                reward=t.number(said.recorded_reward, 2),
            )
        )


def _form(app: Context, t: Translator, story: RewardStory) -> None:
    key = f"episodes_{story.id}"
    with (
        seen_version(story) as version,
        st.expander(t("Say how it ended"), icon=":material/rate_review:"),
        st.form(f"{key}_form", border=False),
    ):
        st.caption(t("Your word beats all signals. The statistics of the rules in its prompt follow it, once."))
        named = {one: t(name) for one, name in _VERDICTS.items()}
        verdict = st.radio(
            t("How did it end?"), [*named], format_func=lambda one: named[one], index=None, key=f"{key}_verdict"
        )
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Say so"), key=f"{key}_send")
    if not sent:
        return
    if verdict is None:
        st.error(t("Choose how it ended first."), icon=":material/error:")
    elif has_reason(t, reason):
        act = partial(
            curation.give_feedback,
            app.database,
            episode_id=story.id,
            version=version,
            verdict=verdict,
            reason=reason.strip(),
            actor=actor(),
            clock=app.clock,
        )
        perform(t, act, t("Noted, and counted anew: {verdict}", verdict=named[verdict]))
