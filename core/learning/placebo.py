"""Random rules: well-formed, of the same number and length as real ones, and about something else.

The ablation's third arm: if it gained anything over the empty library, the gain of real rules would be in
part one of having more text in the prompt.
"""

import json
import random
from functools import lru_cache
from pathlib import Path

from core.ids import derive_seed
from core.learning.bench import Bench
from core.learning.snapshot import LibrarySnapshot, SnapshotMaker
from core.rules.lifecycle import State
from core.tables import Rule

_PARTS = Path(__file__).parents[2] / "data" / "placebo_rules.json"


def placebo_library(maker: SnapshotMaker, bench: Bench, count: int) -> LibrarySnapshot:
    """Return ``count`` active random rules as a library; the same seed gives the same rules."""
    chosen = random_parts(count, seed=derive_seed(bench.settings.loop.seed, "placebo"))
    now = bench.clock()
    rules = [
        Rule(
            id=f"placebo_{number}",
            name=action[:60],
            condition=condition,
            action=action,
            domain=bench.domain,
            origin="placebo",
            state=State.ACTIVE.value,
            created_at=now,
        )
        for number, (condition, action) in enumerate(chosen)
    ]
    return maker.of(rules, ())


def random_parts(count: int, *, seed: int) -> list[tuple[str, str]]:
    """Return up to ``count`` different pairs of condition and action."""
    parts = _parts()
    pairs = [(when, then) for when in parts["conditions"] for then in parts["actions"]]
    return random.Random(seed).sample(pairs, min(count, len(pairs)))


@lru_cache(maxsize=1)
def _parts() -> dict[str, list[str]]:
    parts: dict[str, list[str]] = json.loads(_PARTS.read_text(encoding="utf-8"))
    return parts
