"""Which rules change their state after a round (design section 4). Decides by figures, acts through the library."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sqlmodel import Session, col, func, select

from core.learning.harm import Record
from core.rules.conflict_records import live_conflicts, losers
from core.rules.library import Change, move_rule, rules_in
from core.rules.lifecycle import IN_USE, Cause, State
from core.rules.pins import pinned_rules
from core.rules.policies import Decision
from core.rules.pruning import rules_to_retire, with_diversity
from core.rules.utility import Scorer
from core.settings import LifecycleSettings
from core.tables import Episode, Rule, RuleEvent, RuleUse

Reason = tuple[str, dict[str, Any]]
Step = tuple[State, Cause, Reason]

_TRIMMED = "Cut from {percent} % of this round's prompts by the token budget"
_HARMFUL = (
    "{passes} of {uses} passed with it, baseline {baseline_passes} of {baseline_uses}; "
    "probability that it is worse: {probability}"
)
_RECOVERED_BELOW = 0.5  # P(worse than baseline) at which a posterior is back at the baseline


@dataclass(frozen=True)
class Evidence:
    """What the decisions of one round rest on."""

    records: Mapping[str, Record]
    trimmed_share: Mapping[str, float]
    in_conflict: frozenset[str]
    candidate_since: Mapping[str, int]
    losers: frozenset[str] = frozenset()
    returned: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()


def apply_transitions(
    session: Session,
    domain: str,
    evidence: Evidence,
    settings: LifecycleSettings,
    change: Change,
    *,
    testable: bool = True,
    decisions: Mapping[str, Decision] | None = None,
) -> None:
    """Move each rule as far as its figures call for; at most one step a round.

    Where no held-out test follows (``testable`` is False), only what a person approved goes live. ``decisions``
    are what policies say about candidates, by id; without one, ``settings.approval`` counts.
    """
    decisions = decisions or {}
    rules = rules_in(session, domain, IN_USE)
    room = settings.capacity - sum(rule.state == State.ACTIVE for rule in rules)
    for rule in rules:
        # What came back in this round is tried again first, whatever it had proved before it was archived.
        settled = rule.id not in evidence.in_conflict | evidence.losers | evidence.returned
        may_go_live = room > 0 and (testable or rule.approved_by is not None) and settled
        step = _policy_step(rule, evidence, decisions) or _next_step(
            rule, evidence, _ruled(settings, decisions.get(rule.id)), change.round_number or 0, may_go_live
        )
        if step is not None:
            to, cause, (template, values) = step
            room -= to is State.ACTIVE
            move_rule(session, rule, to, cause, change.because(template, **values))


def prune(session: Session, domain: str, scorer: Scorer, settings: LifecycleSettings, change: Change) -> None:
    """Archive what is over capacity and the lowest share by utility, with a bonus for what is unlike the rest."""
    rules = rules_in(session, domain, IN_USE)
    total = sum(rule.n_used for rule in rules)
    scores = {rule.id: scorer.score(rule, total) for rule in rules}
    utilities = with_diversity(rules, scores, settings.diversity_bonus)
    for rule in rules_to_retire(rules, utilities, settings, pinned_rules(session)):
        utility = utilities[rule.id]
        # Infinity is no JSON, which is what the values are stored as.
        shown = round(utility, 3) if isfinite(utility) else "∞"
        why = change.because("Its utility {utility} is among the lowest", utility=shown)
        move_rule(session, rule, State.ARCHIVED, Cause.PRUNED, why)


def ready_to_go_live(rule: Rule, in_conflict: bool, settings: LifecycleSettings) -> bool:
    """A candidate has earned its place: verified often enough, approved if need be, in no open conflict."""
    approved = rule.approved_by is not None or settings.approval == "auto"
    return rule.verified >= settings.verified_successes and approved and not in_conflict


def is_harmful(record: Record | None, settings: LifecycleSettings) -> bool:
    """Used often enough, and probably worse than doing without."""
    if record is None or record.uses < settings.harmful_min_uses:
        return False
    return record.probability_worse >= settings.harmful_probability


def gather_evidence(session: Session, domain: str, round_number: int, records: Mapping[str, Record]) -> Evidence:
    """Collect trims of the round, open conflicts, and what came back from the archive in the round."""
    rows = session.exec(
        select(RuleUse.rule_id, RuleUse.disposition, func.count())
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(Episode.round_number == round_number, Episode.arm == "learn", Episode.environment == domain)
        .group_by(col(RuleUse.rule_id), col(RuleUse.disposition))
    )
    counts: dict[str, dict[str, int]] = {}
    for rule_id, disposition, count in rows:
        counts.setdefault(rule_id, {})[disposition] = count
    shares = {rule_id: parts.get("trimmed", 0) / sum(parts.values()) for rule_id, parts in counts.items()}
    in_conflict = frozenset(rule for c in live_conflicts(session) for rule in (c.rule_a, c.rule_b))
    since, returned = _candidate_since(session, domain), _returned(session, round_number)
    return Evidence(records, shares, in_conflict, since, losers(session), returned, pinned_rules(session))


def _returned(session: Session, round_number: int) -> frozenset[str]:
    """Return the rules that the round brought back from the archive."""
    query = select(RuleEvent.rule_id).where(
        RuleEvent.round_number == round_number, RuleEvent.kind == Cause.REENTERED.value
    )
    return frozenset(session.exec(query))


def _candidate_since(session: Session, domain: str) -> dict[str, int]:
    """Return the round in which each rule last became a candidate, by being created or restored."""
    rows = session.exec(
        select(RuleEvent.rule_id, func.max(RuleEvent.round_number))
        .join(Rule, col(Rule.id) == RuleEvent.rule_id)
        .where(
            Rule.domain == domain,
            RuleEvent.to_state == State.CANDIDATE.value,
            col(RuleEvent.from_state).is_distinct_from(State.CANDIDATE.value),
        )
        .group_by(col(RuleEvent.rule_id))
    )
    return {rule_id: number or 0 for rule_id, number in rows}


def _policy_step(rule: Rule, evidence: Evidence, decisions: Mapping[str, Decision]) -> Step | None:
    """Refuse what a policy refuses; a rule in a conflict always needs a person."""
    if decisions.get(rule.id) is not Decision.REFUSE or rule.id in evidence.in_conflict:
        return None
    return State.ARCHIVED, Cause.POLICY, ("A policy refuses rules of this kind", {})


def _ruled(settings: LifecycleSettings, decision: Decision | None) -> LifecycleSettings:
    """Return the settings as a policy has them for one rule."""
    approval = {Decision.APPROVE: "auto", Decision.PERSON: "required"}.get(decision) if decision else None
    return settings if approval is None else settings.model_copy(update={"approval": approval})


def _next_step(
    rule: Rule, evidence: Evidence, settings: LifecycleSettings, round_number: int, may_go_live: bool
) -> Step | None:
    record = evidence.records.get(rule.id)
    if rule.state == State.CANDIDATE:
        return _candidate_step(rule, record, evidence, settings, round_number, may_go_live)
    if rule.state == State.ACTIVE:
        return _active_step(rule, record, evidence, settings)
    return _probation_step(rule, record, settings, round_number, may_go_live)


def _candidate_step(
    rule: Rule,
    record: Record | None,
    evidence: Evidence,
    settings: LifecycleSettings,
    round_number: int,
    may_go_live: bool,
) -> Step | None:
    if is_harmful(record, settings):
        return State.ARCHIVED, Cause.HARMFUL, _harm(record)
    if ready_to_go_live(rule, rule.id in evidence.in_conflict, settings) and may_go_live:
        return State.ACTIVE, Cause.VERIFIED, ("{verified} verified successes", {"verified": rule.verified})
    since = max(rule.last_retrieved_round or 0, evidence.candidate_since.get(rule.id, 0))
    if round_number - since >= settings.unretrieved_rounds and rule.id not in evidence.pinned:
        return State.ARCHIVED, Cause.UNRETRIEVED, ("Not retrieved since round {since}", {"since": since})
    return None


def _active_step(rule: Rule, record: Record | None, evidence: Evidence, settings: LifecycleSettings) -> Step | None:
    if is_harmful(record, settings):
        return State.PROBATION, Cause.HARMFUL, _harm(record)
    share = evidence.trimmed_share.get(rule.id, 0.0)
    if share > settings.trimmed_share:
        return State.PROBATION, Cause.TRIMMED, (_TRIMMED, {"percent": round(100 * share)})
    return None


def _probation_step(
    rule: Rule, record: Record | None, settings: LifecycleSettings, round_number: int, may_go_live: bool
) -> Step | None:
    if record is not None and record.probability_worse < _RECOVERED_BELOW and may_go_live:
        return State.ACTIVE, Cause.RECOVERED, ("Its success rate is back at the baseline", {})
    if round_number - (rule.probation_since or 0) >= settings.probation_rounds:
        return State.ARCHIVED, Cause.NO_RECOVERY, ("No recovery since round {since}", {"since": rule.probation_since})
    return None


def _harm(record: Record | None) -> Reason:
    if record is None:
        return ("", {})
    values = {
        "passes": record.passes,
        "uses": record.uses,
        "baseline_passes": record.baseline_passes,
        "baseline_uses": record.baseline_passes + record.baseline_fails,
        "probability": round(record.probability_worse, 3),
    }
    return (_HARMFUL, values)
