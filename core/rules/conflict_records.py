"""Writing conflicts down and settling them (design section 3). A dismissed pair is remembered for good."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from core.ids import stable_id
from core.rules.conflicts import ConflictFinding, suggest
from core.rules.library import Change, get_rule
from core.rules.lifecycle import State
from core.tables import Conflict, Rule


def record_conflicts(session: Session, rule: Rule, findings: Sequence[ConflictFinding], change: Change) -> None:
    """Put a rule's conflicts into the people's queue, with a suggestion; known pairs are left as they are."""
    for finding in findings:
        first, second = sorted((rule.id, finding.other_id))
        conflict_id = stable_id("conflict", first, second)
        if session.get(Conflict, conflict_id) is not None:
            continue
        session.add(
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


def live_conflicts(session: Session) -> list[Conflict]:
    """Return the open conflicts whose two rules are both in use; others bother nobody at present."""
    archived = select(Rule.id).where(Rule.state == State.ARCHIVED.value)
    query = select(Conflict).where(
        Conflict.status == "open",
        col(Conflict.rule_a).not_in(archived),
        col(Conflict.rule_b).not_in(archived),
    )
    return list(session.exec(query.order_by(col(Conflict.created_at), col(Conflict.id))))
