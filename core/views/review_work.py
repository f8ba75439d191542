"""What people have done with a waiting item so far: drafts, approvals, and what a policy says (section 12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from core.people.accounts import sign_in_needed
from core.people.permissions import Action, Role, may
from core.rules.opinions import approvals_of
from core.rules.policies import policy_decisions
from core.settings import Settings
from core.tables import EvidenceWish, Person, Proposal, ReviewDraft, Rule
from core.tables.rules import RuleContent
from core.text import estimate_tokens
from core.views.library import RuleRow, rule_row


@dataclass(frozen=True)
class Draft:
    """What somebody has typed and not sent; ``seen`` are the rules it was written for, with their versions."""

    content: Mapping[str, Any]
    seen: Mapping[str, int]
    saved_at: datetime


TEXTS = ("name", "condition", "action", "exclusion", "rationale")
"""What a person writes of a rule."""


@dataclass(frozen=True)
class OtherRule:
    """Another rule than the one under review; ``texts`` by the names in ``TEXTS``."""

    row: RuleRow
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Given:
    """An approval that holds."""

    actor: str
    at: datetime


@dataclass(frozen=True)
class Standing:
    """Where an item stands between people.

    Attributes:
        needed: approvals it needs in all, at least 1.
        given: those that hold already, oldest first.
        policy: what a policy says about it: approve, refuse, person or ''.
        asked_by: who asked for more evidence before; '' if nobody did.
        tokens: what its text takes in a prompt, estimated.
    """

    needed: int
    given: tuple[Given, ...]
    policy: str
    asked_by: str
    tokens: int


def draft_of(session: Session, actor: str, item_id: str, kind: str) -> Draft | None:
    """Return somebody's draft for an item; None if there is none. ``kind`` is edit or merge."""
    row = session.exec(
        select(ReviewDraft).where(
            ReviewDraft.actor == actor, ReviewDraft.item_id == item_id, ReviewDraft.kind == kind
        )
    ).first()  # fmt: skip
    return None if row is None else Draft(row.content, row.seen, row.saved_at)


def standing(session: Session, item_id: str, text: str, settings: Settings) -> Standing | None:
    """Tell where a waiting rule or proposal stands; None if there is no such item.

    Args:
        session: for reading.
        item_id: a rule's or a proposal's id.
        text: as it will be in prompts.
        settings: as they are in force.
    """
    proposal = session.get(Proposal, item_id)
    rule = session.get(Rule, proposal.rule_id if proposal is not None else item_id)
    if rule is None:
        return None
    after = dict(proposal.after) if proposal is not None else {}
    content = RuleContent(**{name: after.get(name, getattr(rule, name)) for name in RuleContent.model_fields})
    said = policy_decisions(session, [rule], settings) if proposal is None else {}
    wish = session.get(EvidenceWish, rule.id)
    return Standing(
        needed=settings.review.approvals_for(rule.domain),
        given=tuple(Given(one.actor, one.created_at) for one in approvals_of(session, item_id, rule, content)),
        policy=said[rule.id].value if rule.id in said else "",
        asked_by=wish.asked_by if wish is not None else "",
        tokens=estimate_tokens(text),
    )


def other_rules(session: Session, rule_ids: list[str]) -> tuple[OtherRule, ...]:
    """Return rules by id, in the order given; ids of no rule are left out."""
    found = {rule.id: rule for rule in session.exec(select(Rule).where(col(Rule.id).in_(rule_ids)))}
    return tuple(
        OtherRule(rule_row(found[one]), {name: str(getattr(found[one], name)) for name in TEXTS})
        for one in rule_ids
        if one in found
    )


def reviewers(session: Session) -> tuple[str, ...]:
    """List the active accounts that may decide in Review; empty without sign-in."""
    if not sign_in_needed(session):
        return ()
    people = session.exec(select(Person).where(col(Person.active).is_(True)).order_by(Person.email))
    return tuple(
        one.email for one in people if may(frozenset(Role(role) for role in one.roles), Action.APPROVE)
    )  # fmt: skip
