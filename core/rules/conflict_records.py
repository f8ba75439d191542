"""Writing conflicts down and settling them (design section 3). A dismissed pair is remembered for good."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from core.ids import stable_id
from core.rules.conflicts import ConflictFinding, suggest
from core.rules.library import Change, get_rule
from core.rules.lifecycle import State
from core.tables import Conflict, Rule

_TEXT_CHANGED = "text_changed"


def record_conflicts(session: Session, rule: Rule, findings: Sequence[ConflictFinding], change: Change) -> None:
    """Put a rule's conflicts into the people's queue, with a suggestion; known pairs are left as they are.

    Only a pair that an edit had reconciled is opened again: nobody has decided on it.
    """
    for finding in findings:
        first, second = sorted((rule.id, finding.other_id))
        conflict_id = stable_id("conflict", first, second)
        known = session.get(Conflict, conflict_id)
        if known is not None and known.resolution != _TEXT_CHANGED:
            continue
        session.merge(
            Conflict(
                id=conflict_id,
                rule_a=first,
                rule_b=second,
                detector=finding.detector,
                evidence=finding.template,
                evidence_values=finding.values,
                suggestion=suggest(rule, get_rule(session, finding.other_id)).keep_id,
                round_number=change.round_number,
                created_at=change.clock(),
            )
        )
    session.flush()


def close_gone_conflicts(session: Session, rule: Rule, findings: Sequence[ConflictFinding], change: Change) -> None:
    """Close a rule's open conflicts that its new text does not have any more."""
    still = {finding.other_id for finding in findings}
    for conflict in live_conflicts(session):
        if rule.id in (conflict.rule_a, conflict.rule_b) and not still & {conflict.rule_a, conflict.rule_b}:
            conflict.status, conflict.resolution = "resolved", _TEXT_CHANGED
            conflict.resolved_by, conflict.resolved_at = change.actor, change.clock()
            session.add(conflict)


def live_conflicts(session: Session) -> list[Conflict]:
    """Return the open conflicts whose two rules are both in use; others bother nobody at present."""
    archived = select(Rule.id).where(Rule.state == State.ARCHIVED.value)
    query = select(Conflict).where(
        Conflict.status == "open",
        col(Conflict.rule_a).not_in(archived),
        col(Conflict.rule_b).not_in(archived),
    )
    return list(session.exec(query.order_by(col(Conflict.created_at), col(Conflict.id))))
