"""Memories as people read them: how many are how near, and a filtered list (design section 9)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.tables import Memory, Tier
from core.views.paging import PAGE_SIZE, Page

TIERS = tuple(tier.value for tier in Tier)
OUTCOMES = ("success", "partial", "failure")

_PARTIAL = 0.5
"""Rewards are 1, 0.2 or -1: between 0 and this lies a partial success."""
_LISTED: tuple[Any, ...] = (
    Memory.id, Memory.episode_id, Memory.agent, Memory.trust, Memory.state, Memory.action, Memory.result,
    Memory.failed, Memory.displeased, Memory.latency_ms, Memory.reward, Memory.value, Memory.q, Memory.q_updates,
    Memory.lesson, Memory.tier, Memory.covered_by, Memory.restored, Memory.created_at,
)  # fmt: skip


@dataclass(frozen=True)
class TierRow:
    """A tier: how many memories are in it, and when the first and the last of them were made."""

    tier: str
    memories: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True)
class MemoryFilter:
    """Which memories to list; what is empty does not count.

    Attributes:
        environment: whose.
        tier: hot, warm or cold.
        outcome: success, partial or failure.
        text: what their state or action contains.
    """

    environment: str
    tier: str = ""
    outcome: str = ""
    text: str = ""


@dataclass(frozen=True)
class MemoryRow:
    """One memory in a list; fields as in the table."""

    id: int
    episode_id: str
    agent: str
    trust: float
    state: str
    action: str
    result: str
    failed: bool
    displeased: bool
    latency_ms: float | None
    reward: float
    value: float
    q: float
    q_updates: int
    lesson: str
    tier: str
    covered_by: int | None
    restored: bool
    created_at: datetime


def remembering_environments(session: Session) -> tuple[str, ...]:
    """List the environments that have memories, by name."""
    return tuple(session.exec(select(Memory.environment).distinct().order_by(col(Memory.environment))).all())


def tiers(session: Session, environment: str) -> tuple[TierRow, ...]:
    """Count an environment's memories by tier; all tiers are in it, the nearest first."""
    rows = session.execute(
        select_columns(
            col(Memory.tier),
            func.count(),
            func.min(Memory.created_at),
            func.max(Memory.created_at),
        )
        .where(col(Memory.environment) == environment)
        .group_by(col(Memory.tier))
    ).all()
    found = {tier: TierRow(tier, n, oldest, newest) for tier, n, oldest, newest in rows}
    return tuple(found.get(tier, TierRow(tier, 0, None, None)) for tier in TIERS)


def memories(session: Session, wanted: MemoryFilter, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[MemoryRow]:
    """List memories, newest first.

    Args:
        session: for reading.
        wanted: which.
        limit: rows at most.
        offset: rows to skip.
    """
    where = _conditions(wanted)
    total = session.exec(select(func.count()).select_from(Memory).where(*where)).one()
    newest = (col(Memory.created_at).desc(), col(Memory.id).desc())
    # A memory weighs kilobytes with its vector, so only the listed columns are read.
    found = session.execute(select_columns(*_LISTED).where(*where).order_by(*newest).limit(limit).offset(offset))
    return Page(tuple(MemoryRow(*values) for values in found), total)


def one_memory(session: Session, memory_id: int) -> MemoryRow | None:
    """Return one memory; None if there is none of this id."""
    found = session.execute(select_columns(*_LISTED).where(col(Memory.id) == memory_id)).first()
    return None if found is None else MemoryRow(*found)


def _conditions(wanted: MemoryFilter) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [col(Memory.environment) == wanted.environment]
    if wanted.tier:
        where.append(col(Memory.tier) == wanted.tier)
    if wanted.outcome:
        reward = col(Memory.reward)
        outcomes = {"success": reward > _PARTIAL, "partial": reward.between(0, _PARTIAL), "failure": reward < 0}
        where.append(outcomes[wanted.outcome])
    if wanted.text.strip():
        words = wanted.text.strip()
        where.append(
            or_(
                col(Memory.state).icontains(words, autoescape=True),
                col(Memory.action).icontains(words, autoescape=True),
            )
        )
    return where
