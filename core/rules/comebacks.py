"""Rules that come back into use by a restoring action: what they must not meet there (design section 3).

A rule in an open conflict cannot go live. While one of the two was out of use, the other could; so a rule that
comes back live may find a live one that it contradicts.
"""

from collections.abc import Iterator, Sequence

from sqlmodel import Session, col, select

from core.rules.conflict_records import live_conflicts, reopen_conflicts
from core.rules.library import Change, content_of, get_rule, restore_content
from core.rules.lifecycle import RESTORING, Cause, State
from core.tables import Rule, RuleEvent

LIVE = (State.ACTIVE.value, State.PROBATION.value)


def settle_returned(session: Session, rule_ids: Sequence[str], cause: Cause, change: Change) -> None:
    """Open the conflicts again that rules bring back with them, and let none of them go live against one.

    A rule that contradicts what went live while it was away waits as a candidate. Two rules that were live
    together before come back as they were: one of them at most is in a prompt, and the queue has the conflict.

    Args:
        session: a write session.
        rule_ids: the rules that were restored, after they were.
        cause: why they were restored.
        change: who did it.
    """
    reopen_conflicts(session, rule_ids)
    for rule, other in contradicted(session, rule_ids):
        if rule.state in LIVE:
            why = change.because("It contradicts “{other}”, which went live while it was away", other=other.name)
            waiting = content_of(rule) | {"state": State.CANDIDATE.value, "probation_since": None}
            restore_content(session, rule, waiting, cause, why)


def contradicted(session: Session, rule_ids: Sequence[str]) -> Iterator[tuple[Rule, Rule]]:
    """Yield each rule that came back live with a live one that it contradicts and that went live meanwhile.

    Args:
        session: for reading.
        rule_ids: the rules that were restored together, after they were.
    """
    returned = set(rule_ids)
    for rule_id in rule_ids:
        rule = get_rule(session, rule_id)
        for conflict in live_conflicts(session, rule_id) if _came_back(session, rule_id) else ():
            other = get_rule(session, conflict.rule_b if rule_id == conflict.rule_a else conflict.rule_a)
            if other.state not in LIVE or _was_live_when_left(session, other, rule):
                continue
            if other.id not in returned or not _was_live_when_left(session, rule, other):
                yield rule, other


def _came_back(session: Session, rule_id: str) -> bool:
    last = session.exec(
        select(RuleEvent).where(RuleEvent.rule_id == rule_id).order_by(col(RuleEvent.id).desc()).limit(1)
    ).one()
    return last.kind in RESTORING and last.from_state not in LIVE and last.to_state in LIVE


def _was_live_when_left(session: Session, rule: Rule, other: Rule) -> bool:
    """Tell whether a rule was live at the moment when another one last left the live ones."""
    left = session.exec(
        select(RuleEvent.id)
        .where(
            RuleEvent.rule_id == other.id,
            col(RuleEvent.from_state).in_(LIVE),
            col(RuleEvent.to_state).not_in(LIVE),
        )
        .order_by(col(RuleEvent.id).desc())
    ).first()
    state = session.exec(
        select(RuleEvent.to_state)
        .where(RuleEvent.rule_id == rule.id, col(RuleEvent.id) < (left or 0))
        .order_by(col(RuleEvent.id).desc())
    ).first()
    return state in LIVE
