"""The library as people read it: counts, a searchable list, and the whole story of one rule (section 4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import String, case, cast, func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.kinship import descendants as rules_descended_from
from core.rules.lifecycle import State
from core.rules.wording import rule_text
from core.statistics import Interval, wilson
from core.tables import Rule, RuleEvent, RuleTally
from core.tables.rules import RuleContent
from core.tables.tallies import OUTSIDE
from core.views.paging import PAGE_SIZE

STATES = tuple(state.value for state in State)


@dataclass(frozen=True)
class LibraryCounts:
    """How many rules there are, by state (all four present) and by domain (not archived ones)."""

    by_state: dict[str, int]
    by_domain: dict[str, int]


@dataclass(frozen=True)
class RuleRow:
    """One rule in a list. ``text`` is what a prompt carries; ``success`` the pass rate with it."""

    id: str
    name: str
    text: str
    state: str
    domain: str
    origin: str
    version: int
    approved_by: str | None
    verified: int
    n_used: int
    avg_delta: float
    success: Interval
    created_at: datetime
    created_round: int | None


@dataclass(frozen=True)
class RuleChange:
    """One event of a rule's history. ``changed`` maps a field of its content to (before, after).

    ``reason`` is what a person typed, or a template that ``reason_values`` go into; ``entry_id`` the audit entry of
    the action that made it.
    """

    kind: str
    from_state: str | None
    to_state: str
    actor: str
    reason: str
    reason_values: dict[str, Any]
    round_number: int | None
    at: datetime
    changed: dict[str, tuple[Any, Any]]
    entry_id: int | None


@dataclass(frozen=True)
class RoundUse:
    """What became of a rule in one round's episodes (None: outside of rounds)."""

    round_number: int | None
    retrieved: int
    served: int
    passed: int
    violated: int


@dataclass(frozen=True)
class RuleStory:
    """One rule with its history (newest first), uses by round and relatives."""

    row: RuleRow
    content: RuleContent
    tags: tuple[str, ...]
    evidence: tuple[str, ...]
    history: tuple[RuleChange, ...]
    uses: tuple[RoundUse, ...]
    parents: tuple[RuleRow, ...]
    children: tuple[RuleRow, ...]


def library_counts(session: Session) -> LibraryCounts:
    """Count rules by state and by domain."""
    states = dict(session.exec(select(Rule.state, func.count()).group_by(Rule.state)).all())
    domains = session.exec(
        select(Rule.domain, func.count()).where(Rule.state != "archived").group_by(Rule.domain).order_by(Rule.domain)
    ).all()
    return LibraryCounts({state: states.get(state, 0) for state in STATES}, dict(domains))


def rule_story(session: Session, rule_id: str, *, events: int = 100) -> RuleStory | None:
    """Tell one rule's story; None if there is no such rule.

    Args:
        session: for reading.
        rule_id: the rule.
        events: newest events at most.
    """
    rule = session.get(Rule, rule_id)
    if rule is None:
        return None
    history = session.exec(
        select(RuleEvent).where(RuleEvent.rule_id == rule_id).order_by(col(RuleEvent.id).desc()).limit(events)
    ).all()
    parents = session.exec(select(Rule).where(col(Rule.id).in_(rule.parents)).order_by(Rule.id)).all()
    return RuleStory(
        row=rule_row(rule),
        content=RuleContent.model_validate(rule.model_dump(include=set(RuleContent.model_fields))),
        tags=tuple(rule.tags),
        evidence=tuple(rule.evidence),
        history=tuple(_change(event) for event in history),
        uses=_uses(session, rule_id),
        parents=tuple(rule_row(parent) for parent in parents),
        children=tuple(rule_row(child) for child in _children(session, rule_id)),
    )


def descendants(session: Session, rule_id: str) -> tuple[RuleRow, ...]:
    """List the rules that come from a rule, by merges or learned with it in the prompt, over any number of steps.

    Oldest first, archived ones too; never the rule itself.
    """
    return tuple(rule_row(rule) for rule in rules_descended_from(session, rule_id))


def rule_row(rule: Rule) -> RuleRow:
    """Make a list row of a rule."""
    return RuleRow(
        id=rule.id,
        name=rule.name,
        text=rule_text(rule),
        state=rule.state,
        domain=rule.domain,
        origin=rule.origin,
        version=rule.version,
        approved_by=rule.approved_by,
        verified=rule.verified,
        n_used=rule.n_used,
        avg_delta=rule.avg_delta,
        success=wilson(rule.n_success, rule.n_used),
        created_at=rule.created_at,
        created_round=rule.created_round,
    )


def content_changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Name the fields of a rule's content that differ, with (before, after); absent fields do not count."""
    fields: Iterable[str] = (field for field in RuleContent.model_fields if field in before and field in after)
    return {field: (before[field], after[field]) for field in fields if before[field] != after[field]}


def _children(session: Session, rule_id: str) -> list[Rule]:
    named = cast(Rule.parents, String).contains(f'"{rule_id}"', autoescape=True)
    return list(session.exec(select(Rule).where(named).order_by(Rule.id).limit(PAGE_SIZE)).all())


def _uses(session: Session, rule_id: str) -> tuple[RoundUse, ...]:
    one, is_served = RuleTally, col(RuleTally.disposition) == "served"
    in_prompt = [func.sum(case((is_served, counted), else_=0)) for counted in (one.uses, one.passed, one.violated)]
    found = session.execute(
        select_columns(col(one.round_number), func.sum(one.uses), *in_prompt)
        .where(col(one.rule_id) == rule_id)
        .group_by(col(one.round_number))
        .order_by(col(one.round_number))
    ).all()
    return tuple(RoundUse(None if number == OUTSIDE else number, *counts) for number, *counts in found)


def _change(event: RuleEvent) -> RuleChange:
    return RuleChange(
        kind=event.kind,
        from_state=event.from_state,
        to_state=event.to_state,
        actor=event.actor,
        reason=event.reason,
        reason_values=event.reason_values,
        round_number=event.round_number,
        at=event.created_at,
        changed=content_changes(event.before or {}, event.after),
        entry_id=event.entry_id,
    )
