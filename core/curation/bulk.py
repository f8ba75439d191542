"""The same decision on many candidates: previewed, checked again when applied, all of them or none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col, select

from core.clock import Clock
from core.control import current_settings
from core.curation.claims import check_free
from core.curation.desk import at_desk
from core.curation.review import approve_at, open_candidate
from core.db import Database
from core.errors import Messages, UserError
from core.people.permissions import Action
from core.rules.conflict_records import live_conflicts
from core.rules.library import move_rule
from core.rules.lifecycle import Cause, State
from core.rules.quality import check_quality
from core.settings import Settings
from core.tables import Rule

MOST = 200
"""Items of one bulk decision at most: what a person can have looked through."""


class Fate(StrEnum):
    """What a bulk decision would make of an item."""

    ACTIVE = "active"  # approved, and verified often enough to go live at once
    APPROVED = "approved"  # approved; goes live once it is verified
    REFUSED = "refused"
    OBJECTION = "objection"  # nothing: an objection stands against it


@dataclass(frozen=True)
class Prospect:
    """One item of a bulk decision and what would become of it; ``objection`` says why not."""

    rule_id: str
    version: int
    name: str
    fate: Fate
    objection: UserError | None = None


def preview_bulk(
    database: Database, *, decision: str, rule_ids: Sequence[str], settings: Settings, actor: str, clock: Clock
) -> list[Prospect]:
    """Say what a decision would make of each candidate now, in the order given; ids of no rule are left out.

    Args:
        database: where the rules are.
        decision: approve or refuse.
        rule_ids: the candidates.
        settings: as read at the start.
        actor: who would decide.
        clock: tells the time.
    """
    with database.read() as session:
        current = current_settings(session, settings)
        found = {rule.id: rule for rule in session.exec(select(Rule).where(col(Rule.id).in_(rule_ids)))}
        disputed = _disputed(session)
        prospects = []
        for rule in (found[one] for one in rule_ids if one in found):
            try:
                _check(rule, decision, current, disputed)
                check_free(session, rule.id, actor, clock())
            except UserError as error:
                prospects.append(Prospect(rule.id, rule.version, rule.name, Fate.OBJECTION, error))
            else:
                prospects.append(Prospect(rule.id, rule.version, rule.name, _fate(rule, decision, current)))
    return prospects


def approve_many(
    database: Database, *, versions: Mapping[str, int], settings: Settings, actor: str, clock: Clock
) -> None:
    """Approve many candidates as one action; what is verified often enough goes live at once.

    Args:
        database: where the rules are.
        versions: rule id -> version as the person has seen it in the preview; 200 at most.
        settings: as read at the start.
        actor: who approves.
        clock: tells the time.

    Raises:
        UserError: one of them may not be approved (quality, conflict, several approvals needed, claimed by
            somebody else, no candidate any more); names it. Nothing has happened then.
        ConcurrentChangeError: one has changed since.
    """
    _check_number(versions)
    with at_desk(database, Action.BULK_APPROVE, actor, clock) as desk:
        current, disputed = current_settings(desk.session, settings), _disputed(desk.session)
        for rule_id, version in versions.items():
            rule = open_candidate(desk, rule_id, version)
            _check(rule, "approve", current, disputed)
            approve_at(desk, rule, settings, activate=False)
        desk.record(next(iter(versions)), rules=dict(versions))


def refuse_many(database: Database, *, versions: Mapping[str, int], reason: str, actor: str, clock: Clock) -> None:
    """Refuse many candidates as one action, for one reason; raises like ``approve_many``."""
    _check_number(versions)
    with at_desk(database, Action.BULK_REFUSE, actor, clock, reason) as desk:
        for rule_id, version in versions.items():
            rule = open_candidate(desk, rule_id, version)
            move_rule(desk.session, rule, State.ARCHIVED, Cause.PERSON, desk.change, approved_by=None)
        desk.record(next(iter(versions)), rules=dict(versions), reason=reason)


def _check_number(versions: Mapping[str, int]) -> None:
    if not 1 <= len(versions) <= MOST:
        raise UserError("Between 1 and {most} rules can be decided at once, not {count}.", most=MOST,
                        count=len(versions))  # fmt: skip


def _check(rule: Rule, decision: str, settings: Settings, disputed: Iterable[str]) -> None:
    """Raise unless the case is clear enough to be decided with others."""
    if rule.state != State.CANDIDATE or rule.approved_by is not None:
        raise UserError("“{name}” does not wait any more. Nothing was changed.", name=rule.name)
    if decision == "refuse":
        return
    if rule.id in disputed:
        raise UserError("“{name}” contradicts another rule; look at it by itself. Nothing was changed.", name=rule.name)
    if settings.review.approvals_for(rule.domain) > 1:
        raise UserError("“{name}” needs several approvals; look at it by itself. Nothing was changed.", name=rule.name)
    findings = [one for one in check_quality(rule, settings.rules) if one.detector != "confidence"]
    if findings:
        raise UserError("“{name}” does not pass. {problems} Nothing was changed.", name=rule.name,
                        problems=Messages(findings))  # fmt: skip


def _fate(rule: Rule, decision: str, settings: Settings) -> Fate:
    if decision == "refuse":
        return Fate.REFUSED
    return Fate.ACTIVE if rule.verified >= settings.lifecycle.verified_successes else Fate.APPROVED


def _disputed(session: Session) -> frozenset[str]:
    return frozenset(rule for one in live_conflicts(session) for rule in (one.rule_a, one.rule_b))
