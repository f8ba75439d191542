"""Policies: which candidates need no person to be approved or refused (design section 12). Decides, never acts.

The first policy that fits a rule decides; what none fits is a matter of ``lifecycle.approval``, as without
policies. A policy never stands in for a person where somebody has taken the rule up, where several people have to
approve, or where the rule is in an open conflict; and what it approves still has to be verified, in an environment
where a held-out test follows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, and_, col, or_, select

from core.rules.lifecycle import State
from core.settings import Settings
from core.tables import Approval, Assignment, EvidenceWish, Policy, Rule, RuleEvent


class Decision(StrEnum):
    """What a policy says."""

    APPROVE = "approve"  # goes live once it is verified, without a person
    REFUSE = "refuse"  # goes to the archive
    PERSON = "person"  # waits for a person, whatever lifecycle.approval says


@dataclass(frozen=True)
class PolicyTerms:
    """Which rules a policy is for, and what it says. ``origin`` and ``domain`` '' fit any; both ends count."""

    origin: str
    domain: str
    min_confidence: float
    max_confidence: float
    decision: Decision

    def fits(self, origin: str, domain: str, confidence: float) -> bool:
        """Say whether it is for rules like this one."""
        return (
            self.origin in ("", origin)
            and self.domain in ("", domain)
            and self.min_confidence <= confidence <= self.max_confidence
        )


def stored_policies(session: Session) -> list[PolicyTerms]:
    """Return the policies in force, in the order in which they are tried."""
    rows = session.exec(select(Policy).order_by(col(Policy.place)))
    return [
        PolicyTerms(row.origin, row.domain, row.min_confidence, row.max_confidence, Decision(row.decision))
        for row in rows
    ]


def decide(policies: Iterable[PolicyTerms], origin: str, domain: str, confidence: float) -> Decision | None:
    """Return what the first fitting policy says; None if none fits."""
    return next((one.decision for one in policies if one.fits(origin, domain, confidence)), None)


def policy_decisions(session: Session, rules: Sequence[Rule], settings: Settings) -> dict[str, Decision]:
    """Return what policies say about each candidate that nobody has decided on; by id, only of those that fit one.

    A rule that a person has taken up, or that several people have to approve, needs a person where a policy would
    approve or refuse it.
    """
    policies = stored_policies(session)
    if not policies:
        return {}
    open_ones = [rule for rule in rules if rule.state == State.CANDIDATE and rule.approved_by is None]
    said = {rule.id: decide(policies, rule.origin, rule.domain, rule.confidence) for rule in open_ones}
    taken_up = _taken_up(session, said)
    peoples = {rule.id for rule in open_ones if settings.review.approvals_for(rule.domain) > 1} | taken_up
    return {
        rule_id: Decision.PERSON if rule_id in peoples else decision
        for rule_id, decision in said.items()
        if decision is not None
    }


def _taken_up(session: Session, rule_ids: Iterable[str]) -> set[str]:
    """Return the rules with which a person has done anything but creating them from a file or by hand."""
    ids = list(rule_ids)
    events = select(RuleEvent.rule_id).join(Rule, col(Rule.id) == RuleEvent.rule_id)
    revived = and_(col(RuleEvent.kind) == "created", col(Rule.origin) == "reflection")
    people = and_(col(RuleEvent.actor) != "system", or_(col(RuleEvent.kind) != "created", revived))
    found = set(session.exec(events.where(col(RuleEvent.rule_id).in_(ids), people)))
    found |= set(session.exec(select(Approval.item_id).where(col(Approval.item_id).in_(ids))))
    found |= set(session.exec(select(Assignment.item_id).where(col(Assignment.item_id).in_(ids))))
    return found | set(session.exec(select(EvidenceWish.rule_id).where(col(EvidenceWish.rule_id).in_(ids))))
