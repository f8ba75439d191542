"""Why rules are in the archive: what may come back from there, by whom, and what may not. Only reads."""

from sqlmodel import Session, col, func, select

from core.rules.kinship import merged_from
from core.rules.lifecycle import RESTORING, Cause, State
from core.tables import Rule, RuleEvent


def archived_because(session: Session, domain: str) -> dict[str, Cause]:
    """Return rule id -> cause for a domain's archived rules, by the last move that took them out of use.

    Putting back an earlier state (a rollback, a rewind, a merge taken apart) is no cause of its own: the rule
    is where it was sent before. One that nothing else sent there since a person last restored it is left out.
    """
    archived = State.ARCHIVED.value
    sent = (
        (col(RuleEvent.to_state) == archived)
        & (col(RuleEvent.from_state) != archived)
        & col(RuleEvent.kind).not_in([cause.value for cause in RESTORING])
    )
    restored = (
        (col(RuleEvent.from_state) == archived)
        & (col(RuleEvent.to_state) != archived)
        & (col(RuleEvent.kind) == Cause.PERSON.value)
    )
    last = (
        select(func.max(RuleEvent.id))
        .join(Rule, col(Rule.id) == RuleEvent.rule_id)
        .where(Rule.domain == domain, Rule.state == archived, sent | restored)
        .group_by(col(RuleEvent.rule_id))
    )
    events = session.exec(
        select(RuleEvent.rule_id, RuleEvent.kind).where(col(RuleEvent.id).in_(last), RuleEvent.to_state == archived)
    )
    return {rule_id: Cause(kind) for rule_id, kind in events}


def in_quarantine(session: Session, domain: str) -> set[str]:
    """Return the archived rules that a person quarantined, and what was merged into them."""
    causes = archived_because(session, domain)
    quarantined = {rule_id for rule_id, cause in causes.items() if cause is Cause.QUARANTINED}
    parts = merged_from(session, quarantined)
    return quarantined | {rule_id for rule_id in parts if causes.get(rule_id) is Cause.MERGED}
