"""Which approvals hold for a text: those given to it as it is now, since the rule last became a candidate."""

from sqlmodel import Session, col, func, select

from core.ids import stable_id
from core.rules.lifecycle import Cause, State
from core.tables import Approval, Rule, RuleEvent
from core.tables.rules import RuleContent


def approvals_of(session: Session, item_id: str, rule: Rule, text: RuleContent) -> list[Approval]:
    """Return the approvals that hold, oldest first.

    Args:
        session: for reading.
        item_id: the rule's id, or that of a proposal about it.
        rule: the rule.
        text: what is to be approved; an approval of another text does not hold.
    """
    query = select(Approval).where(Approval.item_id == item_id, Approval.text == text_digest(text))
    # Whoever restored it from the archive asked for it to be approved anew.
    restored = session.exec(
        select(func.max(RuleEvent.created_at)).where(
            RuleEvent.rule_id == rule.id,
            RuleEvent.kind == Cause.PERSON.value,
            RuleEvent.to_state == State.CANDIDATE.value,
        )
    ).one()
    if restored is not None:
        query = query.where(col(Approval.created_at) >= restored)
    return list(session.exec(query.order_by(col(Approval.created_at), col(Approval.id))))


def text_digest(text: RuleContent) -> str:
    """Return what tells one text from another: all that a prompt or a filter reads."""
    return stable_id("text", text.name, text.condition, text.action, text.exclusion, text.domain)
