"""Pins: rules that people want kept. Pruning and the archive for want of use pass them by; harm does not."""

from collections.abc import Sequence

from sqlmodel import Session, select

from core.rules.library import Change, note_rule
from core.tables import Rule, RulePin

PINNED, UNPINNED = "pinned", "unpinned"


def pinned_rules(session: Session) -> frozenset[str]:
    """Return the ids of all pinned rules, whatever their state."""
    return frozenset(session.exec(select(RulePin.rule_id)))


def pin_rule(session: Session, rule: Rule, change: Change) -> None:
    """Pin a rule; one that is pinned already stays as it is."""
    if session.get(RulePin, rule.id) is None:
        session.add(RulePin(rule_id=rule.id, pinned_by=change.actor, pinned_at=change.clock()))
        note_rule(session, rule, PINNED, change)


def unpin_rule(session: Session, rule: Rule, change: Change) -> None:
    """Take a rule's pin away; one without a pin stays as it is."""
    pin = session.get(RulePin, rule.id)
    if pin is not None:
        session.delete(pin)
        note_rule(session, rule, UNPINNED, change)


def inherit_pin(session: Session, rule: Rule, parents: Sequence[Rule], change: Change) -> None:
    """Pin a merged rule if one of its parents is pinned: what was to be kept is in it now."""
    pinned = pinned_rules(session)
    if any(parent.id in pinned for parent in parents):
        pin_rule(session, rule, change)
