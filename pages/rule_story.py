"""One rule: what it says, how it did, its history, its relatives; archive, restore, take a merge apart."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.effects import MetricEffect
from core.views.library import RuleChange, RuleRow, RuleStory
from pages.context import Context, actor
from pages.labels import EVENTS, FIELDS, ORIGINS, STATES, label
from pages.rule_effects import show_effects
from pages.widgets import audit_link, episode_link, perform, plain, rate_card, rule_badges, rule_link, seen_version


def show_story(
    app: Context, t: Translator, story: RuleStory, effects: Sequence[MetricEffect], descendants: Sequence[RuleRow]
) -> None:
    """Show the rule's page; ``descendants`` are offered for quarantine together with it."""
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
        audit_link(t, t("Who did what to it, in Audit"), kind="rule", object=row.id)
        for change in story.history:
            _change(t, change)
    with effect:
        show_effects(t, effects)
    with uses:
        _uses(t, story)
    with relatives:
        _relatives(t, story)
    live = [one for one in descendants if one.state != "archived"]
    with ExitStack() as seen:
        version = seen.enter_context(seen_version(row))
        versions = {one.id: seen.enter_context(seen_version(one)) for one in live}
        if row.state == "archived":
            _restore(app, t, row, version)
        else:
            _archive(app, t, row, version, [(one, versions[one.id]) for one in live])
        if row.origin == "merge":
            _unmerge(app, t, row, version)


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


def _restore(app: Context, t: Translator, row: RuleRow, version: int) -> None:
    key = f"library_{row.id}"
    with _form(t("Restore this rule"), ":material/inventory_2:", f"{key}_form"):
        st.caption(t("It comes back as a candidate and has to prove itself again."))
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Restore"), key=f"{key}_send")
    if sent and _has_reason(t, reason):
        action = partial(_act, app, curation.restore, row, version, reason)
        perform(t, action, t("Restored: {name}", name=plain(row.name)))


def _archive(
    app: Context, t: Translator, row: RuleRow, version: int, descendants: Sequence[tuple[RuleRow, int]]
) -> None:
    key = f"library_{row.id}"
    chosen: dict[str, int] = {}
    with _form(t("Archive this rule"), ":material/inventory_2:", f"{key}_form"):
        st.caption(t("It leaves all prompts from the next episode on; you can restore it later."))
        if descendants:
            st.caption(t("Rules that come from it. If it did harm, archive these too:"))
        for one, seen in descendants:
            if st.checkbox(plain(one.name), help=plain(one.text), key=f"{key}_with_{one.id}"):
                chosen[one.id] = seen
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Archive"), key=f"{key}_send")
    if not sent or not _has_reason(t, reason):
        return
    name = plain(row.name)
    if chosen:
        do = partial(curation.quarantine, descendants=chosen)
        done = t.plural(
            "Archived with {n} descendant: {name}", "Archived with {n} descendants: {name}", len(chosen), name=name
        )
    else:
        do, done = partial(curation.archive), t("Archived: {name}", name=name)
    perform(t, partial(_act, app, do, row, version, reason), done)


def _unmerge(app: Context, t: Translator, row: RuleRow, version: int) -> None:
    key = f"library_{row.id}_unmerge"
    with _form(t("Take the merge apart"), ":material/call_split:", f"{key}_form"):
        st.caption(
            t(
                "The rules it was merged from come back as they were, with their own figures. "
                "This one goes to the archive and keeps what was counted since."
            )
        )
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Take the merge apart"), key=f"{key}_send")
    if sent and _has_reason(t, reason):
        action = partial(_act, app, curation.unmerge, row, version, reason)
        perform(t, action, t("Taken apart: {name}", name=plain(row.name)))


@contextmanager
def _form(title: str, icon: str, key: str) -> Iterator[None]:
    with st.expander(title, icon=icon), st.form(key, border=False):
        yield


def _has_reason(t: Translator, reason: str) -> bool:
    if not reason:
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    return bool(reason)


def _act(app: Context, do: Callable[..., None], row: RuleRow, version: int, reason: str) -> None:
    do(app.database, rule_id=row.id, version=version, reason=reason, actor=actor(), clock=app.clock)
