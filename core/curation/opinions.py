"""Several approvals, each by another person, for rules of chosen domains (design section 12)."""

from collections.abc import Mapping
from typing import Any

from core.curation.desk import Desk
from core.errors import UserError
from core.ids import stable_id
from core.rules.opinions import approvals_of, text_digest
from core.tables import Approval, Rule
from core.tables.rules import RuleContent


def enough_approvals(desk: Desk, item_id: str, rule: Rule, text: RuleContent, needed: int) -> bool:
    """Record the approval of whoever is at the desk; say whether it completes the number that is needed.

    Args:
        desk: an approving action.
        item_id: the rule's id, or the proposal's.
        rule: the rule it is about.
        text: what is approved.
        needed: approvals in all, at least 1; where one is enough nothing is recorded besides the audit entry.

    Raises:
        UserError: the same person has approved this text already.
    """
    if needed == 1:
        return True
    given = approvals_of(desk.session, item_id, rule, text)
    actor = desk.change.actor
    if actor in {one.actor for one in given}:
        raise UserError(
            "You have approved this already. {missing} more of {needed} approvals are missing, by other people. "
            "Nothing was changed.",
            missing=needed - len(given),
            needed=needed,
        )
    digest, now = text_digest(text), desk.change.clock()
    desk.session.merge(
        Approval(
            id=stable_id("approval", item_id, digest, actor), item_id=item_id, text=digest, actor=actor, created_at=now
        )
    )
    return len(given) + 1 >= needed


def opinions_detail(desk: Desk, item_id: str, rule: Rule, text: RuleContent) -> Mapping[str, Any]:
    """Return what the audit entry says about the approvals so far; nothing where one is enough."""
    given = approvals_of(desk.session, item_id, rule, text)
    return {"approvals": [one.actor for one in given]} if given else {}
