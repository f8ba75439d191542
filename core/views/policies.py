"""The policies as people read them, and what others would have done to the past month (design section 12)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.lifecycle import Cause, State
from core.rules.policies import Decision, PolicyTerms, decide, stored_policies
from core.settings import Settings
from core.tables import Conflict, Rule, RuleEvent

MONTH = timedelta(days=30)
SHOWN = 20

policies_in_force = stored_policies


@dataclass(frozen=True)
class Past:
    """A candidate of the past month; ``person`` is what people did: approve, refuse or none (yet)."""

    rule_id: str
    name: str
    policy: str
    person: str


@dataclass(frozen=True)
class DryRun:
    """What policies would have done to the candidates of the past month, against what people did.

    Attributes:
        counts: (policy, person) -> candidates; policy is approve, refuse, person or none, person approve, refuse
            or none.
        against: those where a policy would have done the opposite, newest first, ``SHOWN`` at most.
        kept_back: candidates that a policy would have decided, but that were in a conflict or of a domain that
            takes several approvals; they count under person.
        total: candidates in all.
    """

    counts: dict[tuple[str, str], int]
    against: tuple[Past, ...]
    kept_back: int
    total: int


def dry_run(session: Session, policies: Sequence[PolicyTerms], settings: Settings, *, now: datetime) -> DryRun:
    """Try policies on the candidates that came up or were decided in the past month.

    A rule is judged as it was when a person first decided on it, else as it is now. What could not be verified
    would not have gone live by a policy either; that is not told here.
    """
    since = now - MONTH
    events = _decisions(session, since)
    born = _candidates_since(session, since)
    disputed = _ever_in_conflict(session)
    past, kept_back = [], 0
    for rule_id in dict.fromkeys([*events, *born]):
        person, content = events.get(rule_id, ("none", {}))
        name, origin, domain, confidence = _as_it_was(session, rule_id, content, born)
        said = decide(policies, origin, domain, confidence)
        if said in (Decision.APPROVE, Decision.REFUSE) and (
            rule_id in disputed or settings.review.approvals_for(domain) > 1
        ):
            said, kept_back = Decision.PERSON, kept_back + 1
        past.append(Past(rule_id, name, said.value if said is not None else "none", person))
    against = [one for one in past if {one.policy, one.person} == {"approve", "refuse"}]
    return DryRun(dict(Counter((one.policy, one.person) for one in past)), tuple(against[:SHOWN]), kept_back, len(past))


def _decisions(session: Session, since: datetime) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what people first decided on each candidate of late, and what the rule was then; newest first."""
    query = (
        select_columns(col(RuleEvent.rule_id), col(RuleEvent.kind), col(RuleEvent.before))
        .where(
            col(RuleEvent.kind).in_(("approved", Cause.PERSON.value)),
            col(RuleEvent.created_at) >= since,
            col(RuleEvent.actor) != "system",
            col(RuleEvent.from_state) == State.CANDIDATE.value,
        )
        .order_by(col(RuleEvent.id).desc())
    )
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for rule_id, kind, before in session.execute(query):
        found[rule_id] = ("approve" if kind == "approved" else "refuse", before or {})
    return found


def _candidates_since(session: Session, since: datetime) -> dict[str, tuple[str, str, str, float]]:
    query = (
        select_columns(*map(col, (Rule.id, Rule.name, Rule.origin, Rule.domain, Rule.confidence)))
        .where(col(Rule.created_at) >= since, col(Rule.origin) != "merge")
        .order_by(col(Rule.created_at).desc())
    )
    return {rule_id: (name, origin, domain, confidence) for rule_id, name, origin, domain, confidence in
            session.execute(query)}  # fmt: skip


def _as_it_was(
    session: Session, rule_id: str, content: dict[str, Any], born: dict[str, tuple[str, str, str, float]]
) -> tuple[str, str, str, float]:
    if rule_id in born:
        name, origin, domain, confidence = born[rule_id]
    else:
        rule = session.get_one(Rule, rule_id)
        name, origin, domain, confidence = rule.name, rule.origin, rule.domain, rule.confidence
    return name, origin, str(content.get("domain", domain)), float(content.get("confidence", confidence))


def _ever_in_conflict(session: Session) -> set[str]:
    return {rule for pair in session.exec(select(Conflict.rule_a, Conflict.rule_b)) for rule in pair}
