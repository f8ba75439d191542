"""Review of one candidate: its text, its evidence, and the decision."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.review import ConflictCard, Contrast, RuleItem
from pages.context import Context, actor, settings_now
from pages.labels import DETECTORS, FIELDS, ORIGINS, label
from pages.widgets import digest_card, perform, plain, rate_card, rule_badges, rule_link, seen_version

_LONG = ("condition", "action", "exclusion", "rationale")


def show_rule(app: Context, t: Translator, item: RuleItem) -> None:
    """Show a candidate and offer approve, edit and approve, refuse."""
    row = item.row
    with st.container(border=True):
        rule_badges(t, row)
        st.subheader(plain(row.name), anchor=False)
        st.caption(t("As it stands in a prompt:"))
        st.code(row.text, language=None, wrap_lines=True)
        if item.content.rationale:
            st.text(item.content.rationale)
        st.caption(_origin(t, item))
        if item.hidden:
            st.warning(
                t(
                    "The text holds characters that you cannot see: {names}",
                    names=plain(", ".join(item.hidden)),
                ),
                icon=":material/visibility_off:",
            )
        with seen_version(row) as version:
            _decide(app, t, item, version)
    _figures(app, t, item)
    if item.conflicts:
        st.subheader(t("Contradicts another rule"), anchor=False)
        for card in item.conflicts:
            _conflict(app, t, item, card)
    _evidence(t, item)


def _origin(t: Translator, item: RuleItem) -> str:
    origin = label(t, ORIGINS, item.row.origin)
    number = item.row.created_round
    return origin if number is None else origin + " · " + t("round {number}", number=t.number(number))


def _figures(app: Context, t: Translator, item: RuleItem) -> None:
    row, needed = item.row, settings_now(app).lifecycle.verified_successes
    first, second, third = st.columns(3)
    first.metric(
        t("Verified successes"),
        t("{n} of {needed}", n=t.number(min(row.verified, needed)), needed=t.number(needed)),
        help=t(
            "Episodes that passed with the rule in the prompt and not violated. It goes live after {needed}.",
            needed=needed,
        ),
        border=True,
        height="stretch",
    )
    with second:
        rate_card(t, t("Success with it"), row)
    third.metric(
        t("Reward against the baseline"),
        t.signed(row.avg_delta),
        help=t("Mean of an episode's reward minus the usual reward of its task type."),
        border=True,
        height="stretch",
    )


def _decide(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    ways = {"approve": t("Approve"), "edit": t("Edit and approve"), "refuse": t("Refuse")}
    way = st.segmented_control(
        t("Your decision"),
        list(ways),
        format_func=ways.__getitem__,
        default="approve",
        required=True,
        key=f"{key}_way",
    )
    if way == "edit":
        _edit(app, t, item, version)
    elif way == "refuse":
        _refuse(app, t, item, version)
    else:
        _approve(app, t, item, version)


def _approve(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    row = item.row
    at_once = st.toggle(
        t("Put it into prompts at once"),
        key=f"{key}_at_once",
        help=t("Otherwise it goes live by itself after enough verified successes."),
    )
    if st.button(t("Approve"), type="primary", icon=":material/check:", key=f"{key}_approve", shortcut="a"):
        action = partial(
            curation.approve,
            app.database,
            settings=app.settings,
            rule_id=row.id,
            version=version,
            actor=actor(),
            clock=app.clock,
            activate=at_once,
        )
        done = (
            t("Approved and active: {name}", name=plain(row.name))
            if at_once
            else t("Approved: {name}", name=plain(row.name))
        )
        perform(t, action, done)


def _edit(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    with st.form(f"{key}_form", border=False):
        content = _fields(t, item, key)
        sent = st.form_submit_button(t("Save and approve"), type="primary", icon=":material/check:", key=f"{key}_save")
    if sent:
        action = partial(
            curation.edit_and_approve,
            app.database,
            settings=app.settings,
            rule_id=item.row.id,
            version=version,
            content=content,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Changed and approved: {name}", name=plain(str(content["name"]))))


def _fields(t: Translator, item: RuleItem, key: str) -> dict[str, Any]:
    content: dict[str, Any] = {"name": st.text_input(label(t, FIELDS, "name"), item.content.name, key=f"{key}_name")}
    for field in _LONG:
        content[field] = st.text_area(label(t, FIELDS, field), getattr(item.content, field), key=f"{key}_{field}")
    return content


def _refuse(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    key = f"review_{item.row.id}"
    with st.form(f"{key}_refusal", border=False):
        reason = st.text_input(t("Why?"), key=f"{key}_reason", help=t("Kept with the rule, so that others see why."))
        sent = st.form_submit_button(t("Refuse"), type="primary", icon=":material/block:", key=f"{key}_refuse")
    if sent and not reason:
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif sent:
        action = partial(
            curation.refuse,
            app.database,
            rule_id=item.row.id,
            version=version,
            reason=reason,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Refused: {name}", name=plain(item.row.name)))


def _conflict(app: Context, t: Translator, item: RuleItem, card: ConflictCard) -> None:
    with st.container(border=True):
        rule_badges(t, card.other)
        st.text(card.other.text)
        st.caption(f"{label(t, DETECTORS, card.detector)}: {plain(t(card.evidence, **card.evidence_values))}")
        if card.suggestion:
            kept = item.row.name if card.suggestion == item.row.id else card.other.name
            st.caption(t("Suggested: keep “{name}”", name=plain(kept)))
        rule_link(t, card.other.id, card.other.name)
        ways = (
            (t("Keep this rule"), item.row.id),
            (t("Keep the other"), card.other.id),
            (t("Not a conflict"), None),
        )
        with st.container(horizontal=True, gap="small"):
            for place, (name, keep) in enumerate(ways):
                if st.button(name, key=f"review_conflict_{card.id}_{place}"):
                    action = partial(
                        curation.resolve_conflict,
                        app.database,
                        conflict_id=card.id,
                        keep=keep,
                        actor=actor(),
                        clock=app.clock,
                    )
                    perform(t, action, t("Conflict settled: {choice}", choice=name))


def _evidence(t: Translator, item: RuleItem) -> None:
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
        st.table([_difference(t, one) for one in contrast.differences], hide_index=True)
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
