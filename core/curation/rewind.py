"""The library as it was after an earlier round: what would change, shown first; then done, as one action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.curation.desk import at_desk
from core.db import Database
from core.errors import ConcurrentChangeError, UserError
from core.people.permissions import Action
from core.rules.comebacks import settle_returned
from core.rules.library import SYSTEM, Change, content_of, last_event_id, rewind
from core.rules.lifecycle import Cause
from core.tables import Rule, RuleEvent


@dataclass(frozen=True)
class RewoundRule:
    """A rule that a rewind would change: the fields of its content that differ, with (now, then)."""

    rule_id: str
    name: str
    state_now: str
    state_then: str
    changed: dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class RewindPreview:
    """What a rewind would do. ``seen`` marks the moment of the library it was computed for."""

    round_number: int
    seen: int
    rules: tuple[RewoundRule, ...]


def preview_rewind(database: Database, *, domain: str, round_number: int, clock: Clock) -> RewindPreview:
    """Tell what would change if a domain's library were as it was when a round and what followed it had ended.

    It carries the rewind out and throws the result away, so that it cannot differ from what would be done.

    Raises:
        UserError: nothing of the library is as old as that round.
    """
    change = Change(SYSTEM, clock, round_number=round_number)
    with database.rehearsal() as session:
        seen = last_event_id(session)
        event_id = _end_of_round(session, round_number)
        before = {rule.id: content_of(rule) for rule in session.exec(select(Rule).where(Rule.domain == domain))}
        _rewind(session, event_id, change, domain)
        after = {rule.id: content_of(rule) for rule in session.exec(select(Rule).where(Rule.domain == domain))}
    changed = [_rewound(key, before[key], after[key]) for key in sorted(before) if before[key] != after[key]]
    return RewindPreview(round_number, seen, tuple(changed))


def rewind_to_round(
    database: Database, *, domain: str, round_number: int, seen: int, reason: str, actor: str, clock: Clock
) -> int:
    """Restore a domain's library as it was after a round; returns how many rules changed.

    Later rules go to the archive. What was counted about rules stays, and quarantined rules stay out.

    Args:
        database: where the library is.
        domain: whose library.
        round_number: the round; what people did before the next one began belongs to it.
        seen: of the preview that the person looked at.
        reason: what the person typed.
        actor: who rewinds.
        clock: tells the time.

    Raises:
        UserError: nothing of the library is as old as that round, or it is like that already.
        ConcurrentChangeError: the library has changed since the preview.
    """
    with at_desk(database, Action.REWIND, actor, clock, reason) as desk:
        desk.check()
        if last_event_id(desk.session) != seen:
            raise ConcurrentChangeError(
                "The library has changed since this preview. Look at the new preview; nothing was changed."
            )
        changed = _rewind(desk.session, _end_of_round(desk.session, round_number), desk.change, domain)
        if not changed:
            raise UserError("The library is as it was after round {round} already.", round=round_number)
        desk.record(domain, round=round_number, rules=changed, reason=reason)
        return changed


def _rewind(session: Session, event_id: int, change: Change, domain: str) -> int:
    changed = rewind(session, event_id, change, domain)
    settle_returned(session, changed, Cause.REWOUND, change)
    return len(changed)


def _end_of_round(session: Session, round_number: int) -> int:
    query = select(func.max(RuleEvent.id)).where(col(RuleEvent.round_number) <= round_number)
    event_id = session.exec(query).one()
    if event_id is None:
        raise UserError("The library has no history as old as round {round}.", round=round_number)
    return event_id


def _rewound(rule_id: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> RewoundRule:
    changed = {name: (now[name], then[name]) for name in now if now[name] != then[name]}
    return RewoundRule(rule_id, now["name"], now["state"], then["state"], changed)
