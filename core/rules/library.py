"""The rule library: creation, change and history of rules. Every change writes an event.

What a rule says and where it stands (its *content*) changes through here alone and can be rebuilt from
events. What was counted about it (its *statistics*) is core.rules.counting's, and survives any rewind.
This module decides nothing: which rule deserves what is decided by learning (lifecycle steps) or by people
(core.curation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.errors import ConcurrentChangeError, UserError
from core.ids import new_id
from core.rules.archive import in_quarantine
from core.rules.kinship import merge_kin_in_use
from core.rules.lifecycle import Cause, State, check_transition
from core.tables import Rule, RuleEvent
from core.tables.rules import RuleContent

SYSTEM = "system"
VOTED = "voted"

CONTENT_FIELDS = (*RuleContent.model_fields, "parents", "evidence", "lineage", "state", "approved_by", "merged_into",
                  "probation_since")  # fmt: skip
"""Columns that events record and that a rewind restores."""


@dataclass(frozen=True)
class Change:
    """Who changes something, why, in which round, and when.

    ``reason`` is what a person typed, or an English template that ``values`` go into when it is shown;
    ``entry_id`` the audit entry that a person's action leaves.
    """

    actor: str
    clock: Clock
    reason: str = ""
    round_number: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    entry_id: int | None = None

    def because(self, template: str, **values: Any) -> "Change":
        """Return the same change for another reason."""
        return replace(self, reason=template, values=values)


def content_of(rule: Rule) -> dict[str, Any]:
    """Return the part of a rule that events record."""
    return {name: getattr(rule, name) for name in CONTENT_FIELDS}


def create_rule(session: Session, draft: RuleContent, change: Change, *, origin: str, **extra: Any) -> Rule:
    """Add a candidate.

    Args:
        session: a write session.
        draft: what the rule says; checked for quality by the caller.
        change: who and why.
        origin: reflection, handbook, merge, human or import.
        **extra: further columns, such as evidence, lineage, parents, statistics of a merge.
    """
    rule = Rule(
        id=extra.pop("id", None) or new_id("rule"),
        **draft.model_dump(include=set(RuleContent.model_fields)),
        origin=origin,
        created_at=change.clock(),
        created_round=change.round_number,
        **extra,
    )
    session.add(rule)
    session.flush()
    _record(session, rule, "created", change, before=None, from_state=None)
    return rule


def edit_rule(
    session: Session, rule: Rule, changes: Mapping[str, Any], change: Change, *, kind: str = "edited"
) -> None:
    """Change columns of a rule's content other than its state.

    Raises:
        UserError: a column that is not content, or the state, which only ``move_rule`` changes.
    """
    unknown = set(changes) - (set(CONTENT_FIELDS) - {"state"})
    if unknown:
        raise UserError("These parts of a rule cannot be edited: {names}.", names=", ".join(sorted(unknown)))
    before = content_of(rule)
    for name, value in changes.items():
        setattr(rule, name, value)
    if content_of(rule) == before:
        return
    if kind != VOTED:  # a vote changes nothing that a person decides on, so it must not make their view stale
        rule.version += 1
    session.add(rule)
    _record(session, rule, kind, change, before=before, from_state=rule.state)


def move_rule(session: Session, rule: Rule, to: State, cause: Cause, change: Change, **changes: Any) -> None:
    """Change the state of a rule, and with it columns of its content.

    Raises:
        IllegalTransitionError: the lifecycle does not allow it.
    """
    check_transition(rule.state, to, cause)
    before, from_state = content_of(rule), rule.state
    rule.state = to.value
    rule.probation_since = change.round_number or 0 if to is State.PROBATION else None
    for name, value in changes.items():
        setattr(rule, name, value)
    rule.version += 1
    session.add(rule)
    _record(session, rule, cause.value, change, before=before, from_state=from_state)


def note_rule(session: Session, rule: Rule, kind: str, change: Change) -> None:
    """Write an event that leaves what a rule says and where it stands as it is, such as a pin."""
    _record(session, rule, kind, change, before=content_of(rule), from_state=rule.state)


def restore_content(session: Session, rule: Rule, content: Mapping[str, Any], cause: Cause, change: Change) -> None:
    """Put a rule back to an earlier content, as an event of its own; statistics stay as they are."""
    before, from_state = content_of(rule), rule.state
    check_transition(rule.state, str(content["state"]), cause)
    for name in CONTENT_FIELDS:
        setattr(rule, name, content[name])
    if content_of(rule) == before:
        return
    rule.version += 1
    session.add(rule)
    _record(session, rule, cause.value, change, before=before, from_state=from_state)


def unmerge(session: Session, rule: Rule, change: Change) -> list[Rule]:
    """Take a merge apart: the merged rule goes to the archive, its parents come back as they were before it.

    Statistics stay where they were counted. The parents have kept their own, since a merge does not touch
    them; what the merged rule has counted since then was the doing of its own text, and stays with it in the
    archive. Nothing is lost and nothing counts twice, because a merge and its parents are never both in use.

    Returns:
        The parents.

    Raises:
        UserError: the rule is no merge, became part of another one, or a parent has changed since so that it
            cannot come back as it was.
    """
    if rule.origin != "merge" or not rule.parents:
        raise UserError("“{name}” is not a merge; there is nothing to take apart.", name=rule.name)
    if rule.merged_into is not None:
        raise UserError(
            "“{name}” became part of “{other}” itself. Take that merge apart first; nothing was changed.",
            name=rule.name,
            other=get_rule(session, rule.merged_into).name,
        )
    parents = [get_rule(session, parent) for parent in rule.parents]
    contents = [_before_merge(session, parent, rule) for parent in parents]
    archived = {"state": State.ARCHIVED.value, "approved_by": None, "probation_since": None}
    restore_content(session, rule, content_of(rule) | archived, Cause.UNMERGED, change)
    for parent, content in zip(parents, contents, strict=True):
        check_apart(session, parent)
        restore_content(session, parent, content, Cause.UNMERGED, change)
    return parents


def check_apart(session: Session, rule: Rule) -> None:
    """Raise if a rule must not come into use because a merge of it, or a part of it, is in use.

    Raises:
        UserError: names the other rule.
    """
    for other in merge_kin_in_use(session, rule.id):
        raise UserError(
            "“{name}” and “{other}” come from the same merge; both in use would count the same episodes twice. "
            "Archive “{other}” or take the merge apart first. Nothing was changed.",
            name=rule.name,
            other=other.name,
        )


def get_rule(session: Session, rule_id: str, version: int | None = None) -> Rule:
    """Return a rule, checking that it is still the version the caller has seen.

    Raises:
        UserError: there is no such rule.
        ConcurrentChangeError: it has changed since; carries both versions.
    """
    rule = session.get(Rule, rule_id)
    if rule is None:
        raise UserError("There is no rule {rule_id}.", rule_id=rule_id)
    if version is not None and rule.version != version:
        raise ConcurrentChangeError(
            "Rule {rule_id} has changed since you opened it (you saw version {seen}, it is now {now}). "
            "Look at it again; nothing was changed.",
            rule_id=rule_id,
            seen=version,
            now=rule.version,
        )
    return rule


def rules_in(session: Session, domain: str, states: Sequence[State]) -> list[Rule]:
    """Return a domain's rules in the given states, oldest first."""
    query = select(Rule).where(Rule.domain == domain, col(Rule.state).in_([state.value for state in states]))
    return list(session.exec(query.order_by(col(Rule.created_at), col(Rule.id))))


