"""The evidence for a candidate: its figures, what it would have touched, and where good and bad episodes part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.effects import Effect, Finding
from core.i18n import TOO_FEW, Translator, mark
from core.views.parting import Parting, Step
from core.views.review import Contrast, RuleItem
from core.views.touched import Touched
from pages.widgets import digest_card, episode_link, plain, rate_card

_LONGEST = 1200
"""Characters of an agent's message or a tool's answer that are shown here; the rest is in the episode."""

_FINDINGS = {
    Finding.ABOVE: mark("It helps"),
    Finding.BELOW: mark("It harms"),
    Finding.UNCLEAR: mark("No effect to be seen"),
    Finding.TOO_FEW: mark("Too few to tell"),
}


@dataclass(frozen=True)
class Evidence:
    """What is known about a candidate besides its own row; ``needed`` are the successes that verify it."""

    effect: Effect
    parting: Parting | None
    touched: Touched
    needed: int


def show_evidence(t: Translator, item: RuleItem, evidence: Evidence) -> None:
    """Show all of it, the episodes last."""
    _figures(t, item, evidence)
    _parting(t, evidence.parting)
    _touched(t, evidence.touched)
    _episodes(t, item)


def _figures(t: Translator, item: RuleItem, evidence: Evidence) -> None:
    row, needed = item.row, evidence.needed
    cards = st.grid(min_column_width=150)
    cards.metric(
        t("Verified successes"),
        t("{n} of {needed}", n=t.number(min(row.verified, needed)), needed=t.number(needed)),
        help=t(
            "Episodes that passed with the rule in the prompt and not violated. It goes live after {needed}.",
            needed=needed,
        ),
        border=True,
        height="stretch",
    )
    with cards:
        rate_card(t, t("Success with it"), row)
    cards.metric(
        t("Reward against the baseline"),
        t.signed(row.avg_delta),
        help=t("Mean of an episode's reward minus the usual reward of its task type."),
        border=True,
        height="stretch",
    )
    st.caption(f"{t('Effect on success so far:')} {_effect(t, evidence.effect)}")


def _effect(t: Translator, effect: Effect) -> str:
    counts = {"kept": t.number(effect.n_with), "without": t.number(effect.n_without)}
    said = t(_FINDINGS[effect.finding])
    if effect.finding == Finding.TOO_FEW:
        counted = t("{kept} episodes with it, {without} without", **counts)
        return f"{said} ({counted}; {t('it takes {n} on either side', n=t.number(TOO_FEW))})"
    figures = t(
        "{value} ({low} to {high}; {kept} episodes with it, {without} without)",
        value=t.signed(effect.value),
        low=t.signed(effect.low),
        high=t.signed(effect.high),
        **counts,
    )
    return f"{said}: {figures}"


def _parting(t: Translator, found: Parting | None) -> None:
    st.subheader(t("Where good and bad episodes part"), anchor=False)
    if found is None:
        st.caption(t("There is no pair of a passing and a failing episode to compare."))
        return
    about = t("Two episodes of the same task.") if found.same_task else t("Two episodes of different tasks.")
    same = t.plural("The first {n} step is the same.", "The first {n} steps are the same.", found.common)
    st.caption(about + " " + (same if found.common else t("They part at the first step.")))
    sides = ((t("**Passed**"), found.passing, found.passing_id), (t("**Failed**"), found.failing, found.failing_id))
    for column, (title, step, episode_id) in zip(st.columns(2), sides, strict=True):
        with column, st.container(border=True):
            st.markdown(title)
            _step(t, step)
            episode_link(t, episode_id)


def _step(t: Translator, step: Step | None) -> None:
    if step is None:
        st.caption(t("It had ended by then."))
        return
    if step.said.strip():
        st.text(step.said[:_LONGEST])
    for call in step.calls:
        st.code(call[:_LONGEST], language=None, wrap_lines=True)
    for result in step.results:
        st.caption(t("What came back:"))
        st.code(result[:_LONGEST] or "–", language=None, wrap_lines=True)


def _touched(t: Translator, found: Touched) -> None:
    st.subheader(t("Past tasks it would have touched"), anchor=False)
    if not found.looked_at:
        st.caption(t("No agent has tried a task of its domain yet."))
        return
    st.text(
        t(
            "{tasks} of the {looked_at} newest tasks; {passed} of their {episodes} episodes passed.",
            tasks=t.number(found.tasks),
            looked_at=t.number(found.looked_at),
            passed=t.number(found.passed),
            episodes=t.number(found.episodes),
        )
    )
    st.caption(_how(t, found))
    if found.best:
        st.table(
            [
                {
                    t("Task"): plain(one.query[:300]),
                    t("Fit"): t.number(one.likeness, 2),
                    t("Passed"): t("{passed} of {n}", passed=t.number(one.passed), n=t.number(one.episodes)),
                }
                for one in found.best
            ],
            hide_index=True,
            alt=t("The past tasks that the rule fits best"),
        )


def _how(t: Translator, found: Touched) -> str:
    if found.by == "words":
        return t("Told by words, as embeddings are missing: half of the condition's words occur in the task.")
    if found.few_rules:
        return t(
            "Fewer than {n} rules are live, so each prompt would have had room for it. Fit is the cosine of the "
            "stored embeddings of condition and task.",
            n=t.number(found.rivals),
        )
    return t(
        "Told by the stored embeddings of condition and task: it is nearer than all but {n} live rules.",
        n=t.number(found.rivals - 1),
    )


def _episodes(t: Translator, item: RuleItem) -> None:
    if item.contrast is not None:
        st.subheader(t("What it was learned from"), anchor=False)
        _contrast(t, item.contrast)
    elif item.evidence:
        st.subheader(t("Episodes it rests on"), anchor=False)
        for card in item.evidence:
            digest_card(t, card)
    else:
        st.caption(t("No episodes are attached to this rule."))


def _contrast(t: Translator, contrast: Contrast) -> None:
    if contrast.differences:
        st.table(
            [_difference(t, one) for one in contrast.differences],
            hide_index=True,
            alt=t("The differences that the reflection found"),
        )
    left, right = st.columns(2)
    with left:
        st.markdown(t("**Episodes that passed**"))
        for card in contrast.passing:
            digest_card(t, card)
    with right:
        st.markdown(t("**Episodes that failed**"))
        for card in contrast.failing:
            digest_card(t, card)


def _difference(t: Translator, one: Mapping[str, Any]) -> dict[str, str]:
    return {
        t("Decision"): plain(str(one.get("decision_point", ""))),
        t("Where it passed"): plain(str(one.get("passing_did", ""))),
        t("Where it failed"): plain(str(one.get("failing_did", ""))),
    }
