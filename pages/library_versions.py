"""A rule's texts held against each other word by word, the events of its life, and who decided what."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.differences import Piece, word_differences
from core.i18n import Translator
from core.people.names import ACTION_NAMES
from core.people.permissions import Action
from core.views.library import RuleChange
from core.views.rule_history import PersonsAction, RuleVersion
from pages.context import Context, actor, can
from pages.labels import EVENTS, FIELDS, STATES, label
from pages.widgets import perform, plain

_COMPARED = ("name", "condition", "action", "exclusion", "rationale")


def show_versions(t: Translator, versions: Sequence[RuleVersion], key: str) -> None:
    """Let the visitor choose two versions and show what differs."""
    if len(versions) < 2:
        st.caption(t("It has said the same from the beginning."))
        return
    numbers = [version.number for version in versions]
    by_number = {version.number: version for version in versions}
    left, right = st.columns(2)
    with left:
        before = by_number[_pick(t, t("From"), numbers, len(numbers) - 2, by_number, f"{key}_from")]
    with right:
        after = by_number[_pick(t, t("To"), numbers, len(numbers) - 1, by_number, f"{key}_to")]
    first, second = word_differences(before.text, after.text)
    with left, st.container(border=True):
        st.markdown(_marked(first, "red"))
    with right, st.container(border=True):
        st.markdown(_marked(second, "green"))
    rows = [_field(t, name, before, after) for name in _COMPARED if _said(before, name) != _said(after, name)]
    if rows:
        st.table(rows, hide_index=True, alt=t("The fields that differ"))
    else:
        st.caption(t("These two versions do not differ."))


def _pick(
    t: Translator, name: str, numbers: Sequence[int], index: int, versions: dict[int, RuleVersion], key: str
) -> int:
    def shown(number: int) -> str:
        version = versions[number]
        return t("{number}: {what}, {at}", number=number, what=label(t, EVENTS, version.kind), at=t.moment(version.at))

    return st.selectbox(name, list(numbers), index=index, format_func=shown, key=key)


def _said(version: RuleVersion, name: str) -> str:
    return str(getattr(version.content, name))


def _field(t: Translator, name: str, before: RuleVersion, after: RuleVersion) -> dict[str, str]:
    first, second = word_differences(_said(before, name), _said(after, name))
    return {
        t("Field"): label(t, FIELDS, name),
        t("Before"): _marked(first, "red") or "–",
        t("After"): _marked(second, "green") or "–",
    }


def _marked(pieces: Sequence[Piece], color: str) -> str:
    """Mark what differs by weight and colour, so that colour alone carries nothing."""
    return "".join(_piece(piece, color) for piece in pieces)


def _piece(piece: Piece, color: str) -> str:
    words = piece.text.strip()
    if not piece.differs or not words:
        return plain(piece.text)
    space = piece.text[: len(piece.text) - len(piece.text.lstrip())]
    return f"{space}:{color}-background[**{plain(words)}**]"


def show_timeline(t: Translator, history: Sequence[RuleChange]) -> None:
    """Show events, newest first, each with who and why in words."""
    for change in history:
        _event(t, change)


def _event(t: Translator, change: RuleChange) -> None:
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
        if change.entry_id is not None:
            facts.append(t("audit entry {number}", number=t.number(change.entry_id)))
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


def show_decisions(app: Context, t: Translator, actions: Sequence[PersonsAction]) -> None:
    """Show the audit entries behind a rule's history, and offer to take the newest one back."""
    if not actions:
        st.caption(t("No person has acted on this rule yet."))
        return
    st.table([_decision(t, one) for one in actions], hide_index=True, alt=t("Who decided what"))
    newest = next((one for one in actions if one.undone_by is None and one.action != Action.UNDO), None)
    if newest is not None and can(Action.UNDO):
        name = t("Undo entry {number}", number=t.number(newest.entry_id))
        if st.button(name, icon=":material/undo:", key=f"library_undo_{newest.entry_id}"):
            action = partial(curation.undo, app.database, entry_id=newest.entry_id, actor=actor(), clock=app.clock)
            perform(t, action, t("Undone: entry {number}", number=t.number(newest.entry_id)))


def _decision(t: Translator, one: PersonsAction) -> dict[str, str]:
    return {
        t("Audit entry"): t.number(one.entry_id),
        t("When"): t.moment(one.at),
        t("Who"): plain(one.actor),
        t("What"): t(ACTION_NAMES[Action(one.action)]),
        t("Why"): plain(str(one.detail.get("reason") or "–")),
        t("Taken back"): "–" if one.undone_by is None else t("by entry {number}", number=t.number(one.undone_by)),
    }
