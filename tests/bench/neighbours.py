"""How long a new candidate takes against a large library: duplicates and conflicts, vectors at hand.

``python -m tests.bench.neighbours``. Embeddings and the model's judgements are not counted.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from core.calibration import Thresholds
from core.embeddings import Embedder
from core.rules.conflicts import find_conflicts
from core.rules.duplicates import propose_duplicates
from core.settings import EmbeddingSettings
from core.tables.rules import RuleContent
from tests.bench.machine import machine, measured
from tests.bench.prompts import a_library

NEWCOMERS = 40
_CLOSE = 0.1

Newcomer = tuple[RuleContent, np.ndarray]


def main() -> None:
    """Print the figures."""
    print(machine())
    thresholds = Embedder(EmbeddingSettings()).thresholds()
    for size in (120, 10_000):
        rules, vectors, _ = a_library(size)
        others: list[tuple[str, RuleContent]] = [(rule.id, rule) for rule in rules]
        newcomers = itertools.cycle(
            [(others[at][1], near(vectors[at], at)) for at in range(0, size, max(1, size // NEWCOMERS))]
        )
        print(f"{size:6,} rules: ", measured(partial(_compare, others, vectors, newcomers, thresholds), times=100))


def near(vector: np.ndarray, seed: int) -> np.ndarray:
    """Return a unit vector close to another one, like that of a reworded rule."""
    noise = np.random.default_rng(seed).standard_normal(vector.size).astype(np.float32)
    moved = vector + _CLOSE * noise / vector.size**0.5
    return np.asarray(moved / np.linalg.norm(moved))


def _compare(
    others: Sequence[tuple[str, RuleContent]],
    vectors: np.ndarray,
    newcomers: Iterator[Newcomer],
    thresholds: Thresholds,
) -> int:
    new, vector = next(newcomers)
    duplicates = propose_duplicates(new, others, vector, vectors, thresholds)
    return len(duplicates) + len(find_conflicts(new, others, vector, vectors, thresholds))


if __name__ == "__main__":
    main()
