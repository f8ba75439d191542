"""Decisions on candidates, on proposed edits, and on drafts that a check refused."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from core.clock import Clock
from core.control import current_settings
from core.curation.claims import check_claim
from core.curation.desk import Desk, at_desk
from core.curation.opinions import enough_approvals, opinions_detail
from core.curation.texts import check_text, edited, look_for_conflicts, texts
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.rules.conflict_records import live_conflicts
from core.rules.kinship import learned_from
from core.rules.library import create_rule, edit_rule, get_rule, move_rule
from core.rules.lifecycle import Cause, State
from core.settings import Settings
from core.tables import Proposal, Refusal, Rule
from core.tables.rules import RuleContent


class Outcome(StrEnum):
    """What an approval came to."""

    RECORDED = "recorded"  # more people have to approve it
    APPROVED = "approved"  # it goes live once it is verified
    ACTIVE = "active"


def approve(
    database: Database,
    *,
    rule_id: str,
    version: int,
    settings: Settings,
    actor: str,
    clock: Clock,
    activate: bool = False,
) -> Outcome:
    """Let a candidate go live: once it is verified, or at once; where several people have to approve, the last does.

    Args:
        database: where the rule is.
        rule_id: the candidate.
        version: as the person has seen it.
        settings: as read at the start; say how many verified successes are enough.
        actor: who approves.
        clock: tells the time.
        activate: do not wait for verification.

    Raises:
        UserError: no such rule, it is no candidate, it is in an open conflict and would go live, somebody else has
            it before them, or the actor has approved it already.
        ConcurrentChangeError: it has changed since.
    """
    with at_desk(database, Action.APPROVE, actor, clock) as desk:
        rule = open_candidate(desk, rule_id, version)
        outcome = approve_at(desk, rule, settings, activate=activate)
        detail = opinions_detail(desk, rule_id, rule, rule)
        desk.record(rule_id, version=version, activate=activate, state=rule.state, **detail)
    return outcome


def edit_and_approve(
    database: Database,
    *,
    rule_id: str,
    version: int,
    content: Mapping[str, Any],
    settings: Settings,
    actor: str,
    clock: Clock,
) -> Outcome:
    """Change what a candidate says and approve it in that form.

    Raises:
        UserError: the new text does not pass the quality check; says why.
        ConcurrentChangeError: it has changed since.
    """
    with at_desk(database, Action.EDIT_AND_APPROVE, actor, clock) as desk:
        rule = open_candidate(desk, rule_id, version)
        changed = edited(rule, content)
        check_text(changed, current_settings(desk.session, settings))
        edit_rule(desk.session, rule, texts(changed), desk.change)
        look_for_conflicts(desk.session, desk.change, rule)
        outcome = approve_at(desk, rule, settings, activate=False)
        detail = opinions_detail(desk, rule_id, rule, rule)
        desk.record(rule_id, version=version, content=texts(changed), **detail)
    return outcome


def refuse(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Send a candidate to the archive; what says nearly the same will be refused from then on."""
    with at_desk(database, Action.REFUSE, actor, clock, reason) as desk:
        rule = open_candidate(desk, rule_id, version)
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
        desk.record(rule_id, version=version, reason=reason)


def accept_proposal(database: Database, *, proposal_id: str, settings: Settings, actor: str, clock: Clock) -> Outcome:
    """Carry out a proposed edit, if the rule is still as it was when the edit was proposed.

    Where several people have to approve rules of its domain, the last of them carries it out.

    Raises:
        ConcurrentChangeError: the rule has changed since the proposal.
        UserError: it was decided already, its text does not pass the quality check any more, somebody else has it
            before them, or the actor has approved it already.
    """
    with at_desk(database, Action.ACCEPT_PROPOSAL, actor, clock) as desk:
        proposal = _open_proposal(desk, proposal_id)
        rule = get_rule(desk.session, proposal.rule_id, proposal.rule_version)
        changed = edited(rule, proposal.after)
        current = current_settings(desk.session, settings)
        check_text(changed, current)
        done = enough_approvals(desk, proposal_id, rule, changed, current.review.approvals_for(rule.domain))
        detail = opinions_detail(desk, proposal_id, rule, changed)
        if done:
            learned = learned_from(rule, proposal.evidence, proposal.after.get("lineage", ()))
            edit_rule(desk.session, rule, texts(changed) | learned | {"approved_by": actor}, desk.change)
            look_for_conflicts(desk.session, desk.change, rule)
            proposal.status, proposal.decided_by = "accepted", actor
            desk.session.add(proposal)
        desk.record(proposal_id, rule_id=rule.id, **detail)
    return Outcome.APPROVED if done else Outcome.RECORDED


