"""The utility of a rule, with the reference values of the design (section 5)."""

from dataclasses import dataclass
from math import inf

import pytest

from core.rules.utility import Thompson, Ucb, adapt_exploration, make_scorer
from core.settings import UtilitySettings

SETTINGS = UtilitySettings()


@dataclass
class Figures:
    n_used: int
    n_success: int
    avg_delta: float
    id: str = "r"


def score(n_used: int, n_success: int, avg_delta: float, *, total: int, c: float = 1.2) -> float:
    return Ucb(SETTINGS, c).score(Figures(n_used, n_success, avg_delta), total)


def test_the_example_of_the_design() -> None:
    assert round(score(10, 7, 0.2, total=100), 4) == 1.6152


def test_an_unused_rule_has_infinite_utility_under_either_scorer() -> None:
    unused = Figures(0, 0, 0.0)
    assert Ucb(SETTINGS, 1.2).score(unused, 500) == inf
    assert Thompson(1).score(unused, 500) == inf


def test_without_exploration_only_what_was_counted_remains() -> None:
    assert score(10, 7, 0.2, total=100, c=0.0) == pytest.approx(0.7 + 0.5 * 0.2)
    assert score(10, 7, -0.4, total=100, c=0.0) == pytest.approx(0.7 - 0.5 * 0.4)


def test_the_less_used_of_two_equal_rules_comes_first() -> None:
    assert score(4, 2, 0.0, total=100) > score(40, 20, 0.0, total=100)


@pytest.mark.parametrize(
    ("held_out", "c"),
    [
        ([], 1.2),
        ([0.4, 0.5], 1.2),
        ([0.4, 0.5, 0.6], 0.8),  # rose for two rounds
        ([0.9, 0.4, 0.5, 0.6], 0.8),
        ([0.6, 0.5, 0.6], 1.2),
        ([0.5, 0.5, 0.5], 1.2),  # flat for two rounds only
        ([0.5, 0.5, 0.5, 0.5], 1.5),  # flat for three
        ([0.1, 0.5, 0.5, 0.5, 0.5], 1.5),
        ([0.5, 0.5, 0.5, 0.6], 1.2),
        ([0.7, 0.6, 0.5, 0.4], 1.2),
    ],
)
def test_c_follows_the_held_out_score(held_out: list[float], c: float) -> None:
    assert adapt_exploration(SETTINGS, held_out) == c


def test_thompson_draws_from_the_posterior_and_its_seed_repeats() -> None:
    settings = UtilitySettings(scorer="thompson")
    figures = Figures(18, 13, 0.0)
    draws = [make_scorer(settings, 1.2, seed).score(figures, 0) for seed in range(2000)]
    assert sum(draws) / len(draws) == pytest.approx(14 / 20, abs=0.01)  # mean of Beta(14, 6)
    assert make_scorer(settings, 1.2, 5).score(figures, 0) == draws[5]


def test_a_draw_hangs_on_the_rule_and_its_counts_alone() -> None:
    """Whatever was drawn before: the arms of a round and a round taken up again rank alike."""
    scorer, again = Thompson(3), Thompson(3)
    rules = [Figures(10, 7, 0.0, id=name) for name in "abc"]
    first = {rule.id: scorer.score(rule, 0) for rule in rules}
    assert {rule.id: again.score(rule, 0) for rule in reversed(rules)} == first
    assert len(set(first.values())) == 3
    assert scorer.score(Figures(11, 7, 0.0, id="a"), 0) != first["a"]
