"""How long one prompt takes: retrieval and assembly, query embedding cached. ``python -m tests.bench.prompts``"""

import itertools
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import numpy as np

from core.environments.incidents import Incidents
from core.episodes.system_prompt import stable_part
from core.rules.prompt import assemble
from core.rules.retrieval import Retrieval, RuleIndex
from core.settings import RetrievalSettings, Settings
from core.tables import Rule
from tests.bench.machine import machine, measured

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSIONS = 384
QUERIES = 50


def a_library(size: int, seed: int = 1) -> tuple[list[Rule], np.ndarray, dict[str, float]]:
    """Make rules out of the bundled world's words, with random unit vectors and utilities."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    words = sorted({word for task in Incidents().tasks() for word in task.query.split()})
    rules = [
        Rule(
            id=f"r{number:05}",
            name=f"rule {number}",
            condition=" ".join(draw.choices(words, k=14)),
            action="apply raise_limits on the gateway " + " ".join(draw.choices(words, k=8)),
            exclusion=" ".join(draw.choices(words, k=3)) if number % 5 == 0 else "",
            tags=draw.choices(words, k=3),
            domain="incidents",
            origin="reflection",
            state=draw.choices(["active", "candidate", "probation"], [6, 3, 1])[0],
            created_at=NOW,
        )
        for number in range(size)
    ]
    vectors = rng.standard_normal((size, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return rules, vectors, {rule.id: draw.random() for rule in rules}


def main() -> None:
    """Print the figures."""
    print(machine())
    settings = Settings(_env_file=None).retrieval
    stable = stable_part(Incidents(), "tools")
    tasks = list(Incidents().tasks())[:QUERIES]
    for size in (120, 10_000):
        rules, vectors, utilities = a_library(size)
        index = RuleIndex(rules, vectors, utilities, {}, settings)
        queries = itertools.cycle(zip((task.query for task in tasks), vectors[:QUERIES], strict=True))
        ask = partial(_retrieve, index, queries)
        one = partial(_prompt, ask, stable, settings)
        print(f"{size:6,} rules, one prompt: ", measured(one, times=300))
        print(f"{size:6,} rules, explained:  ", measured(lambda ask=ask: ask().left_out, times=30))


def _retrieve(index: RuleIndex, queries: Iterator[tuple[str, np.ndarray]]) -> Retrieval:
    return index.retrieve(*next(queries))


def _prompt(ask: Callable[[], Retrieval], stable: str, settings: RetrievalSettings) -> str:
    return assemble(stable, ask().hits, settings).text


if __name__ == "__main__":
    main()