def refuse_proposal(database: Database, *, proposal_id: str, reason: str, actor: str, clock: Clock) -> None:
    """Leave the rule as it is."""
    with at_desk(database, Action.REFUSE_PROPOSAL, actor, clock, reason) as desk:
        proposal = _open_proposal(desk, proposal_id)
        proposal.status, proposal.decided_by = "refused", actor
        desk.session.add(proposal)
        desk.record(proposal_id, rule_id=proposal.rule_id, reason=reason)


def revive_refusal(database: Database, *, refusal_id: str, actor: str, clock: Clock) -> str:
    """Make a refused draft a candidate all the same; returns the rule's id.

    Raises:
        UserError: no such refusal, or it was revived already.
    """
    with at_desk(database, Action.REVIVE_REFUSAL, actor, clock) as desk:
        refusal = desk.session.get(Refusal, refusal_id)
        if refusal is None:
            raise UserError("There is no refused draft {refusal_id}.", refusal_id=refusal_id)
        desk.check("revived" if refusal.revived_as else "refused")
        draft = dict(refusal.draft)
        lists = {name: draft.pop(name, []) for name in ("evidence", "lineage")}
        rule = create_rule(desk.session, RuleContent(**draft), desk.change, origin="reflection", **lists)
        look_for_conflicts(desk.session, desk.change, rule)
        refusal.revived_as = rule.id
        desk.session.add(refusal)
        desk.record(refusal_id, rule_id=rule.id)
        return rule.id


def open_candidate(desk: Desk, rule_id: str, version: int) -> Rule:
    """Return a candidate to decide on, as the person has seen it.

    Raises:
        ClaimedError: somebody else has it before them.
        UserError: as ``Desk.rule``.
    """
    rule = desk.rule(rule_id, version)
    check_claim(desk, rule_id)
    return rule


def approve_at(desk: Desk, rule: Rule, settings: Settings, *, activate: bool) -> Outcome:
    """Approve a candidate in the desk's transaction; raises like ``approve``."""
    current = current_settings(desk.session, settings)
    if not enough_approvals(desk, rule.id, rule, rule, current.review.approvals_for(rule.domain)):
        return Outcome.RECORDED
    edit_rule(desk.session, rule, {"approved_by": desk.change.actor}, desk.change, kind="approved")
    conflicts = live_conflicts(desk.session, rule.id)
    if activate and conflicts:
        other = conflicts[0].rule_b if conflicts[0].rule_a == rule.id else conflicts[0].rule_a
        raise UserError(
            "This rule contradicts “{other}”. Resolve the conflict first; nothing was changed.",
            other=get_rule(desk.session, other).name,
        )
    if activate:
        move_rule(desk.session, rule, State.ACTIVE, Cause.PERSON, desk.change)
    elif rule.verified >= current.lifecycle.verified_successes and not conflicts:
        move_rule(desk.session, rule, State.ACTIVE, Cause.VERIFIED, desk.change)
    return Outcome.ACTIVE if rule.state == State.ACTIVE else Outcome.APPROVED


def _open_proposal(desk: Desk, proposal_id: str) -> Proposal:
    proposal = desk.session.get(Proposal, proposal_id)
    if proposal is None:
        raise UserError("There is no proposal {proposal_id}.", proposal_id=proposal_id)
    desk.check(proposal.status)
    check_claim(desk, proposal_id)
    return proposal
