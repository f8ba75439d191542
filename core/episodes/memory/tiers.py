"""Which memories stay near: hot, warm, cold (design section 9).

Upkeep looks only at memories that have passed a border since the last time, not at all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlmodel import Session, col, select

from core.db import Database
from core.episodes.memory.index import MemoryIndex
from core.episodes.memory.store import next_tick
from core.settings_experience import MemorySettings
from core.tables import Memory, Tier
from core.text import clip

_LOOKED_AT = 50
"""Nearest states that are looked at for a newer equal."""


@dataclass(frozen=True)
class Moved:
    """How many memories upkeep moved, by where to; ``covered`` of the cold ones had a newer equal."""

    warm: int = 0
    cold: int = 0
    covered: int = 0


@dataclass(frozen=True)
class Alike:
    """Finds like states: the index, followed up, and the cosine from which on two states count as alike."""

    index: MemoryIndex
    cosine: float


def tier_of(age: timedelta, place: int, reward: float, settings: MemorySettings, *, kept: bool = False) -> Tier:
    """Return the tier of a memory that no newer one covers.

    Args:
        age: since its decision.
        place: how many memories are newer.
        reward: of its episode.
        settings: the borders; one that is reached to the second has not been passed.
        kept: a person took it back from cold.
    """
    if age <= timedelta(hours=settings.hot_hours) or place < settings.hot_count:
        return Tier.HOT
    if kept or (reward > 0 and age <= timedelta(days=settings.warm_days)):
        return Tier.WARM
    return Tier.COLD


def keep_up(
    database: Database,
    environment: str,
    settings: MemorySettings,
    now: datetime,
    alike: Alike | None = None,
    limit: int = 2_000,
) -> Moved:
    """Move memories whose time has come; shortens what becomes warm and puts away what a newer one covers.

    Args:
        database: holds the memories.
        environment: whose.
        settings: the borders.
        now: UTC.
        alike: how to find memories of like states; None where states have no vectors yet: then only equal ones count.
        limit: memories at most that leave a tier in one call.
    """
    with database.write() as session:
        leaving = _leaving_hot(session, environment, settings, now, limit)
        outdated = _leaving_warm(session, environment, settings, now, limit)
        moved = _Moving(session, environment, settings, now, alike)
        for memory in leaving:
            moved.from_hot(memory)
        for memory in outdated:
            moved.to_cold(memory)
        return Moved(moved.warm, moved.cold, moved.covered)


def restore(session: Session, memory: Memory) -> None:
    """Take a memory back from cold; it stays warm from now on."""
    memory.tier, memory.covered_by, memory.restored = Tier.WARM.value, None, True
    memory.touched = next_tick(session, memory.environment)
    session.add(memory)


def put_back(session: Session, memory: Memory, placed: Mapping[str, Any]) -> None:
    """Put a memory where it was: ``placed`` names its tier, what covers it, and whether it was restored."""
    for name in ("tier", "covered_by", "restored"):
        setattr(memory, name, placed[name])
    memory.touched = next_tick(session, memory.environment)
    session.add(memory)


def _leaving_hot(
    session: Session, environment: str, settings: MemorySettings, now: datetime, limit: int
) -> list[Memory]:
    newest = select(Memory.created_at, Memory.id).where(Memory.environment == environment)
    newest = newest.order_by(col(Memory.created_at).desc(), col(Memory.id).desc())
    query = select(Memory).where(
        Memory.environment == environment,
        Memory.tier == Tier.HOT,
        col(Memory.created_at) < now - timedelta(hours=settings.hot_hours),
    )
    if settings.hot_count:
        border = session.exec(newest.offset(settings.hot_count - 1).limit(1)).first()
        if border is None:
            return []  # all of them are among the latest
        moment, number = border
        same = (col(Memory.created_at) == moment) & (col(Memory.id) < number)
        query = query.where((col(Memory.created_at) < moment) | same)
    return list(session.exec(query.order_by(col(Memory.created_at), col(Memory.id)).limit(limit)))


def _leaving_warm(
    session: Session, environment: str, settings: MemorySettings, now: datetime, limit: int
) -> list[Memory]:
    query = select(Memory).where(
        Memory.environment == environment,
        Memory.tier == Tier.WARM,
        col(Memory.created_at) < now - timedelta(days=settings.warm_days),
        col(Memory.restored).is_(False),
    )
    return list(session.exec(query.order_by(col(Memory.created_at)).limit(limit)))


class _Moving:
    """Moves memories within one transaction, and counts."""

    def __init__(
        self, session: Session, environment: str, settings: MemorySettings, now: datetime, alike: Alike | None
    ) -> None:
        self._session = session
        self._settings = settings
        self._now = now
        self._alike = alike
        self._tick = next_tick(session, environment)
        self.warm = self.cold = self.covered = 0

    def from_hot(self, memory: Memory) -> None:
        """Move a memory that is hot no longer."""
        place = self._settings.hot_count  # those that leave are not among the latest
        tier = tier_of(self._now - memory.created_at, place, memory.reward, self._settings, kept=memory.restored)
        if tier is not Tier.WARM:
            self.to_cold(memory)
            return
        newer = self._newer_equal(memory)
        if newer is not None and not memory.restored:
            memory.covered_by = newer
            self.covered += 1
            self.to_cold(memory)
            return
        memory.tier = Tier.WARM.value
        memory.state = clip(memory.state, self._settings.warm_characters)
        memory.arguments = memory.result = ""
        self.warm += 1
        self._touch(memory)

    def to_cold(self, memory: Memory) -> None:
        """Put a memory away."""
        memory.tier = Tier.COLD.value
        self.cold += 1
        self._touch(memory)

    def _touch(self, memory: Memory) -> None:
        memory.touched = self._tick
        self._session.add(memory)

    def _newer_equal(self, memory: Memory) -> int | None:
        """Return a newer memory with the same action, as good an outcome and a like state."""
        age = (memory.created_at, memory.id or 0)
        if self._alike is not None and memory.vector is not None:
            near = self._alike.index.near(np.frombuffer(memory.vector, dtype="<f4"), _LOOKED_AT)
            for one in near:
                other = one.memory
                like = one.similarity >= self._alike.cosine and other.action == memory.action
                if like and other.reward >= memory.reward and (other.created_at, other.id) > age:
                    return other.id
            return None
        query = select(Memory.id, Memory.created_at).where(
            Memory.environment == memory.environment,
            Memory.action == memory.action,
            Memory.state == memory.state,
            col(Memory.reward) >= memory.reward,
            col(Memory.tier) != Tier.COLD,
            col(Memory.created_at) >= memory.created_at,
        )
        newer = [number for number, moment in self._session.exec(query) if (moment, number or 0) > age]
        return max((number or 0 for number in newer), default=None)
