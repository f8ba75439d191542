"""What people do. Each function is one transaction: check, change, event and audit entry, or nothing at all.

Every change of a rule names the version the person has seen; if somebody changed it since, nothing happens
and the error says so.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError
from sqlmodel import Session, col, func, select

from core.audit import record_action
from core.calibration import Thresholds
from core.clock import Clock
from core.control import current_settings, set_control
from core.db import Database
from core.errors import Messages, UserError
from core.rules.conflict_records import live_conflicts, record_conflicts
from core.rules.conflicts import find_conflicts
from core.rules.library import Change, check_apart, create_rule, edit_rule, get_rule, move_rule
from core.rules.library import unmerge as take_apart
from core.rules.lifecycle import Cause, State
from core.rules.quality import check_quality
from core.settings import Settings
from core.tables import Conflict, Proposal, Refusal, Round, Rule, SettingOverride
from core.tables.rules import RuleContent

_WORDS_ALONE = Thresholds(duplicate=2.0, same_condition=2.0, duplicate_mixed=2.0, same_condition_mixed=2.0)
"""No cosine reaches these: conflicts are then found by words alone, without the embedding model."""


@dataclass(frozen=True)
class _Desk:
    """A person at work in one transaction."""

    session: Session
    change: Change

    def audit(self, action: str, kind: str, object_id: str, **detail: Any) -> None:
        record_action(
            self.session,
            self.change.clock,
            actor=self.change.actor,
            action=action,
            object_kind=kind,
            object_id=object_id,
            detail=detail,
        )


def approve(
    database: Database,
    *,
    rule_id: str,
    version: int,
    settings: Settings,
    actor: str,
    clock: Clock,
    activate: bool = False,
) -> None:
    """Let a candidate go live: once it is verified, or at once.

    Args:
        database: where the rule is.
        rule_id: the candidate.
        version: as the person has seen it.
        settings: as read at the start; say how many verified successes are enough.
        actor: who approves.
        clock: tells the time.
        activate: do not wait for verification.

    Raises:
        UserError: no such rule, it is no candidate, or it is in an open conflict and would go live.
        ConcurrentChangeError: it has changed since.
    """
    with _at_desk(database, actor, clock) as desk:
        rule = _candidate(desk, rule_id, version)
        _approve(desk, rule, settings, activate=activate)
        desk.audit("approve", "rule", rule_id, version=version, activate=activate, state=rule.state)


def edit_and_approve(
    database: Database,
    *,
    rule_id: str,
    version: int,
    content: Mapping[str, Any],
    settings: Settings,
    actor: str,
    clock: Clock,
) -> None:
    """Change what a candidate says and approve it in that form.

    Raises:
        UserError: the new text does not pass the quality check; says why.
        ConcurrentChangeError: it has changed since.
    """
    with _at_desk(database, actor, clock) as desk:
        rule = _candidate(desk, rule_id, version)
        edited = _edited(rule, content)
        _check(edited, current_settings(desk.session, settings))
        edit_rule(desk.session, rule, _texts(edited), desk.change)
        _look_for_conflicts(desk, rule)
        _approve(desk, rule, settings, activate=False)
        desk.audit("edit_and_approve", "rule", rule_id, version=version, content=_texts(edited))


def refuse(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Send a candidate to the archive; what says nearly the same will be refused from then on."""
    with _at_desk(database, actor, clock, reason) as desk:
        rule = _candidate(desk, rule_id, version)
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
        desk.audit("refuse", "rule", rule_id, version=version, reason=reason)


