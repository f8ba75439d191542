"""How often the gate is right and wrong, on simulated held-out results with noise (design section 8).

A task passes or fails for good with either library, except for two kinds of noise that hit each arm by itself:
some tasks come out either way at every try (sampling), and some outcomes are graded wrong (judge).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from core.learning.verdict import Outcome, Verdict, commits, compare, judge
from core.settings import GateSettings

GATES = 400
SIZES = (20, 60, 200)
BASE = 0.55
UNSTABLE = 0.08
MISJUDGED = 0.03
SETTINGS, STRICT = GateSettings(), GateSettings(mode="strict")


@dataclass(frozen=True)
class Rates:
    """Shares of the simulated gates."""

    improved: float
    committed: float
    committed_strict: float
    worse: float


def outcomes(passed: np.ndarray) -> list[Outcome]:
    return [Outcome(f"t{place:03}", f"k{place % 5}", float(ok), bool(ok)) for place, ok in enumerate(passed)]


def seen(rng: np.random.Generator, truth: np.ndarray, unstable: np.ndarray) -> np.ndarray:
    tried = np.where(unstable, rng.random(truth.size) < 0.5, truth)
    return tried ^ (rng.random(truth.size) < MISJUDGED)


def gate(n: int, effect: float, seed: int) -> tuple[Verdict, bool, bool]:
    """Run one gate for a change that repairs (or breaks) a share ``effect`` of all tasks."""
    rng = np.random.default_rng(seed)
    before = rng.random(n) < BASE
    unstable = rng.random(n) < UNSTABLE
    changes = rng.random(n) < abs(effect) / (1 - BASE if effect > 0 else BASE)
    after = (before | changes) if effect > 0 else (before & ~changes)
    found = compare(outcomes(seen(rng, before, unstable)), outcomes(seen(rng, after, unstable)), seed=seed, samples=500)
    verdict = judge(found, SETTINGS)
    return verdict, commits(verdict, found, SETTINGS), commits(verdict, found, STRICT)


def rates(n: int, effect: float) -> Rates:
    gates = [gate(n, effect, seed) for seed in range(GATES)]

    def share(flags: Sequence[bool]) -> float:
        return sum(flags) / GATES

    return Rates(
        improved=share([verdict is Verdict.IMPROVED for verdict, _, _ in gates]),
        committed=share([committed for _, committed, _ in gates]),
        committed_strict=share([committed for _, _, committed in gates]),
        worse=share([verdict is Verdict.WORSE for verdict, _, _ in gates]),
    )


@pytest.fixture(scope="module")
def table() -> dict[tuple[int, float], Rates]:
    found = {(n, effect): rates(n, effect) for n in SIZES for effect in (-0.15, 0.0, 0.10)}
    lines = ["", "  n  effect  improved  committed  strict  worse"]
    for (n, effect), row in found.items():
        figures = (row.improved, row.committed, row.committed_strict, row.worse)
        lines.append(f"{n:3}  {effect:+.2f}  " + "  ".join(f"{figure:8.3f}" for figure in figures))
    sys.stdout.write("\n".join(lines) + "\n")  # with pytest -s
    return found


@pytest.mark.parametrize("n", SIZES)
def test_a_library_is_hardly_ever_called_better_than_itself(table: dict[tuple[int, float], Rates], n: int) -> None:
    assert table[n, 0.0].improved <= 0.05
    assert table[n, 0.0].committed_strict <= 0.05


@pytest.mark.parametrize("n", [60, 200])
def test_a_poisoned_rule_is_hardly_ever_committed(table: dict[tuple[int, float], Rates], n: int) -> None:
    assert table[n, -0.15].committed <= 0.05
    assert table[n, -0.15].committed_strict == 0.0


@pytest.mark.parametrize("n", [60, 200])
def test_a_good_rule_is_mostly_committed(table: dict[tuple[int, float], Rates], n: int) -> None:
    assert table[n, 0.10].committed >= 0.90


def test_more_tasks_tell_better(table: dict[tuple[int, float], Rates]) -> None:
    assert table[200, 0.10].improved > table[60, 0.10].improved > table[20, 0.10].improved
    assert table[200, -0.15].worse > table[60, -0.15].worse > table[20, -0.15].worse
