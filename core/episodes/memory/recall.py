"""Choosing memories for a state: by similarity, or in two phases with a learned Q (design section 9).

The second is the MemRL paper's (arXiv 2601.03192): candidates by similarity, then those of the highest utility.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.episodes.memory.index import Kept, Near
from core.settings_experience import MemorySettings


@dataclass(frozen=True)
class Recalled:
    """A memory chosen for a state, with the cosine of both states and the score it was chosen by."""

    memory: Kept
    similarity: float
    score: float


def reach(settings: MemorySettings) -> int:
    """Return how many of the nearest memories ``recall`` looks at."""
    return settings.top_k if settings.recall == "similar" else settings.candidates


def recall(near: Sequence[Near], settings: MemorySettings, floor: float) -> list[Recalled]:
    """Choose memories for a state, best first.

    Args:
        near: the memories nearest to the state, best first; no more than the first ``reach(settings)`` count.
        settings: which of both ways, and how many.
        floor: cosine that a candidate of two phases has to exceed, unless the settings name one.
    """
    nearest = near[: reach(settings)]
    if settings.recall == "similar":
        return [Recalled(one.memory, one.similarity, one.similarity) for one in nearest]
    least = settings.min_similarity if settings.min_similarity is not None else floor
    return second_phase([one for one in nearest if one.similarity > least], settings)


def second_phase(candidates: Sequence[Near], settings: MemorySettings) -> list[Recalled]:
    """Return the best candidates by (1 - lambda) z(similarity) + lambda z(Q), z over the candidates."""
    similarity = standardised([one.similarity for one in candidates])
    utility = standardised([one.memory.q for one in candidates])
    weight = settings.q_weight
    scored = [
        Recalled(one.memory, one.similarity, (1 - weight) * near + weight * q)
        for one, near, q in zip(candidates, similarity, utility, strict=True)
    ]
    scored.sort(key=lambda one: (-one.score, -one.memory.id))
    return scored[: settings.chosen]


def standardised(values: Sequence[float]) -> list[float]:
    """Return z-scores (population deviation); zeros where all values are equal."""
    if not values:
        return []
    found = np.asarray(values, dtype=float)
    spread = float(found.std())
    return [0.0] * len(values) if spread < 1e-12 else ((found - found.mean()) / spread).tolist()