def archive(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Take a rule of any state out of use."""
    with _at_desk(database, actor, clock, reason) as desk:
        rule = get_rule(desk.session, rule_id, version)
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
        desk.audit("archive", "rule", rule_id, version=version, reason=reason)


def restore(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Make an archived rule a candidate again; it has to be approved anew.

    Raises:
        UserError: no such rule, or it is in use as part of a merge, or a part of it is.
        ConcurrentChangeError: it has changed since.
    """
    with _at_desk(database, actor, clock, reason) as desk:
        rule = get_rule(desk.session, rule_id, version)
        check_apart(desk.session, rule)
        move_rule(desk.session, rule, State.CANDIDATE, Cause.PERSON, desk.change, approved_by=None, merged_into=None)
        _look_for_conflicts(desk, rule)
        desk.audit("restore", "rule", rule_id, version=version, reason=reason)


def unmerge(database: Database, *, rule_id: str, version: int, reason: str, actor: str, clock: Clock) -> None:
    """Take a merge apart: it goes to the archive, and its parents come back as they were before it.

    Raises:
        UserError: no such rule, it is no merge, or its parents cannot come back as they were.
        ConcurrentChangeError: it has changed since.
    """
    with _at_desk(database, actor, clock, reason) as desk:
        parents = take_apart(desk.session, get_rule(desk.session, rule_id, version), desk.change)
        for parent in parents:
            _look_for_conflicts(desk, parent)
        names = [parent.id for parent in parents]
        desk.audit("unmerge", "rule", rule_id, version=version, reason=reason, parents=names)


def quarantine(
    database: Database,
    *,
    rule_id: str,
    version: int,
    descendants: Mapping[str, int],
    reason: str,
    actor: str,
    clock: Clock,
) -> None:
    """Take a harmful rule out of use together with rules that descend from it: all of them, or none.

    Args:
        database: where the rules are.
        rule_id: the rule to blame; of any state but archived, like the others.
        version: as the person has seen it.
        descendants: id -> version seen, of those of its descendants that are to go with it.
        reason: what the person typed.
        actor: who decides.
        clock: tells the time.

    Raises:
        UserError: there is no such rule, or one is archived already.
        ConcurrentChangeError: one has changed since.
    """
    with _at_desk(database, actor, clock, reason) as desk:
        for one, seen in {**descendants, rule_id: version}.items():
            rule = get_rule(desk.session, one, seen)
            move_rule(desk.session, rule, State.ARCHIVED, Cause.QUARANTINED, desk.change, approved_by=None)
        taken = dict(sorted(descendants.items()))
        desk.audit("quarantine", "rule", rule_id, version=version, reason=reason, descendants=taken)


def accept_proposal(database: Database, *, proposal_id: str, settings: Settings, actor: str, clock: Clock) -> None:
    """Carry out a proposed edit, if the rule is still as it was when the edit was proposed.

    Raises:
        ConcurrentChangeError: the rule has changed since the proposal.
        UserError: it was decided already, or its text does not pass the quality check any more.
    """
    with _at_desk(database, actor, clock) as desk:
        proposal = _open_proposal(desk, proposal_id)
        rule = get_rule(desk.session, proposal.rule_id, proposal.rule_version)
        edited = _edited(rule, proposal.after)
        _check(edited, current_settings(desk.session, settings))
        edit_rule(desk.session, rule, _texts(edited) | {"approved_by": actor}, desk.change)
        _look_for_conflicts(desk, rule)
        proposal.status, proposal.decided_by = "accepted", actor
        desk.session.add(proposal)
        desk.audit("accept_proposal", "proposal", proposal_id, rule_id=rule.id)


def refuse_proposal(database: Database, *, proposal_id: str, reason: str, actor: str, clock: Clock) -> None:
    """Leave the rule as it is."""
    with _at_desk(database, actor, clock, reason) as desk:
        proposal = _open_proposal(desk, proposal_id)
        proposal.status, proposal.decided_by = "refused", actor
        desk.session.add(proposal)
        desk.audit("refuse_proposal", "proposal", proposal_id, rule_id=proposal.rule_id, reason=reason)


def resolve_conflict(database: Database, *, conflict_id: str, keep: str | None, actor: str, clock: Clock) -> None:
    """Keep one of two contradicting rules, or say that they do not contradict each other.

    The loser goes on probation if it was live, else to the archive. A dismissed pair is never brought up again.

    Raises:
        UserError: no such open conflict, or ``keep`` is neither of its rules.
    """
    with _at_desk(database, actor, clock) as desk:
        conflict = desk.session.get(Conflict, conflict_id)
        if conflict is None or conflict.status != "open":
            raise UserError("This conflict is not open any more. Nothing was changed.")
        if keep is not None and keep not in (conflict.rule_a, conflict.rule_b):
            raise UserError("The rule to keep is neither of the two in conflict: {rule_id}.", rule_id=keep)
        if keep is not None:
            _demote(desk, conflict.rule_b if keep == conflict.rule_a else conflict.rule_a)
        conflict.status = "dismissed" if keep is None else "resolved"
        conflict.resolution = "not_a_conflict" if keep is None else f"keep:{keep}"
        conflict.resolved_by, conflict.resolved_at = actor, clock()
        desk.session.add(conflict)
        desk.audit("resolve_conflict", "conflict", conflict_id, keep=keep)


def revive_refusal(database: Database, *, refusal_id: str, actor: str, clock: Clock) -> str:
    """Make a refused draft a candidate all the same; returns the rule's id.

    Raises:
        UserError: no such refusal, or it was revived already.
    """
    with _at_desk(database, actor, clock) as desk:
        refusal = desk.session.get(Refusal, refusal_id)
        if refusal is None or refusal.revived_as is not None:
            raise UserError("This draft is not among the refused ones any more. Nothing was changed.")
        draft = dict(refusal.draft)
        lists = {name: draft.pop(name, []) for name in ("evidence", "lineage")}
        rule = create_rule(desk.session, RuleContent(**draft), desk.change, origin="reflection", **lists)
        _look_for_conflicts(desk, rule)
        refusal.revived_as = rule.id
        desk.session.add(refusal)
        desk.audit("revive_refusal", "refusal", refusal_id, rule_id=rule.id)
        return rule.id


def set_loop(database: Database, *, wanted: str, actor: str, clock: Clock) -> None:
    """Start or pause the loop.

    Raises:
        UserError: ``wanted`` is neither run nor pause.
    """
    if wanted not in ("run", "pause"):
        raise UserError("The loop can be told to run or to pause, not to {wanted}.", wanted=wanted)
    with _at_desk(database, actor, clock) as desk:
        set_control(desk.session, clock, wanted=wanted, actor=actor)
        desk.audit("set_loop", "loop", "loop", wanted=wanted)


def step_loop(database: Database, *, rounds: int, actor: str, clock: Clock) -> None:
    """Let the loop run a number of rounds and pause again.

    Raises:
        UserError: not between 1 and 100 rounds.
    """
    if not 1 <= rounds <= 100:
        raise UserError("Between 1 and 100 rounds can be run at a time, not {rounds}.", rounds=rounds)
    with _at_desk(database, actor, clock) as desk:
        set_control(desk.session, clock, wanted="pause", actor=actor, steps=rounds)
        desk.audit("step_loop", "loop", "loop", rounds=rounds)


def change_setting(database: Database, *, name: str, value: Any, settings: Settings, actor: str, clock: Clock) -> None:
    """Change a setting while the product runs; checked together with all others before it is stored.

    Raises:
        UserError: unknown or not adjustable, out of range, or in contradiction to another setting.
    """
    with _at_desk(database, actor, clock) as desk:
        row = desk.session.get(SettingOverride, name) or SettingOverride(
            name=name, value=value, changed_by=actor, changed_at=clock()
        )
        row.value, row.changed_by, row.changed_at = value, actor, clock()
        desk.session.add(row)
        desk.session.flush()
        current_settings(desk.session, settings)
        desk.audit("change_setting", "setting", name, value=value)


@contextmanager
def _at_desk(database: Database, actor: str, clock: Clock, reason: str = "") -> Iterator[_Desk]:
    with database.write() as session:
        # Terms such as "three rounds on probation" count from the round in which a person acted.
        latest = session.exec(select(func.max(Round.number))).one()
        yield _Desk(session, Change(actor, clock, reason, round_number=latest))


def _candidate(desk: _Desk, rule_id: str, version: int) -> Rule:
    rule = get_rule(desk.session, rule_id, version)
    if rule.state != State.CANDIDATE:
        raise UserError("Only a candidate can be decided on here; this rule is {state}.", state=rule.state)
    return rule


def _approve(desk: _Desk, rule: Rule, settings: Settings, *, activate: bool) -> None:
    lifecycle = current_settings(desk.session, settings).lifecycle
    edit_rule(desk.session, rule, {"approved_by": desk.change.actor}, desk.change, kind="approved")
    conflicts = [c for c in live_conflicts(desk.session) if rule.id in (c.rule_a, c.rule_b)]
    if activate and conflicts:
        other = conflicts[0].rule_b if conflicts[0].rule_a == rule.id else conflicts[0].rule_a
        raise UserError(
            "This rule contradicts “{other}”. Resolve the conflict first; nothing was changed.",
            other=get_rule(desk.session, other).name,
        )
    if activate:
        move_rule(desk.session, rule, State.ACTIVE, Cause.PERSON, desk.change)
    elif rule.verified >= lifecycle.verified_successes and not conflicts:
        move_rule(desk.session, rule, State.ACTIVE, Cause.VERIFIED, desk.change)


def _demote(desk: _Desk, rule_id: str) -> None:
    rule = get_rule(desk.session, rule_id)
    if rule.state == State.ACTIVE:
        move_rule(desk.session, rule, State.PROBATION, Cause.LOST_CONFLICT, desk.change)
    elif rule.state != State.ARCHIVED:
        move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)


