"""One entry of the audit trail: who did what and when, what it changed, and the way to take it back."""

import json
from typing import Any

import streamlit as st

from core import curation
from core.curation.undo import TABLE_NAMES
from core.i18n import Translator, mark
from core.people.names import ACTION_NAMES, KIND_NAMES, ROLE_NAMES, STATE_NAMES
from core.people.permissions import Action, Role
from core.views.audit import RowChange, TrailRow
from pages.context import Context, actor, can
from pages.labels import FIELDS, label
from pages.widgets import address, audit_link, episode_link, perform, plain, rule_link

ACTIONS: dict[str, str] = {action.value: name for action, name in ACTION_NAMES.items()}
_NAMES = FIELDS | {
    "state": mark("State"),
    "status": mark("Status"),
    "approved_by": mark("Approved by"),
    "merged_into": mark("Merged into"),
    "evidence": mark("Evidence"),
    "lineage": mark("Lineage"),
    "parents": mark("Merged from"),
    "resolution": mark("Resolution"),
    "resolved_by": mark("Resolved by"),
    "resolved_at": mark("Resolved at"),
    "decided_by": mark("Decided by"),
    "revived_as": mark("Revived as"),
    "wanted": mark("Wanted"),
    "steps": mark("Rounds to run"),
    "value": mark("Value"),
    "reason": mark("Reason"),
    "changed_by": mark("Changed by"),
    "changed_at": mark("Changed at"),
    "created_at": mark("Created at"),
    "email": mark("E-mail address"),
    "roles": mark("Roles"),
    "active": mark("Active"),
    "subject": mark("Identity at the provider"),
    "invited_by": mark("Invited by"),
    "by_entry_id": mark("Undone by entry"),
    "entry_id": mark("Entry"),
    "verdict": mark("Verdict"),
    "grade_before": mark("Grade before"),
    "grade_after": mark("Grade after"),
    "reward_before": mark("Reward before"),
    "reward_after": mark("Reward after"),
    "taken_over": mark("Taken over by a person"),
    "feedback": mark("Said of it"),
    "feedback_reason": mark("Reason"),
    "feedback_by": mark("Said by"),
    "feedback_at": mark("Said at"),
    "updated_at": mark("Changed at"),
    "tier": mark("Tier"),
    "covered_by": mark("Covered by memory"),
    "restored": mark("Restored by a person"),
    "environment": mark("Environment"),
    "round_number": mark("Round"),
    "updates": mark("Updates"),
    "success": mark("Success rate"),
    "turns": mark("Mean turns"),
    "tasks": mark("Tasks"),
    "good": mark("Good"),
}
_HEADLINE = 90
"""Characters of a name that fit into one line."""
_WAYS = {
    "created": mark("{what} {key}: created"),
    "changed": mark("{what} {key}: changed"),
    "deleted": mark("{what} {key}: removed"),
}
_QUIET = ("version", "rule_id", "content", "state", "parents", "before", "undone", "kind", "of")
"""Parts of an entry's detail that its changes say better."""


def show_entry(app: Context, t: Translator, row: TrailRow, *, opened: bool) -> None:
    """Show an entry as one line that opens."""
    with st.expander(_headline(t, row), expanded=opened, icon=":material/undo:" if row.undone_by else None):
        st.caption(_facts(t, row))
        for name, value in row.detail.items():
            if name not in _QUIET and value not in ("", None, [], {}):
                st.text(f"{label(t, _NAMES, name)}: {_written(t, name, value)}")
        for change in row.changes or ():
            _change(t, change)
        with st.container(horizontal=True, vertical_alignment="center"):
            _links(t, row)
            _undo(app, t, row)


def _headline(t: Translator, row: TrailRow) -> str:
    name = dict(row.rules).get(row.object_id, "") if row.kind == "rule" else ""
    if row.kind == "action":
        what = t("entry {number}", number=row.object_id)
    else:
        what = plain(_short(name)) if name else address(_short(row.object_id))
    return " · ".join((t.moment(row.at), address(row.actor), label(t, ACTIONS, row.action), what))


def _short(text: str) -> str:
    return text if len(text) <= _HEADLINE else f"{text[:_HEADLINE]}…"


def _facts(t: Translator, row: TrailRow) -> str:
    facts = [
        t("Entry {number}", number=row.id),
        t("{kind} {key}", kind=label(t, KIND_NAMES, row.kind), key=address(row.object_id)),
    ]
    if row.undone_by is not None:
        facts.append(t("undone by entry {number}", number=row.undone_by))
    return " · ".join(facts)


def _change(t: Translator, change: RowChange) -> None:
    what = label(t, TABLE_NAMES, change.table)
    st.markdown(f"**{t(_WAYS[change.way], what=plain(what), key=address(change.key))}**")
    rows = [
        {
            t("Field"): plain(label(t, _NAMES, name)),
            t("Before"): plain(_written(t, name, before)),
            t("After"): plain(_written(t, name, after)),
        }
        for name, (before, after) in change.fields.items()
        if name != "version" and (change.way == "changed" or (before or after) not in ("", None, [], {}))
    ]
    if rows:
        st.table(rows, hide_index=True)


def _written(t: Translator, name: str, value: Any) -> str:
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, bool):
        return t("yes") if value else t("no")
    if name in ("state", "status", "tier"):
        return label(t, STATE_NAMES, str(value))
    if name == "roles" and isinstance(value, list):
        return ", ".join(t(ROLE_NAMES[Role(one)]) if one in set(Role) else str(one) for one in value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _links(t: Translator, row: TrailRow) -> None:
    for rule_id, name in row.rules:
        rule_link(t, rule_id, name)
    if row.kind == "episode":
        episode_link(t, row.object_id)
    if row.kind == "action":
        audit_link(t, t("Show entry {number}", number=row.object_id), entry=row.object_id)
    else:
        audit_link(t, t("All entries about it"), kind=row.kind, object=row.object_id)


def _undo(app: Context, t: Translator, row: TrailRow) -> None:
    mine = row.actor == actor() or can(Action.INVITE)
    known = row.action in set(Action) and can(Action(row.action)) and can(Action.UNDO)
    if row.changes is None or row.undone_by is not None or not (mine and known):
        return
    if st.button(t("Undo"), icon=":material/undo:", key=f"audit_{row.id}_undo"):
        perform(
            t,
            lambda: curation.undo(app.database, entry_id=row.id, actor=actor(), clock=app.clock),
            t("Undone: {action}", action=label(t, ACTIONS, row.action)),
        )
