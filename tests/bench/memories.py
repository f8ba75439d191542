"""100,000 memories: finding, and keeping tiers up. ``python -m tests.bench.memories``.

Vectors are drawn in groups, as states of like tasks are; finding is held against plain numpy over the same vectors.
"""

import argparse
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter

import numpy as np
from sqlalchemy import insert

from core.db import Database, open_database
from core.embeddings import Embedder
from core.episodes.memory.index import MemoryIndex
from core.episodes.memory.tiers import Alike, keep_up
from core.settings import EmbeddingSettings
from core.settings_experience import MemorySettings
from core.tables import Memory
from tests.bench.machine import machine
from tests.learning.rows import an_episode

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DIM, GROUPS, ACTIONS = 768, 400, 60


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 50_000, 100_000])
    given = parser.parse_args()
    print(machine())
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            _measure(f"sqlite:///{folder}/memories.db", size)


def _measure(url: str, size: int) -> None:
    database, embedder = open_database(url), Embedder(EmbeddingSettings())
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(GROUPS, DIM))
    vectors = centres[rng.integers(GROUPS, size=size)] + 1.2 * rng.normal(size=(size, DIM))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")
    settings = MemorySettings()
    index = MemoryIndex(database, embedder, "w", settings)
    _fill(database, vectors, index.encoding)
    start = perf_counter()
    index.follow()
    loaded = perf_counter() - start
    start = perf_counter()
    index.follow()
    followed = perf_counter() - start
    queries = vectors[rng.integers(size, size=200)] + 0.02 * rng.normal(size=(200, DIM)).astype("<f4")
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found = [{one.memory.id for one in index.near(query, 10)} for query in queries]
    exact = [set((np.argsort(-(vectors @ query))[:10] + 1).tolist()) for query in queries[:50]]
    recall = float(np.mean([len(a & b) / 10 for a, b in zip(found, exact, strict=False)]))
    ours = _median([lambda query=query: index.near(query, 10) for query in queries])
    plain = _median([lambda query=query: _plain(vectors, query) for query in queries])
    print(f"{size:>7,} memories: loaded in {loaded:.1f} s, followed up in {1000 * followed:.1f} ms")
    print(f"        found {ours:.2f} ms, plain numpy {plain:.2f} ms (median, n = 200); of the ten nearest {recall:.3f}")
    for hours in (0.0, 1.0, 1.0):
        start = perf_counter()
        now = NOW + timedelta(hours=hours)
        moved = keep_up(database, "w", settings, now, Alike(index, 0.9))
        print(f"        upkeep {1000 * (perf_counter() - start):.0f} ms: {moved}")
    database.close()


def _plain(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    cosines = vectors @ query
    best = np.argpartition(-cosines, 10)[:10]
    return best[np.argsort(-cosines[best])]


def _fill(database: Database, vectors: np.ndarray, model: str) -> None:
    """Write memories, one a minute; those past 72 hours are warm already, but for the oldest of the hot ones."""
    rows = []
    for number, vector in enumerate(vectors):
        age = timedelta(minutes=(len(vectors) - number) * 30 * 24 * 60 / len(vectors) * 0.99)
        rows.append(
            {
                "environment": "w", "episode_id": "e", "task_id": f"w/t{number // 5}", "agent": "rulewright",
                "trust": 1.0, "step": number, "state": f"state {number}", "action": f"act_{number % ACTIONS}()",
                "arguments": "", "result": "", "failed": False, "closed": False, "displeased": False,
                "step_reward": 0.0, "reward": 1.0, "value": 1.0, "gamma": 0.95, "lesson": "passed", "candidates": {},
                "q": 0.0, "q_updates": 0, "tier": "hot" if age <= timedelta(hours=72) else "warm", "restored": False,
                "vector": vector.tobytes(), "vector_model": model, "created_at": NOW - age, "touched": 1,
            }
        )  # fmt: skip
    with database.write() as session:
        session.add(an_episode("e", environment="w"))
        session.flush()
        for start in range(0, len(rows), 5_000):
            session.execute(insert(Memory), rows[start : start + 5_000])


def _median(work: list[Callable[[], object]]) -> float:
    taken = []
    for one in work:
        start = perf_counter()
        one()
        taken.append(1000 * (perf_counter() - start))
    return median(taken)


if __name__ == "__main__":
    main()