def last_event_id(session: Session) -> int:
    """Return the id of the newest event; 0 if there is none. Marks a moment of the library."""
    return session.exec(select(func.max(RuleEvent.id))).one() or 0


def contents_at(session: Session, event_id: int, domain: str | None = None) -> dict[str, dict[str, Any]]:
    """Rebuild the library as it was right after an event: content by rule id, from events alone."""
    newest = select(func.max(RuleEvent.id)).where(col(RuleEvent.id) <= event_id).group_by(col(RuleEvent.rule_id))
    events = session.exec(select(RuleEvent).where(col(RuleEvent.id).in_(newest)))
    contents = {event.rule_id: event.after for event in events}
    return {key: value for key, value in contents.items() if domain is None or value["domain"] == domain}


def rewind(session: Session, event_id: int, change: Change, domain: str) -> list[str]:
    """Restore a domain's library of an earlier moment; rules that came later are archived.

    What a person quarantined stays in the archive as it is, with all that was merged into it: it was taken out
    for doing harm, whatever the moment. Only a person brings it back, rule by rule.

    Returns:
        Ids of the rules that changed.
    """
    target = contents_at(session, event_id, domain)
    held = in_quarantine(session, domain)
    changed = []
    for rule in session.exec(select(Rule).where(Rule.domain == domain, col(Rule.id).not_in(held))).all():
        version = rule.version
        wanted = target.get(rule.id) or {**content_of(rule), "state": State.ARCHIVED.value, "probation_since": None}
        restore_content(session, rule, wanted, Cause.REWOUND, change)
        if rule.version != version:
            changed.append(rule.id)
    return changed


def _before_merge(session: Session, parent: Rule, merged: Rule) -> dict[str, Any]:
    """Return the parent's content right before it was merged, if the merge is the last that happened to it."""
    query = select(RuleEvent).where(RuleEvent.rule_id == parent.id, RuleEvent.kind == Cause.MERGED.value)
    for event in session.exec(query.order_by(col(RuleEvent.id).desc())):
        # Equal to what the merge left, not merely untouched: rewinding away and back again changes nothing.
        if event.before is not None and event.after == content_of(parent) and parent.merged_into == merged.id:
            return event.before
    raise UserError(
        "“{name}” has changed since the merge and cannot come back as it was. Nothing was changed.", name=parent.name
    )


def _record(
    session: Session, rule: Rule, kind: str, change: Change, *, before: dict[str, Any] | None, from_state: str | None
) -> None:
    session.add(
        RuleEvent(
            rule_id=rule.id,
            kind=kind,
            from_state=from_state,
            to_state=rule.state,
            actor=change.actor,
            reason=change.reason,
            reason_values=dict(change.values),
            round_number=change.round_number,
            before=before,
            after=content_of(rule),
            created_at=change.clock(),
            entry_id=change.entry_id,
        )
    )
    session.flush()
