"""Intervals and tests against published values and closed forms."""

from math import exp, lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics import (
    EMPTY,
    beta_probability_less,
    bootstrap_mean,
    bootstrap_mean_of_counts,
    clustered_wilson,
    difference_of_rates,
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


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),  # Newcombe 1998, interval estimation for the difference, method 10
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_differences_of_rates_are_those_of_newcombe(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    found = difference_of_rates(wilson(*first), wilson(*second))
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.value == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert found.n == first[1] + second[1]


def test_half_of_a_rate_is_taken_with_half_of_its_uncertainty() -> None:
    whole, half = (difference_of_rates(wilson(0, 10**9), wilson(5, 10), weight=weight) for weight in (1.0, 0.5))
    assert (half.value, half.low, half.high) == pytest.approx(
        (whole.value / 2, whole.low / 2, whole.high / 2), abs=1e-6
    )


def test_ten_tasks_whose_rollouts_are_all_alike_tell_no_more_than_nine_trials() -> None:
    """One degree of freedom goes to the mean."""
    found = clustered_wilson([(3, 3)] * 4 + [(0, 3)] * 6)
    assert (found.value, found.n) == (pytest.approx(0.4), 30)
    for end in (found.low, found.high):  # Wilson 1927: where the observed rate lies 1.96 standard errors away
        assert end is not None
        assert abs(0.4 - end) == pytest.approx(1.959964 * (end * (1 - end) / 9) ** 0.5, rel=1e-5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_clusters_never_tell_more_than_independent_trials(pairs: list[tuple[int, int]]) -> None:
    clusters = [(won, won + lost) for won, lost in pairs]
    plain = wilson(sum(won for won, _ in clusters), sum(n for _, n in clusters))
    found = clustered_wilson(clusters)
    assert (found.value, found.n) == (pytest.approx(plain.value) if plain.value is not None else None, plain.n)
    if found.n:
        assert found.low <= plain.low + 1e-12
        assert found.high >= plain.high - 1e-12


def test_where_all_rollouts_end_alike_a_task_counts_once() -> None:
    assert clustered_wilson([(0, 3)] * 20).high == pytest.approx(0.1611, abs=5e-5)  # as 0 of 20
    assert clustered_wilson([(3, 3)] * 20).low == pytest.approx(1 - 0.1611, abs=5e-5)


def test_without_data_there_is_no_value() -> None:
    assert wilson(0, 0) == EMPTY
    assert clustered_wilson([(0, 0)]) == EMPTY
    assert difference_of_rates(EMPTY, wilson(1, 2)) == EMPTY
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