def _open_proposal(desk: _Desk, proposal_id: str) -> Proposal:
    proposal = desk.session.get(Proposal, proposal_id)
    if proposal is None or proposal.status != "open":
        raise UserError("This proposal is not open any more. Nothing was changed.")
    return proposal


def _edited(rule: Rule, changes: Mapping[str, Any]) -> RuleContent:
    try:
        return RuleContent.model_validate(_texts(rule) | dict(changes))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=problems) from error


def _check(draft: RuleContent, settings: Settings) -> None:
    """A person's text is held to the same standard, but for the confidence, which is a model's matter."""
    findings = [f for f in check_quality(draft, settings.rules) if f.detector != "confidence"]
    if findings:
        raise UserError("The rule was not saved, your text is kept. {problems}", problems=Messages(findings))


def _look_for_conflicts(desk: _Desk, rule: Rule) -> None:
    """Record what a changed text contradicts, by words alone; the loop's own checks use meaning too."""
    others = desk.session.exec(
        select(Rule).where(Rule.domain == rule.domain, Rule.state != State.ARCHIVED.value, col(Rule.id) != rule.id)
    ).all()
    pairs: list[tuple[str, RuleContent]] = [(other.id, other) for other in others]
    nothing = np.zeros((len(pairs), 1), dtype=np.float32)
    found = find_conflicts(rule, pairs, np.zeros(1, dtype=np.float32), nothing, _WORDS_ALONE)
    record_conflicts(desk.session, rule, [finding for finding in found if finding.hard], desk.change)


def _texts(rule: RuleContent) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in RuleContent.model_fields}
