"""Effects of rules from randomised hold-outs: what they say holds as often as they claim (design section 5)."""

from collections.abc import Iterable

import numpy as np
import pytest

from core.effects import Effect, Finding, Sums, effect

LEFT_OUT = 0.05
RUNS = 1000
LOWEST, HIGHEST = 0.93, 0.97


def added_up(kept: np.ndarray, propensity: np.ndarray, x: np.ndarray, d: np.ndarray | None = None) -> list[Sums]:
    """Group episodes by side and propensity, as the database does."""
    d = np.ones_like(x) if d is None else d
    found = []
    for side, chance in sorted(set(zip(kept.tolist(), propensity.tolist(), strict=True))):
        here = (kept == side) & (propensity == chance)
        a, b = x[here], d[here]
        figures = (a.sum(), b.sum(), (a * a).sum(), (b * b).sum(), (a * b).sum())
        found.append(Sums(bool(side), chance, int(here.sum()), *(float(figure) for figure in figures)))
    return found


def coin(rng: np.random.Generator, n: int, left_out: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = rng.random(n) >= left_out
    return kept, np.where(kept, 1 - left_out, left_out)


def share_of_covering(effects: Iterable[Effect], truth: float) -> float:
    covering = [one.low <= truth <= one.high for one in effects if one.low is not None and one.high is not None]
    assert len(covering) == RUNS
    return sum(covering) / RUNS


@pytest.mark.parametrize(("truth", "base"), [(0.15, 0.45), (0.0, 0.3), (-0.2, 0.6)])
def test_the_interval_of_a_share_covers_the_truth_as_often_as_it_says(truth: float, base: float) -> None:
    def one(seed: int) -> Effect:
        rng = np.random.default_rng(seed)
        hard = rng.random(1000) < 0.5
        kept, propensity = coin(rng, 1000, LEFT_OUT)
        passed = rng.random(1000) < np.where(hard, base - 0.2, base + 0.2) + truth * kept
        return effect(added_up(kept, propensity, passed.astype(float)), share=True, min_n=10)

    assert LOWEST <= share_of_covering((one(seed) for seed in range(RUNS)), truth) <= HIGHEST


def test_the_interval_of_a_mean_covers_the_truth_as_often_as_it_says() -> None:
    def one(seed: int) -> Effect:
        rng = np.random.default_rng(seed)
        kept, propensity = coin(rng, 800, LEFT_OUT)
        turns = rng.poisson(6 - 1.5 * kept + 2 * (rng.random(800) < 0.4)).astype(float)
        return effect(added_up(kept, propensity, turns), share=False, min_n=10)

    assert LOWEST <= share_of_covering((one(seed) for seed in range(RUNS)), -1.5) <= HIGHEST


def test_the_interval_of_a_ratio_covers_the_truth_as_often_as_it_says() -> None:
    """Failed calls of all calls: episodes with many calls weigh more, and fail alike within."""

    def one(seed: int) -> Effect:
        rng = np.random.default_rng(seed)
        kept, propensity = coin(rng, 1000, LEFT_OUT)
        calls = rng.integers(1, 9, 1000)
        failed = rng.binomial(calls, np.where(kept, 0.2, 0.3)).astype(float)
        return effect(added_up(kept, propensity, failed, calls.astype(float)), share=True, min_n=10)

    assert LOWEST <= share_of_covering((one(seed) for seed in range(RUNS)), -0.1) <= HIGHEST


def test_chances_that_changed_on_the_way_do_not_bias_it() -> None:
    """Early episodes were hard and left a rule out often, later ones are easy: unweighted means would be wrong."""

    def one(seed: int) -> tuple[Effect, float]:
        rng = np.random.default_rng(seed)
        early = np.arange(1200) < 600
        kept, propensity = coin(rng, 1200, np.where(early, 0.4, 0.05))
        passed = (rng.random(1200) < np.where(early, 0.2, 0.7) + 0.1 * kept).astype(float)
        plain = passed[kept].mean() - passed[~kept].mean()
        return effect(added_up(kept, propensity, passed), share=True, min_n=10), float(plain)

    runs = [one(seed) for seed in range(RUNS)]
    assert LOWEST <= share_of_covering((found for found, _ in runs), 0.1) <= HIGHEST
    assert np.mean([found.value for found, _ in runs]) == pytest.approx(0.1, abs=0.01)
    assert np.mean([plain for _, plain in runs]) > 0.25


def test_raw_figures_are_confounded_where_the_estimate_is_not() -> None:
    """A good rule is retrieved for the hard tasks: raw, the episodes with it look worse than those without."""
    helped = harmed = covered = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        hard = rng.random(2000) < 0.5
        retrieved = rng.random(2000) < np.where(hard, 0.9, 0.1)
        kept, propensity = coin(rng, 2000, LEFT_OUT)
        served = retrieved & kept
        passed = (rng.random(2000) < np.where(hard, 0.2, 0.7) + 0.2 * served).astype(float)
        raw = passed[served].mean() - passed[~served].mean()
        found = effect(added_up(kept[retrieved], propensity[retrieved], passed[retrieved]), share=True, min_n=10)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.2 <= found.high
        helped += found.finding is Finding.ABOVE
        harmed += raw < 0
    assert LOWEST <= covered / RUNS <= HIGHEST
    assert helped / RUNS > 0.6
    assert harmed / RUNS > 0.9


def test_a_difference_worked_by_hand() -> None:
    """30 of 40 pass with the rule, 5 of 20 without: 0.75 - 0.25."""
    sums = [Sums(True, 0.5, 40, 30, 40, 30, 40, 30), Sums(False, 0.5, 20, 5, 20, 5, 20, 5)]
    found = effect(sums, share=True, min_n=10)
    assert (found.value, found.n_with, found.n_without, found.finding) == (0.5, 40, 20, Finding.ABOVE)
    # Agresti and Caffo: (31/42 - 6/22) +- t * sqrt(31*11/42^2/41 + 6*16/22^2/21), with Welch's 41.9 degrees.
    assert (found.low, found.high) == (pytest.approx(0.2253, abs=5e-4), pytest.approx(0.7055, abs=5e-4))


@pytest.mark.parametrize(
    "sums",
    [
        [],
        [Sums(True, 0.95, 500, 400, 500, 400, 500, 400)],
        [Sums(True, 0.95, 500, 400, 500, 400, 500, 400), Sums(False, 0.05, 9, 0, 9, 0, 9, 0)],
        [Sums(True, 0.95, 9, 9, 9, 9, 9, 9), Sums(False, 0.05, 500, 0, 500, 0, 500, 0)],
        [Sums(True, 0.95, 50, 0, 0, 0, 0, 0), Sums(False, 0.05, 50, 0, 0, 0, 0, 0)],  # nothing was judged
    ],
)
def test_too_few_episodes_say_nothing(sums: list[Sums]) -> None:
    assert effect(sums, share=True, min_n=10).finding is Finding.TOO_FEW


def test_all_against_none_is_certain_only_as_far_as_the_counts_allow() -> None:
    sums = [Sums(True, 0.95, 100, 100, 100, 100, 100, 100), Sums(False, 0.05, 10, 10, 10, 10, 10, 10)]
    found = effect(sums, share=True, min_n=10)
    assert (found.value, found.finding) == (0.0, Finding.UNCLEAR)
    assert found.high is not None
    assert found.high > 0.1
