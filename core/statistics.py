"""Intervals and tests. Every figure carries the n it was computed from.

Seeds are passed in; the same data and seed give the same interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import hypot, sqrt

import numpy as np
from scipy import special, stats

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; ``value`` is None when there is nothing to compute it from (n = 0)."""

    value: float | None
    low: float | None
    high: float | None
    n: int


EMPTY = Interval(None, None, None, 0)


def wilson(successes: int, n: int) -> Interval:
    """Interval of a rate (Wilson 1927), in [0, 1]; ``successes`` out of ``n``."""
    return _wilson(successes / n, n, n) if n else EMPTY


def clustered_wilson(clusters: Sequence[tuple[int, int]]) -> Interval:
    """Interval of a rate whose trials come in clusters that are alike inside, such as several rollouts of a task.

    Wilson's, with as many independent trials as would give the variance between the clusters (Dean and Pagano 2015);
    at a rate of 0 or 1, which has none, with one trial a cluster.

    Args:
        clusters: (successes, trials) of each; without trials it does not count.
    """
    seen = [(float(won), trials) for won, trials in clusters if trials]
    n = sum(trials for _, trials in seen)
    if n == 0:
        return EMPTY
    rate = sum(won for won, _ in seen) / n
    independent = float(len(seen))
    if 0.0 < rate < 1.0 and len(seen) > 1:
        squares = sum((won - rate * trials) ** 2 for won, trials in seen) * len(seen) / (len(seen) - 1)
        independent = float(n) if squares == 0.0 else min(n, rate * (1 - rate) * n**2 / squares)
    return _wilson(rate, independent, n)


def difference_of_rates(first: Interval, second: Interval, *, weight: float = 1.0) -> Interval:
    """Interval of ``first - weight * second`` from those of two independent rates (Newcombe 1998; Zou, Donner 2008).

    Returns:
        With the n of both; nothing if either is nothing.
    """
    if first.value is None or second.value is None:
        return EMPTY
    a, b = (_ends(one) for one in (first, second))
    value = first.value - weight * second.value
    low = value - hypot(first.value - a[0], weight * (b[1] - second.value))
    high = value + hypot(a[1] - first.value, weight * (second.value - b[0]))
    return Interval(value, low, high, first.n + second.n)


def _wilson(rate: float, independent: float, n: int) -> Interval:
    denominator = 1 + _Z95**2 / independent
    centre = (rate + _Z95**2 / (2 * independent)) / denominator
    half = _Z95 * sqrt(rate * (1 - rate) / independent + _Z95**2 / (4 * independent**2)) / denominator
    return Interval(rate, max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)), n)


def _ends(one: Interval) -> tuple[float, float]:
    return (0.0 if one.low is None else one.low), (1.0 if one.high is None else one.high)


def bootstrap_mean(values: Sequence[float], *, seed: int, samples: int = 2000) -> Interval:
    """Percentile-bootstrap interval of a mean (Efron 1979), in the unit of the values."""
    if not values:
        return EMPTY
    means = _resampled_means(np.asarray(values, dtype=float), seed, samples)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(np.mean(values)), float(low), float(high), len(values))


def bootstrap_mean_of_counts(counts: Mapping[float, int], *, seed: int, samples: int = 2000) -> Interval:
    """Percentile-bootstrap interval of a mean, from how often each value occurs.

    A resample of n values is a multinomial draw of the counts, so the cost does not grow with n.
    """
    return _bootstrap_of_counts(tuple(sorted(counts.items())), seed, samples)


@lru_cache(maxsize=20_000)  # a chart asks for the same rounds again at every refresh
def _bootstrap_of_counts(counts: tuple[tuple[float, int], ...], seed: int, samples: int) -> Interval:
    n = sum(count for _, count in counts)
    if n == 0:
        return EMPTY
    values = np.array([value for value, _ in counts], dtype=float)
    weights = np.array([count for _, count in counts], dtype=float)
    means = np.random.default_rng(seed).multinomial(n, weights / n, size=samples) @ values / n
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(weights @ values / n), float(low), float(high), n)


def paired_bootstrap(before: Sequence[float], after: Sequence[float], *, seed: int, samples: int = 2000) -> Interval:
    """Interval of the mean of ``after - before`` over pairs; both have equal length, one value a task.

    Ends and mean are rounded to 9 decimals, so that sums that cancel out are 0 and not the dust of their addition:
    whether a mean is above 0 decides if a change goes live.
    """
    if len(before) != len(after):
        raise ValueError("paired values need equal lengths")
    found = bootstrap_mean([b - a for a, b in zip(before, after, strict=True)], seed=seed, samples=samples)
    if found.value is None or found.low is None or found.high is None:
        return found
    return Interval(without_dust(found.value), without_dust(found.low), without_dust(found.high), found.n)


def without_dust(value: float) -> float:
    """Round what floating-point addition leaves of a sum that cancels out to 0."""
    return round(value, 9) + 0.0  # -0.0 becomes 0.0


def mcnemar_exact(repaired: int, regressed: int) -> float:
    """Two-sided exact McNemar p-value from the two discordant counts; 1.0 if there are none."""
    if repaired + regressed == 0:
        return 1.0
    return float(stats.binomtest(min(repaired, regressed), repaired + regressed, 0.5).pvalue)


def noise_floor(first: Sequence[float], second: Sequence[float], *, seed: int, samples: int = 2000) -> float:
    """Size of mean difference that a library reaches against itself by chance alone, 95 % of the time.

    Args:
        first: one value a task from one run of a library.
        second: the same tasks, the same library, other seeds.
        seed: of the resampling.
        samples: number of resamples.

    Returns:
        The 0.95 quantile of the absolute resampled mean difference, centred at 0.
    """
    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    if differences.size == 0:
        return 0.0
    # A sign flip per pair: the two runs are interchangeable, so each difference is as likely negated.
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(samples, differences.size))
    return float(np.quantile(np.abs((signs * differences).mean(axis=1)), 0.95))


def beta_probability_less(s_a: int, f_a: int, s_b: int, f_b: int) -> float:
    """P(rate A < rate B) under independent Beta(1 + s, 1 + f) posteriors (design section 4).

    Exact sum for whole-numbered parameters (Cook 2005, "Exact calculation of beta inequalities").
    """
    terms = np.arange(s_b + 1)
    logs = (
        special.betaln(1 + s_a + terms, 2 + f_a + f_b)
        - np.log(1 + f_b + terms)
        - special.betaln(1 + terms, 1 + f_b)
        - special.betaln(1 + s_a, 1 + f_a)
    )
    return float(min(1.0, max(0.0, np.exp(logs).sum())))


def _resampled_means(values: np.ndarray, seed: int, samples: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    chunk = max(1, 2_000_000 // max(1, values.size))
    parts = [
        values[generator.integers(0, values.size, size=(min(chunk, samples - done), values.size))].mean(axis=1)
        for done in range(0, samples, chunk)
    ]
    return np.concatenate(parts)
