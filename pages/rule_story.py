"""One rule: what it says, how it did, its history, its relatives, and archive or restore."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.effects import MetricEffect
from core.views.library import RuleChange, RuleStory
from pages.context import ACTOR, Context
from pages.labels import EVENTS, FIELDS, ORIGINS, STATES, label
from pages.rule_effects import show_effects
from pages.widgets import episode_link, perform, plain, rate_card, rule_badges, rule_link, seen_version


def show_story(app: Context, t: Translator, story: RuleStory, effects: Sequence[MetricEffect]) -> None:
    """Show the rule's page."""
    row = story.row
    st.title(plain(row.name), anchor=False)
    rule_badges(t, row)
    st.code(row.text, language=None, wrap_lines=True)
    if story.content.rationale:
        st.text(story.content.rationale)
    st.caption(_facts(t, story))
    _figures(t, story)
    history, effect, uses, relatives = st.tabs(
        [t("History"), t("Effect"), t("Uses by round"), t("Evidence and relatives")]
    )
    with history:
        for change in story.history:
            _change(t, change)
    with effect:
        show_effects(t, effects)
    with uses:
        _uses(t, story)
    with relatives:
        _relatives(t, story)
    with seen_version(row) as version:
        _state(app, t, story, version)


def _facts(t: Translator, story: RuleStory) -> str:
    row = story.row
    facts = [label(t, ORIGINS, row.origin), t.moment(row.created_at)]
    if row.created_round is not None:
        facts.append(t("round {number}", number=t.number(row.created_round)))
    facts.append(t("version {number}", number=t.number(row.version)))
    if story.tags:
        facts.append(t("tags: {tags}", tags=plain(", ".join(story.tags))))
    return " · ".join(facts)


def _figures(t: Translator, story: RuleStory) -> None:
    first, second, third = st.columns(3)
    with first:
        rate_card(t, t("Success with it"), story.row)
    second.metric(t("Reward against the baseline"), t.signed(story.row.avg_delta), border=True, height="stretch")
    third.metric(t("Verified successes"), t.number(story.row.verified), border=True, height="stretch")


def _change(t: Translator, change: RuleChange) -> None:
    with st.container(border=True):
        moved = change.from_state and change.from_state != change.to_state
        what = label(t, EVENTS, change.kind)
        if moved:
            what += f": {label(t, STATES, change.from_state)} → {label(t, STATES, change.to_state)}"
        st.markdown(f"**{what}**")
        facts = [t("by the loop") if change.actor == "system" else t("by {name}", name=plain(change.actor))]
        facts.append(t.moment(change.at))
        if change.round_number is not None:
            facts.append(t("round {number}", number=t.number(change.round_number)))
        if change.reason:
            facts.append(plain(t(change.reason, **change.reason_values)))
        st.caption(" · ".join(facts))
        if change.changed:
            st.table([_changed(t, field, pair) for field, pair in change.changed.items()], hide_index=True)


def _changed(t: Translator, field: str, pair: tuple[Any, Any]) -> dict[str, str]:
    before, after = pair
    return {
        t("Field"): label(t, FIELDS, field),
        t("Before"): plain(_written(t, before)),
        t("After"): plain(_written(t, after)),
    }


def _written(t: Translator, value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "–"
    return t.number(value, 2) if isinstance(value, float) else str(value)


def _uses(t: Translator, story: RuleStory) -> None:
    if not story.uses:
        st.caption(t("No prompt has carried this rule yet."))
        return
    rows = [
        {
            t("Round"): "–" if use.round_number is None else t.number(use.round_number),
            t("Retrieved"): use.retrieved,
            t("In the prompt"): use.served,
            t("Of these passed"): use.passed,
            t("Not followed"): use.violated,
        }
        for use in story.uses
    ]
    st.dataframe(rows, hide_index=True, alt=t("Uses by round"))


def _relatives(t: Translator, story: RuleStory) -> None:
    for name, rows in ((t("Comes from"), story.parents), (t("Became"), story.children)):
        if rows:
            st.caption(name)
            for row in rows:
                rule_link(t, row.id, row.name)
    if story.evidence:
        st.caption(t("Episodes it rests on"))
        for place, episode_id in enumerate(story.evidence, 1):
            episode_link(t, episode_id, t("Episode {number}", number=t.number(place)))
    if not (story.parents or story.children or story.evidence):
        st.caption(t("No episodes or relatives are attached to this rule."))


def _state(app: Context, t: Translator, story: RuleStory, version: int) -> None:
    archived = story.row.state == "archived"
    key = f"library_{story.row.id}"
    title = t("Restore this rule") if archived else t("Archive this rule")
    with st.expander(title, icon=":material/inventory_2:"), st.form(f"{key}_form", border=False):
        if archived:
            st.caption(t("It comes back as a candidate and has to prove itself again."))
        else:
            st.caption(t("It leaves all prompts from the next episode on; you can restore it later."))
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Restore") if archived else t("Archive"), key=f"{key}_send")
    if sent and not reason:
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif sent:
        do = curation.restore if archived else curation.archive
        action = partial(
            do,
            app.database,
            rule_id=story.row.id,
            version=version,
            reason=reason,
            actor=ACTOR,
            clock=app.clock,
        )
        name = plain(story.row.name)
        perform(t, action, t("Restored: {name}", name=name) if archived else t("Archived: {name}", name=name))
