"""Intervals and tests against published values and closed forms."""

from math import exp, lgamma

import numpy as np
import pytest

from core.statistics import (
    EMPTY,
    beta_probability_less,
    bootstrap_mean,
    bootstrap_mean_of_counts,
    mcnemar_exact,
    noise_floor,
    paired_bootstrap,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_values_of_newcombe(successes: int, n: int, low: float, high: float) -> None:
    interval = wilson(successes, n)
    assert interval.value == pytest.approx(successes / n)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_without_data_there_is_no_value() -> None:
    assert wilson(0, 0) == EMPTY
    assert bootstrap_mean([], seed=1) == EMPTY
    assert bootstrap_mean_of_counts({}, seed=1) == EMPTY


@pytest.mark.parametrize(
    ("repaired", "regressed", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (3, 3, 1.0),
        (5, 0, 2 / 32),
        (6, 0, 2 / 64),
        (8, 1, 2 * (1 + 9) / 512),
        (10, 2, 2 * (1 + 12 + 66) / 4096),
        (9, 3, 2 * (1 + 12 + 66 + 220) / 4096),
        (3, 9, 2 * (1 + 12 + 66 + 220) / 4096),
    ],
)
def test_mcnemar_is_twice_the_binomial_tail(repaired: int, regressed: int, p: float) -> None:
    assert mcnemar_exact(repaired, regressed) == pytest.approx(p)


def beta_tail_sum(s_a: int, f_a: int, s_b: int, f_b: int) -> float:
    """P(B > A) for Beta(1 + s, 1 + f) posteriors as a finite sum of beta functions."""

    def log_beta(x: float, y: float) -> float:
        return lgamma(x) + lgamma(y) - lgamma(x + y)

    a, b = (1 + s_a, 1 + f_a), (1 + s_b, 1 + f_b)
    terms = (
        log_beta(a[0] + i, a[1] + b[1]) - log_beta(1 + i, b[1]) - log_beta(*a) - np.log(b[1] + i) for i in range(b[0])
    )
    return sum(exp(term) for term in terms)


@pytest.mark.parametrize(
    "counts", [(0, 0, 0, 0), (7, 3, 5, 5), (5, 15, 14, 6), (0, 20, 0, 0), (300, 200, 310, 190), (19, 1, 3, 900)]
)
def test_the_beta_comparison_equals_its_closed_form(counts: tuple[int, int, int, int]) -> None:
    assert beta_probability_less(*counts) == pytest.approx(beta_tail_sum(*counts), abs=1e-6)


def test_the_beta_comparison_equals_a_simulation() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.beta(6, 16, 200_000), generator.beta(15, 7, 200_000)
    assert beta_probability_less(5, 15, 14, 6) == pytest.approx(float((a < b).mean()), abs=0.002)


def test_the_bootstrap_interval_is_near_the_normal_one_and_reproducible() -> None:
    values = [0.0, 1.0] * 50
    interval = bootstrap_mean(values, seed=4)
    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.012)
    assert interval.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.012)
    assert bootstrap_mean(values, seed=4) == interval


def test_counts_give_nearly_the_interval_of_the_values_themselves() -> None:
    plain = bootstrap_mean([1.0] * 30 + [4.0] * 10, seed=1)
    counted = bootstrap_mean_of_counts({1.0: 30, 4.0: 10}, seed=1)
    assert (counted.value, counted.n) == (1.75, 40)
    assert counted.low == pytest.approx(plain.low, abs=0.08)
    assert counted.high == pytest.approx(plain.high, abs=0.08)


def test_pairs_are_compared_one_by_one() -> None:
    interval = paired_bootstrap([0.0, 0.5, 1.0], [0.2, 0.7, 1.2], seed=1)
    assert (interval.value, interval.low, interval.high) == (
        pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2)
    )  # fmt: skip
    with pytest.raises(ValueError, match="equal lengths"):
        paired_bootstrap([0.0], [0.0, 1.0], seed=1)


def test_the_noise_floor_is_the_spread_of_sign_flips() -> None:
    assert noise_floor([], [], seed=1) == 0.0
    assert noise_floor([0.3, 0.4], [0.3, 0.4], seed=1) == 0.0
    # 100 differences of size 1: the mean of random signs has standard deviation 0.1, |mean| 95 % quantile 0.196.
    assert noise_floor([0.0] * 100, [1.0, -1.0] * 50, seed=1) == pytest.approx(0.2, abs=0.021)
