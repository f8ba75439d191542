"""One rule's versions, the actions of people behind its history, and the episodes that carried it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.wording import rule_text
from core.tables import AuditEntry, Episode, RuleEvent, RulePin, RuleUse, Undone
from core.tables.rules import RuleContent
from core.views.paging import PAGE_SIZE, Page

_MOST = 200


@dataclass(frozen=True)
class RuleVersion:
    """What a rule said from one event on. ``number`` counts its different texts from 1, oldest first."""

    number: int
    kind: str
    actor: str
    at: datetime
    content: RuleContent
    text: str


@dataclass(frozen=True)
class PersonsAction:
    """One entry of the audit trail that changed the rule. ``undone_by``: the entry that took it back."""

    entry_id: int
    actor: str
    action: str
    detail: dict[str, Any]
    at: datetime
    undone_by: int | None


@dataclass(frozen=True)
class CarryingEpisode:
    """An episode whose prompt carried the rule."""

    episode_id: str
    task_type: str
    round_number: int | None
    grade: str
    reward: float
    compliance: str
    at: datetime


def carrying_episodes(
    session: Session, rule_id: str, *, limit: int = PAGE_SIZE, offset: int = 0
) -> Page[CarryingEpisode]:
    """List the episodes that carried a rule in their prompt, newest first."""
    served = (col(RuleUse.rule_id) == rule_id, col(RuleUse.disposition) == "served")
    total = session.execute(select_columns(func.count()).select_from(RuleUse).where(*served)).scalar_one()
    columns = (Episode.id, Episode.task_type, Episode.round_number, Episode.grade, Episode.reward)
    query = (
        select_columns(*map(col, columns), col(RuleUse.compliance), col(Episode.started_at))
        .join(RuleUse, col(RuleUse.episode_id) == col(Episode.id))
        .where(*served)
        .order_by(col(Episode.started_at).desc(), col(Episode.id))
    )
    rows = session.execute(query.limit(limit).offset(offset)).all()
    return Page(tuple(CarryingEpisode(*row) for row in rows), total)


def is_pinned(session: Session, rule_id: str) -> bool:
    """Say whether a person wants the rule kept."""
    return session.get(RulePin, rule_id) is not None


def rule_versions(session: Session, rule_id: str) -> tuple[RuleVersion, ...]:
    """Return a rule's different texts, oldest first; events that left its words alone make no version."""
    query = select(RuleEvent).where(RuleEvent.rule_id == rule_id).order_by(col(RuleEvent.id))
    versions: list[RuleVersion] = []
    for event in session.exec(query.where(col(RuleEvent.kind) != "voted")):
        content = RuleContent(**{name: event.after[name] for name in _WORDS if name in event.after})
        if not versions or _words(versions[-1].content) != _words(content):
            number = len(versions) + 1
            version = RuleVersion(number, event.kind, event.actor, event.created_at, content, rule_text(content))
            versions.append(version)
    return tuple(versions)


def persons_actions(session: Session, rule_id: str) -> tuple[PersonsAction, ...]:
    """Return the actions of people that left an event at a rule, newest first; 200 at most."""
    behind = select(RuleEvent.entry_id).where(RuleEvent.rule_id == rule_id, col(RuleEvent.entry_id).is_not(None))
    query = (
        select(AuditEntry, Undone.by_entry_id)
        .join(Undone, col(Undone.entry_id) == AuditEntry.id, isouter=True)
        .where(col(AuditEntry.id).in_(behind))
        .order_by(col(AuditEntry.id).desc())
        .limit(_MOST)
    )
    return tuple(
        PersonsAction(entry.id or 0, entry.actor, entry.action, entry.detail, entry.created_at, undone_by)
        for entry, undone_by in session.exec(query)
    )


_WORDS = ("name", "condition", "action", "exclusion", "rationale", "domain", "tags")


def _words(content: RuleContent) -> tuple[Any, ...]:
    return tuple(getattr(content, name) for name in _WORDS)
