"""The five ways to settle a conflict, with what each would do to prompts; and how a settled one was settled."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.conflict_preview import MERGED, Attempt, preview_attempt
from core.errors import UserError
from core.i18n import Translator
from core.people.permissions import Action
from core.rules.conflict_records import Way
from core.views.conflicts import ConflictItem
from pages.context import Context, actor, can, settings_now
from pages.drafts import draft_area, drop_drafts
from pages.labels import FIELDS, label
from pages.labels_conflicts import CHOICES, EXPLAINED, WAYS
from pages.models import previewer
from pages.widgets import perform, plain, seen_version

_MERGE_FIELDS = ("name", "condition", "action", "exclusion")


def decide(app: Context, t: Translator, item: ConflictItem, following: str) -> None:
    """Offer the five ways; ``following`` is the conflict to go on with."""
    st.subheader(t("Your decision"), anchor=False)
    if not can(Action.RESOLVE_CONFLICT):
        st.info(t("Your account may look at conflicts but not settle them."), icon=":material/lock:")
        return
    first, second = (side.row for side in item.sides)
    with seen_version(first) as a, seen_version(second) as b:
        seen = curation.SeenConflict(item.id, {first.id: a, second.id: b})
        way = Way(
            st.segmented_control(
                t("Your decision"),
                list(CHOICES),
                format_func=lambda one: label(t, CHOICES, one),
                default="keep",
                required=True,
                key=f"conflicts_way_{item.id}",
                label_visibility="collapsed",
            )
            or "keep"
        )
        st.caption(label(t, EXPLAINED, way))
        attempt = _attempt(t, item, way)
        reason = draft_area(t("Why? (kept with the decision)"), "", f"conflicts_{item.id}_reason", height=68)
        _send(app, t, item, seen, attempt, reason, following)
        _effect(app, t, item, attempt)


def _attempt(t: Translator, item: ConflictItem, way: Way) -> Attempt:
    """Let the person fill in what a way needs."""
    if way in (Way.KEEP, Way.PRIORITY):
        return Attempt(way, _winner(t, item, way))
    if way is Way.NARROWED:
        return Attempt(way, contents=_narrowed(t, item))
    if way is Way.MERGED:
        return Attempt(way, contents={MERGED: _merged(t, item)})
    return Attempt(way)


def _winner(t: Translator, item: ConflictItem, way: Way) -> str:
    names = {side.row.id: plain(side.row.name) for side in item.sides}
    question = t("Which one do you keep?") if way is Way.KEEP else t("Which one goes first?")
    chosen = st.radio(
        question,
        list(names),
        index=list(names).index(item.suggestion.keep_id),
        format_func=names.__getitem__,
        key=f"conflicts_{item.id}_{way}",
    )
    return str(chosen)


def _narrowed(t: Translator, item: ConflictItem) -> dict[str, dict[str, str]]:
    contents = {}
    for column, side in zip(st.columns(2), item.sides, strict=True):
        with column:
            st.markdown(f"**{plain(side.row.name)}**")
            contents[side.row.id] = {
                field: draft_area(
                    label(t, FIELDS, field),
                    getattr(side.content, field),
                    f"conflicts_{item.id}_{side.row.id}_{field}",
                )
                for field in curation.NARROWED
            }
    return contents


def _merged(t: Translator, item: ConflictItem) -> dict[str, Any]:
    return {
        field: draft_area(label(t, FIELDS, field), getattr(item.draft, field), f"conflicts_{item.id}_merge_{field}")
        for field in _MERGE_FIELDS
    }


def _send(
    app: Context,
    t: Translator,
    item: ConflictItem,
    seen: curation.SeenConflict,
    attempt: Attempt,
    reason: str,
    following: str,
) -> None:
    names = {side.row.id: plain(side.row.name) for side in item.sides}
    button, done = _words(t, attempt, names)
    if st.button(button, type="primary", icon=":material/check:", key=f"conflicts_{item.id}_send_{attempt.way}"):
        act = _action(app, seen, attempt, reason)

        def settle() -> None:
            act()
            drop_drafts(f"conflicts_{item.id}_")
            if following:
                st.query_params["conflict"] = following
            else:
                st.query_params.pop("conflict", None)

        perform(t, settle, done)


def _words(t: Translator, attempt: Attempt, names: Mapping[str, str]) -> tuple[str, str]:
    """Return what the button says, and what is said when it is done."""
    name = names.get(attempt.rule_id, "")
    if attempt.way is Way.KEEP:
        return t("Keep “{name}”", name=name), t("Settled: “{name}” is kept.", name=name)
    if attempt.way is Way.PRIORITY:
        return t("“{name}” goes first", name=name), t("Settled: “{name}” goes first where both fit.", name=name)
    if attempt.way is Way.NARROWED:
        return t("Save both conditions"), t("Settled: the two rules do not meet any more.")
    if attempt.way is Way.MERGED:
        return t("Make one rule"), t("Settled: both are one rule now.")
    return t("They do not contradict each other"), t("Settled: not a conflict.")


def _action(app: Context, seen: curation.SeenConflict, attempt: Attempt, reason: str) -> Callable[[], object]:
    given: dict[str, Any] = {"seen": seen, "reason": reason.strip(), "actor": actor(), "clock": app.clock}
    if attempt.way is Way.KEEP:
        return partial(curation.keep_rule, app.database, keep=attempt.rule_id, **given)
    if attempt.way is Way.PRIORITY:
        return partial(curation.set_priority, app.database, first=attempt.rule_id, **given)
    if attempt.way is Way.NARROWED:
        return partial(
            curation.narrow,
            app.database,
            changes=attempt.contents,
            settings=app.settings,
            embedder=previewer().embedder,
            **given,
        )
    if attempt.way is Way.MERGED:
        content = attempt.contents[MERGED]
        return partial(curation.merge_pair, app.database, content=content, settings=app.settings, **given)
    return partial(curation.dismiss_conflict, app.database, **given)


def _effect(app: Context, t: Translator, item: ConflictItem, attempt: Attempt) -> None:
    """Show on request what the way would do to the prompts of recent tasks; it looks through the whole library."""
    key = f"conflicts_{item.id}_effect_{attempt.way}"
    if not st.button(t("Show what it does to prompts"), icon=":material/preview:", key=key):
        return
    try:
        with st.spinner(t("Looking up rules …")):
            changes = preview_attempt(app.database, settings_now(app), previewer().embedder, item.id, attempt)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    if not changes:
        st.caption(t("No past episode of training or from outside retrieved either of the two."))
        return
    names = {side.row.id: plain(side.row.name) for side in item.sides} | {MERGED: t("The new rule")}
    rows = [
        {
            t("Recent task"): plain(one.query),
            t("In its prompt now"): _named(t, one.before, names),
            t("In its prompt then"): _named(t, one.after, names),
            t("Changes"): t("no") if one.before == one.after else t("yes"),
        }
        for one in changes
    ]
    st.table(rows, hide_index=True, alt=t("Which of the two rules recent tasks would have in their prompts"))


def _named(t: Translator, ids: frozenset[str], names: Mapping[str, str]) -> str:
    return ", ".join(name for one, name in names.items() if one in ids) or t("neither")


def show_settled(app: Context, t: Translator, item: ConflictItem) -> None:
    """Say how, when, by whom and why a conflict was settled, and offer to take that back."""
    settled = item.settled
    if settled is None:
        return
    how = label(t, WAYS, settled.way)
    if settled.rule_name:
        how = t("{way}: “{name}”", way=how, name=plain(settled.rule_name))
    st.success(
        t("{who}, {when}", who=plain(settled.by), when=t.moment(settled.at))
        + (" · " + plain(settled.reason) if settled.reason else ""),
        title=how,
        icon=":material/gavel:",
    )
    if settled.entry_id is None or not can(Action.RESOLVE_CONFLICT):
        return
    if st.button(t("Undo"), icon=":material/undo:", key=f"conflicts_{item.id}_undo"):
        undo = partial(curation.undo, app.database, entry_id=settled.entry_id, actor=actor(), clock=app.clock)
        perform(t, undo, t("Undone: the conflict is open again."))
