"""Finding memories by the vector of their state: exactly among few, by faiss among many (design section 9)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlmodel import col, select

from core.db import Database
from core.embeddings import COMPARISON, Embedder
from core.episodes.memory.store import next_tick
from core.episodes.trajectory import parts_of_state
from core.settings_experience import MemorySettings
from core.tables import Memory, Tier

_MEASURED = 200
"""Memories by which it is measured how near to each other they usually are."""
_TASK_WEIGHT = 0.8
"""Of the cosine of two states. On the bundled world 0.84 of the ten nearest then are of the same kind of task; with
equal weights 0.46, since many tools say "nothing unusual" alike."""
_PARTS = f"task {_TASK_WEIGHT} + seen"
_ROOM = 1_024
_PROBES = 16
_TRAINING_PER_LIST = 40
_ENCODED_AT_ONCE = 256
_SHOWN = (
    Memory.id, Memory.task_id, Memory.agent, Memory.trust, Memory.state, Memory.action, Memory.reward, Memory.value,
    Memory.q, Memory.lesson, Memory.tier, Memory.episode_id, Memory.created_at,
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """A memory as retrieval needs it; see the table for its fields."""

    id: int
    task_id: str
    agent: str
    trust: float
    state: str
    action: str
    reward: float
    value: float
    q: float
    lesson: str
    tier: str
    episode_id: str
    created_at: datetime


@dataclass(frozen=True)
class Near:
    """A memory near a state, and the cosine of both states."""

    memory: Kept
    similarity: float


def encode_states(embedder: Embedder, states: Sequence[str]) -> np.ndarray:
    """Return the vectors of states, shape (states, 2 dim): of the task, and of what was seen last.

    So a cosine is the weighted mean of both: as one text, what was seen would drown the task, or drown in it. Before
    anything was seen the task stands for both.
    """
    parts = [parts_of_state(state) for state in states]
    texts = [task for task, _ in parts] + [seen or task for task, seen in parts]
    vectors = embedder.encode(texts, COMPARISON, store=False)
    task, seen = vectors[: len(parts)], vectors[len(parts) :]
    return np.hstack([task * np.float32(_TASK_WEIGHT**0.5), seen * np.float32((1 - _TASK_WEIGHT) ** 0.5)])


def encoding_of(embedder: Embedder) -> str:
    """Name how states become vectors: those of different encodings never mix."""
    return f"{embedder.model} {_PARTS}"


class MemoryIndex:
    """The memories of an environment that are retrieved, with their vectors at hand.

    ``follow`` takes in what has changed since the last call; between two calls nothing changes, and any number of
    threads may search. Up to ``exact_until`` memories every one is looked at; beyond, faiss looks at the nearest
    lists of an inverted file.

    Args:
        database: holds the memories.
        embedder: encodes states; their vectors are kept with the memories.
        environment: whose memories.
        settings: where exactness ends.
    """

    def __init__(self, database: Database, embedder: Embedder, environment: str, settings: MemorySettings) -> None:
        self._database = database
        self._embedder = embedder
        self._environment = environment
        self._settings = settings
        self._seen = 0
        self._usual: tuple[int, float, float] | None = None
        self._slots: dict[int, int] = {}
        self._kept: list[Kept] = []
        self._vectors = np.empty((0, 0), dtype=np.float32)
        self._lists: Any = None
        self._trained_on = 0

    @property
    def encoding(self) -> str:
        """Name of how states become vectors; see ``encoding_of``."""
        return encoding_of(self._embedder)

    def __len__(self) -> int:
        """Return how many memories can be found."""
        return len(self._kept)

    def encode(self, states: Sequence[str]) -> np.ndarray:
        """Return the vectors of states; see ``encode_states``."""
        return encode_states(self._embedder, states)

    def follow(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        """Take in what is new, encoding states that have no vector of this model yet."""
        self._encode_missing(progress)
        columns = (*_SHOWN, Memory.touched, Memory.vector)
        with self._database.read() as session:
            query = select(*columns).where(  # type: ignore[call-overload]
                Memory.environment == self._environment, col(Memory.touched) > self._seen
            )
            rows = session.exec(query.order_by(col(Memory.touched), col(Memory.id))).all()
        gone = [row[0] for row in rows if row[10] == Tier.COLD]
        fresh = [row for row in rows if row[10] != Tier.COLD]
        self._take_out(gone)
        self._put_in([Kept(*row[:13]) for row in fresh], [row[14] for row in fresh])
        self._seen = max((row[13] for row in rows), default=self._seen)
        self._arrange()

    def near(self, vector: np.ndarray, count: int, *, without_task: str = "") -> list[Near]:
        """Return the nearest memories, those of trusted sources first; best first.

        Args:
            vector: of the state, shape (dim,).
            count: at most so many.
            without_task: memories of this task are left out.
        """
        asked = count
        while True:
            found = self._search(vector, min(2 * asked, len(self._kept)))
            passing = [Near(self._kept[slot], cosine) for slot, cosine in found]
            passing = [near for near in passing if near.memory.task_id != without_task]
            if len(passing) >= count or len(found) >= len(self._kept) or len(found) < 2 * asked:
                passing.sort(key=lambda near: (-near.similarity * near.memory.trust, -near.memory.id))
                return passing[:count]
            asked *= 4

    def usual_nearness(self, strange_share: float) -> float:
        """Return the cosine that the nearest memory of another task reaches for all but a share of the memories.

        Measured on ``_MEASURED`` of them. A state that no memory is that near to is unlike what was met so far. Where
        memories are all but equal, no more is asked than half of the way from duplicates to equality.

        Args:
            strange_share: in [0, 1].

        Returns:
            A cosine; -1 for a share of 0, and where there are memories of one task at most.
        """
        if self._usual is None or self._usual[:2] != (self._seen, strange_share):
            self._usual = self._seen, strange_share, self._measure(strange_share)
        return self._usual[2]

    def _measure(self, strange_share: float) -> float:
        every = max(1, len(self._kept) // _MEASURED)
        places = range(0, len(self._kept), every) if strange_share else ()
        others = (self.near(self._vectors[one], 1, without_task=self._kept[one].task_id) for one in places)
        found = [near[0].similarity for near in others if near]
        most = (1 + self._embedder.thresholds().duplicate) / 2
        return min(float(np.quantile(found, strange_share)), most) if found else -1.0

    def _search(self, vector: np.ndarray, count: int) -> list[tuple[int, float]]:
        """Return (slot, cosine) of the nearest, best first."""
        if not count:
            return []
        if self._lists is not None:
            cosines, ids = self._lists.search(vector[None].astype(np.float32), count)
            return [(self._slots[i], float(c)) for i, c in zip(ids[0].tolist(), cosines[0], strict=True) if i >= 0]
        cosines = self._vectors[: len(self._kept)] @ vector
        best = np.argpartition(-cosines, count - 1)[:count]
        best = best[np.lexsort((best, -cosines[best]))]
        return [(int(slot), float(cosines[slot])) for slot in best]

    def _encode_missing(self, progress: Callable[[int, int], None]) -> None:
        """Give every memory that is retrieved a vector of this model."""
        wanted = (
            Memory.environment == self._environment,
            # Not "!=", which would look at all memories: this way the index of the table leads to the few others.
            (col(Memory.vector_model) < self.encoding) | (col(Memory.vector_model) > self.encoding),
            col(Memory.tier) != Tier.COLD,
        )
        with self._database.read() as session:
            open_ones = session.exec(select(Memory.id, Memory.state).where(*wanted).order_by(col(Memory.id))).all()
        for start in range(0, len(open_ones), _ENCODED_AT_ONCE):
            progress(start, len(open_ones))
            part = open_ones[start : start + _ENCODED_AT_ONCE]
            vectors = self.encode([state for _, state in part])
            with self._database.write() as session:
                tick = next_tick(session, self._environment)  # another reader may have passed by what had no vector yet
                for (memory_id, _), vector in zip(part, vectors, strict=True):
                    memory = session.get_one(Memory, memory_id)
                    memory.vector = vector.astype("<f4").tobytes()
                    memory.vector_model = self.encoding
                    memory.touched = tick
                    session.add(memory)

    def _take_out(self, ids: Collection[int]) -> None:
        for memory_id in ids:
            slot = self._slots.pop(memory_id, None)
            if slot is None:
                continue
            last = self._kept.pop()
            if last.id != memory_id:
                self._kept[slot] = last
                self._vectors[slot] = self._vectors[len(self._kept)]
                self._slots[last.id] = slot
        if self._lists is not None and ids:
            self._lists.remove_ids(np.array(list(ids), dtype=np.int64))

    def _put_in(self, memories: Sequence[Kept], vectors: Sequence[bytes | None]) -> None:
        added: list[int] = []
        for memory, raw in zip(memories, vectors, strict=True):
            known = self._slots.get(memory.id)
            if known is not None:
                self._kept[known] = memory  # its vector never changes, but for another model: then all is built anew
            elif raw is not None:
                vector = np.frombuffer(raw, dtype="<f4")
                self._grow(len(vector))
                self._vectors[len(self._kept)] = vector
                self._slots[memory.id] = len(self._kept)
                added.append(len(self._kept))
                self._kept.append(memory)
        if self._lists is not None and added:
            ids = np.array([self._kept[slot].id for slot in added], dtype=np.int64)
            self._lists.add_with_ids(self._vectors[added], ids)

    def _grow(self, dim: int) -> None:
        size = len(self._kept)
        if self._vectors.shape[1] == dim and size < len(self._vectors):
            return
        grown = np.empty((max(_ROOM, 2 * size), dim), dtype=np.float32)
        if size:
            grown[:size] = self._vectors[:size]
        self._vectors = grown

    def _arrange(self) -> None:
        """Build the inverted file when exactness ends, and anew whenever there are twice as many."""
        size = len(self._kept)
        if size <= self._settings.exact_until or (self._lists is not None and size < 2 * self._trained_on):
            return
        import faiss  # takes a moment, and few have so many memories

        lists = int(size**0.5)
        index = faiss.index_factory(self._vectors.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
        every = max(1, size // (_TRAINING_PER_LIST * lists))
        index.train(self._vectors[:size:every])
        index.add_with_ids(self._vectors[:size], np.array([kept.id for kept in self._kept], dtype=np.int64))
        faiss.ParameterSpace().set_index_parameter(index, "nprobe", _PROBES)
        self._lists, self._trained_on = index, size
