"""Which memories stay near: hot, warm, cold (design section 9).

Upkeep looks only at memories that have passed a border since the last time, not at all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlmodel import Session, col, select

from core.db import Database
from core.episodes.memory.store import next_tick
from core.settings_experience import MemorySettings
from core.tables import Memory, Tier
from core.text import clip


@dataclass(frozen=True)
class Moved:
    """How many memories upkeep moved, by where to; ``covered`` of the cold ones had a newer equal."""

    warm: int = 0
    cold: int = 0
    covered: int = 0


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
    database: Database, environment: str, settings: MemorySettings, similar: float, now: datetime, limit: int = 2_000
) -> Moved:
    """Move memories whose time has come; shortens what becomes warm and puts away what a newer one covers.

    Args:
        database: holds the memories.
        environment: whose.
        settings: the borders.
        similar: cosine of two states from which on they count as alike; their actions have to be the same.
        now: UTC.
        limit: memories at most that leave a tier in one call.
    """
    with database.write() as session:
        leaving = _leaving_hot(session, environment, settings, now, limit)
        outdated = _leaving_warm(session, environment, settings, now, limit)
        moved = _Moving(session, environment, settings, similar, now)
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
        self, session: Session, environment: str, settings: MemorySettings, similar: float, now: datetime
    ) -> None:
        self._session = session
        self._environment = environment
        self._settings = settings
        self._similar = similar
        self._now = now
        self._tick = next_tick(session, environment)
        self._alike: dict[tuple[str, str], tuple[list[Memory], np.ndarray]] = {}
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
        """Return a newer memory with the same action, as good an outcome and a state alike; the newest such."""
        others, vectors = self._same_action(memory)
        own = _vector(memory)
        for place in range(len(others) - 1, -1, -1):
            other = others[place]
            if (other.created_at, other.id or 0) <= (memory.created_at, memory.id or 0):
                break
            if other.tier == Tier.COLD or other.reward < memory.reward:
                continue
            alike = other.state == memory.state
            if not alike and own is not None and other.vector is not None:
                alike = float(vectors[place] @ own) >= self._similar
            if alike:
                return other.id
        return None

    def _same_action(self, memory: Memory) -> tuple[list[Memory], np.ndarray]:
        """Return the memories with this action that are retrieved, oldest first; read once for each action."""
        key = (memory.action, memory.vector_model)
        if key not in self._alike:
            query = select(Memory).where(
                Memory.environment == self._environment,
                Memory.action == memory.action,
                Memory.vector_model == memory.vector_model,
                col(Memory.tier) != Tier.COLD,
            )
            rows = list(self._session.exec(query.order_by(col(Memory.created_at), col(Memory.id))))
            self._alike[key] = (rows, _vectors(rows))
        return self._alike[key]


def _vector(memory: Memory) -> np.ndarray | None:
    return None if memory.vector is None else np.frombuffer(memory.vector, dtype="<f4")


def _vectors(rows: Sequence[Memory]) -> np.ndarray:
    known = [_vector(row) for row in rows]
    dim = next((len(vector) for vector in known if vector is not None), 0)
    return np.array([np.zeros(dim, dtype="<f4") if vector is None else vector for vector in known])
