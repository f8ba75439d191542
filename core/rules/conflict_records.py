"""Writing conflicts down and settling them (design section 3). A dismissed pair is remembered for good."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from sqlalchemy import Select
from sqlalchemy import select as select_columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, or_, select

from core.ids import stable_id
from core.rules.conflicts import ConflictFinding, suggest
from core.rules.library import Change, get_rule
from core.rules.lifecycle import State
from core.rules.wording import rule_text
from core.tables import Conflict, Rule
from core.tables.rules import RuleContent


class Way(StrEnum):
    """How a conflict was settled; a resolution is one of these, with the rule it names after a colon."""

    KEEP = "keep"  # names the winner
    PRIORITY = "priority"  # both stay; names the one that goes first where both fit
    NARROWED = "narrowed"  # a person edited the conditions
    MERGED = "merged"  # names the rule that both became
    DISMISSED = "not_a_conflict"
    TEXT_CHANGED = "text_changed"  # the loop edited a rule for another reason


_BY_TEXT = (Way.NARROWED.value, Way.TEXT_CHANGED.value)
"""Ways that hold as long as the texts stay apart: nobody has decided between the two."""


def way_of(resolution: str) -> tuple[str, str]:
    """Return the way of a resolution and the id of the rule it names; '' for none."""
    way, _, rule_id = resolution.partition(":")
    return way, rule_id


def record_conflicts(session: Session, rule: Rule, findings: Sequence[ConflictFinding], change: Change) -> None:
    """Put a rule's conflicts into the people's queue, with a suggestion; known pairs are left as they are.

    Only a pair that an edit had reconciled is opened again: nobody has decided on it.
    """
    for finding in findings:
        first, second = sorted((rule.id, finding.other_id))
        conflict_id = stable_id("conflict", first, second)
        known = session.get(Conflict, conflict_id)
        if known is not None and known.resolution not in _BY_TEXT:
            continue
        other = get_rule(session, finding.other_id)
        session.merge(
            Conflict(
                id=conflict_id,
                rule_a=first,
                rule_b=second,
                detector=finding.detector,
                evidence=finding.template,
                evidence_values=finding.values,
                found_in=_digest(rule, other),
                suggestion=suggest(rule, other).keep_id,
                round_number=change.round_number,
                created_at=change.clock(),
            )
        )
    session.flush()


def close_gone_conflicts(session: Session, rule: Rule, findings: Sequence[ConflictFinding], change: Change) -> None:
    """Close a rule's open conflicts that its new text does not have any more."""
    still = {finding.other_id for finding in findings}
    for conflict in live_conflicts(session, rule.id):
        if not still & {conflict.rule_a, conflict.rule_b}:
            conflict.status, conflict.resolution = "resolved", Way.TEXT_CHANGED.value
            conflict.resolved_by, conflict.resolved_at = change.actor, change.clock()
            session.add(conflict)


def reopen_conflicts(session: Session, rule_ids: Iterable[str]) -> None:
    """Open the settled conflicts again whose solution is gone now that these rules have come back.

    The loser of a conflict is in use beside its winner, other than on probation; a merge of the two is not in
    use any more; or both say again what they said when the conflict was found. What was dismissed stays so.
    """
    ids = list(rule_ids)
    query = _in_use().where(
        col(Conflict.status) == "resolved", or_(col(Conflict.rule_a).in_(ids), col(Conflict.rule_b).in_(ids))
    )
    for conflict, a, b in session.execute(query).all():
        if _is_gone(session, conflict, a, b):
            conflict.status, conflict.resolution, conflict.reason = "open", "", ""
            conflict.resolved_by = conflict.resolved_at = conflict.entry_id = None
            session.add(conflict)
    session.flush()


def live_conflicts(session: Session, rule_id: str | None = None) -> list[Conflict]:
    """Return the open conflicts whose two rules are both in use, of one rule or of all; others bother nobody."""
    query = _in_use().where(col(Conflict.status) == "open")
    if rule_id is not None:
        query = query.where(or_(col(Conflict.rule_a) == rule_id, col(Conflict.rule_b) == rule_id))
    found = session.execute(query.order_by(col(Conflict.created_at), col(Conflict.id)))
    return [conflict for conflict, _, _ in found]


def undecided(session: Session, rule_id: str) -> list[Conflict]:
    """Return a rule's conflicts of which both sides stand: open, or with a priority between them."""
    found = session.execute(
        _in_use().where(
            or_(col(Conflict.rule_a) == rule_id, col(Conflict.rule_b) == rule_id),
            or_(col(Conflict.status) == "open", col(Conflict.resolution).startswith(f"{Way.PRIORITY}:")),
        )
    )
    return [conflict for conflict, _, _ in found]


def losers(session: Session) -> frozenset[str]:
    """Return the rules a person decided against in a conflict whose winner is in use."""
    query = _in_use().where(col(Conflict.status) == "resolved", col(Conflict.resolution).startswith(f"{Way.KEEP}:"))
    return frozenset(_loser(conflict) for conflict, _, _ in session.execute(query))


def priorities(session: Session) -> list[tuple[str, str]]:
    """Return the pairs (first, second) of which the second is served only where the first is not.

    A person said so, or kept the first: the loser may still be on probation.
    """
    named = or_(*(col(Conflict.resolution).startswith(f"{way}:") for way in (Way.PRIORITY, Way.KEEP)))
    found = session.exec(select(Conflict).where(Conflict.status == "resolved", named))
    return [(way_of(conflict.resolution)[1], _loser(conflict)) for conflict in found]


def _in_use() -> Select[Conflict, Rule, Rule]:
    """Select conflicts with their rules, both of them in use."""
    a, b = aliased(Rule), aliased(Rule)
    archived = State.ARCHIVED.value
    return (
        select_columns(Conflict, a, b)
        .join(a, (col(a.id) == col(Conflict.rule_a)) & (col(a.state) != archived))
        .join(b, (col(b.id) == col(Conflict.rule_b)) & (col(b.state) != archived))
    )


def _is_gone(session: Session, conflict: Conflict, a: Rule, b: Rule) -> bool:
    way, rule_id = way_of(conflict.resolution)
    if way == Way.KEEP:
        return (b if rule_id == a.id else a).state != State.PROBATION
    if way == Way.MERGED:
        return get_rule(session, rule_id).state == State.ARCHIVED
    return way in _BY_TEXT and conflict.found_in == _digest(a, b)


def _loser(conflict: Conflict) -> str:
    return conflict.rule_b if way_of(conflict.resolution)[1] == conflict.rule_a else conflict.rule_a


def _digest(one: RuleContent, other: RuleContent) -> str:
    return stable_id("texts", *sorted((rule_text(one), rule_text(other))))
