"""Rules that contradict each other: the queue, and each pair with all that a decision needs (design section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, tuple_
from sqlalchemy import select as select_columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from core.effects import Effect
from core.rules.conflict_records import way_of
from core.rules.conflicts import Suggestion, suggest
from core.rules.lifecycle import State
from core.rules.merging import draft_merge
from core.statistics import Interval
from core.tables import Conflict, Rule, Undone
from core.tables.rules import RuleContent
from core.views.effects import effects_by_rule
from core.views.firings import Firing, both_fire, success_of
from core.views.library import RuleRow, rule_row
from core.views.paging import PAGE_SIZE, Page
from core.views.review import hidden_in

MANY = 1000
"""Nobody needs to know more exactly how many conflicts wait; a count stops here."""
_OLDEST_FIRST = (col(Conflict.created_at), col(Conflict.id))


@dataclass(frozen=True)
class ConflictRow:
    """One conflict in a list. ``names`` are those of its two rules; the last three are None while it is open."""

    id: str
    names: tuple[str, str]
    domain: str
    detector: str
    created_at: datetime
    way: str | None
    resolved_by: str | None
    resolved_at: datetime | None


@dataclass(frozen=True)
class Place:
    """Where a conflict stands in the queue of open ones, oldest first.

    Attributes:
        number: how many stand before it; at most ``MANY``.
        total: how many there are; at most ``MANY``.
        before: id of the one before it; the last one's for the first.
        after: id of the one after it; the first one's for the last.
    """

    number: int
    total: int
    before: str
    after: str


@dataclass(frozen=True)
class Side:
    """One of the two rules.

    Attributes:
        row: the rule with its figures.
        content: what it says.
        hidden: names of characters in it that a reader cannot see.
        there: its success where both rules fire and the prompt carried it.
        effect: what it does to the success rate wherever it is retrieved, by the coin that left it out.
        effect_there: the same, in episodes where both rules fire alone.
    """

    row: RuleRow
    content: RuleContent
    hidden: tuple[str, ...]
    there: Interval
    effect: Effect
    effect_there: Effect


@dataclass(frozen=True)
class Settled:
    """How a conflict was settled.

    Attributes:
        way: one of ``core.rules.conflict_records.Way``.
        rule_name: the rule that the way names; '' for none.
        by: who.
        at: when.
        reason: why, as a person typed it.
        entry_id: the entry of the audit trail that can be undone; None if there is none any more.
    """

    way: str
    rule_name: str
    by: str
    at: datetime | None
    reason: str
    entry_id: int | None


@dataclass(frozen=True)
class ConflictItem:
    """Two rules that contradict each other.

    Attributes:
        id: of the conflict.
        sides: both rules, in the order of their ids.
        detector: what found it.
        evidence: on what, a template that ``evidence_values`` go into.
        evidence_values: see there.
        created_at: when it was found.
        round_number: in which round; None outside of rounds.
        suggestion: which rule to keep, and why, by their figures of today.
        draft: a first text for one rule in the place of both.
        firings: the newest past episodes where both rules fire.
        retrieved: how many of them had both rules retrieved; in the others, the task has the words of both.
        sleeping: one of the rules is archived, so that there is nothing to settle at present.
        settled: None while it is open.
    """

    id: str
    sides: tuple[Side, Side]
    detector: str
    evidence: str
    evidence_values: Mapping[str, Any]
    created_at: datetime
    round_number: int | None
    suggestion: Suggestion
    draft: RuleContent
    firings: tuple[Firing, ...]
    retrieved: int
    sleeping: bool
    settled: Settled | None


def open_count(session: Session) -> int:
    """Count what waits: open conflicts whose rules are both in use; at most ``MANY``."""
    return _count(session)


def conflict_queue(session: Session, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[ConflictRow]:
    """List the conflicts that wait, oldest first; the total is at most ``MANY``."""
    a, b = aliased(Rule), aliased(Rule)
    columns: tuple[Any, ...] = (Conflict, a.name, b.name, a.domain)
    query = _joined(select_columns(*columns), a, b).where(*_both_in_use(a, b)).order_by(*_OLDEST_FIRST)
    found = session.execute(query.limit(limit).offset(offset)).all()
    return Page(tuple(_row(*one) for one in found), _count(session))


def settled_conflicts(session: Session, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[ConflictRow]:
    """List the conflicts that are settled, newest decision first."""
    decided = col(Conflict.status).in_(("resolved", "dismissed"))
    total = session.execute(select_columns(func.count()).where(decided)).scalar_one()
    newest = select_columns(col(Conflict.id)).where(decided)
    newest = newest.order_by(col(Conflict.resolved_at).desc(), col(Conflict.id)).limit(limit).offset(offset)
    a, b = aliased(Rule), aliased(Rule)
    columns: tuple[Any, ...] = (Conflict, a.name, b.name, a.domain)
    query = _joined(select_columns(*columns), a, b).where(col(Conflict.id).in_(newest))
    found = session.execute(query.order_by(col(Conflict.resolved_at).desc(), col(Conflict.id))).all()
    return Page(tuple(_row(*one) for one in found), total)


def first_waiting(session: Session) -> str:
    """Return the id of the conflict that waits longest; '' if none does."""
    return _first(session, _OLDEST_FIRST)


def place_of(session: Session, conflict_id: str) -> Place:
    """Return where an open conflict stands in the queue."""
    own = session.get_one(Conflict, conflict_id)
    here = tuple_(own.created_at, own.id)
    at = tuple_(col(Conflict.created_at), col(Conflict.id))
    newest_first = (col(Conflict.created_at).desc(), col(Conflict.id).desc())
    return Place(
        number=_count(session, at < here),
        total=_count(session),
        before=_first(session, newest_first, at < here) or _first(session, newest_first),
        after=_first(session, _OLDEST_FIRST, at > here) or _first(session, _OLDEST_FIRST),
    )


def conflict_item(session: Session, conflict_id: str) -> ConflictItem | None:
    """Read one conflict with both rules; None if there is no such conflict."""
    conflict = session.get(Conflict, conflict_id)
    if conflict is None:
        return None
    a, b = session.get_one(Rule, conflict.rule_a), session.get_one(Rule, conflict.rule_b)
    firings = both_fire(session, a, b)
    suggestion = suggest(a, b)
    kept, other = (a, b) if suggestion.keep_id == a.id else (b, a)
    ids = (a.id, b.id)
    effects = effects_by_rule(session, ids)
    there = effects_by_rule(session, ids, among=[one.episode_id for one in firings])
    return ConflictItem(
        id=conflict.id,
        sides=(_side(a, firings, effects, there), _side(b, firings, effects, there)),
        detector=conflict.detector,
        evidence=conflict.evidence,
        evidence_values=conflict.evidence_values,
        created_at=conflict.created_at,
        round_number=conflict.round_number,
        suggestion=suggestion,
        draft=draft_merge(kept, other),
        firings=firings,
        retrieved=sum(one.by_words is False for one in firings),
        sleeping=State.ARCHIVED.value in (a.state, b.state),
        settled=_settled(session, conflict),
    )


def _side(rule: Rule, firings: tuple[Firing, ...], effects: dict[str, Effect], there: dict[str, Effect]) -> Side:
    content = RuleContent.model_validate(rule.model_dump(include=set(RuleContent.model_fields)))
    return Side(
        row=rule_row(rule),
        content=content,
        hidden=hidden_in(content),
        there=success_of(rule.id, firings),
        effect=effects[rule.id],
        effect_there=there[rule.id],
    )


def _settled(session: Session, conflict: Conflict) -> Settled | None:
    if conflict.status == "open":
        return None
    way, rule_id = way_of(conflict.resolution)
    named = session.get(Rule, rule_id) if rule_id else None
    undone = conflict.entry_id is None or session.get(Undone, conflict.entry_id) is not None
    return Settled(
        way=way,
        rule_name=named.name if named is not None else "",
        by=conflict.resolved_by or "",
        at=conflict.resolved_at,
        reason=conflict.reason,
        entry_id=None if undone else conflict.entry_id,
    )


def _row(conflict: Conflict, first: str, second: str, domain: str) -> ConflictRow:
    return ConflictRow(
        id=conflict.id,
        names=(first, second),
        domain=domain,
        detector=conflict.detector,
        created_at=conflict.created_at,
        way=way_of(conflict.resolution)[0] or None,
        resolved_by=conflict.resolved_by,
        resolved_at=conflict.resolved_at,
    )


def _count(session: Session, *wanted: ColumnElement[bool]) -> int:
    a, b = aliased(Rule), aliased(Rule)
    some = _joined(select_columns(col(Conflict.id)), a, b).where(*_both_in_use(a, b), *wanted).limit(MANY)
    return int(session.execute(select_columns(func.count()).select_from(some.subquery())).scalar_one())


def _first(session: Session, order: tuple[Any, ...], *wanted: ColumnElement[bool]) -> str:
    a, b = aliased(Rule), aliased(Rule)
    query = _joined(select_columns(col(Conflict.id)), a, b).where(*_both_in_use(a, b), *wanted)
    return session.execute(query.order_by(*order).limit(1)).scalar() or ""


def _joined(query: Select[Any], a: type[Rule], b: type[Rule]) -> Select[Any]:
    return query.join(a, col(a.id) == col(Conflict.rule_a)).join(b, col(b.id) == col(Conflict.rule_b))


def _both_in_use(a: type[Rule], b: type[Rule]) -> tuple[ColumnElement[bool], ...]:
    archived = State.ARCHIVED.value
    return col(Conflict.status) == "open", col(a.state) != archived, col(b.state) != archived
