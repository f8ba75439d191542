"""Leaving rules out by chance, with the probability of what happened (design section 5)."""

import pytest

from core.learning.holdout import draw_holdout, no_holdout
from core.settings import UtilitySettings
from tests.learning.rows import a_hit

SETTINGS = UtilitySettings()
HITS = [a_hit(name) for name in "abcdefghijkl"]
DRAWS = [draw_holdout(HITS, SETTINGS, seed) for seed in range(4000)]


def test_the_whole_library_is_left_out_in_a_tenth_of_the_episodes() -> None:
    share = sum(draw.library_left_out for draw in DRAWS) / len(DRAWS)
    assert share == pytest.approx(0.1, abs=0.015)  # 3 standard errors


def test_each_rule_is_left_out_in_a_twentieth_of_the_others() -> None:
    rest = [draw for draw in DRAWS if not draw.library_left_out]
    for hit in HITS:
        assert sum(hit in draw.left_out for draw in rest) / len(rest) == pytest.approx(0.05, abs=0.012)


def test_what_is_served_and_what_is_left_out_make_up_the_whole_in_order() -> None:
    for draw in DRAWS[:200]:
        assert sorted(draw.served + draw.left_out, key=HITS.index) == HITS
        assert list(draw.served) == sorted(draw.served, key=HITS.index)


def test_probabilities_are_those_of_what_happened() -> None:
    for draw in DRAWS:
        if draw.library_left_out:
            assert (draw.served, draw.library_propensity, draw.left_out_propensity) == ((), 0.1, 0.1)
        else:
            assert (draw.library_propensity, draw.rule_propensity) == (0.9, 0.95)
            assert draw.left_out_propensity == pytest.approx(0.05)


def test_the_seed_repeats() -> None:
    assert draw_holdout(HITS, SETTINGS, 17) == DRAWS[17]


def test_without_hits_the_library_is_still_drawn() -> None:
    assert any(draw_holdout([], SETTINGS, seed).library_left_out for seed in range(100))


def test_an_evaluation_serves_everything_for_sure() -> None:
    served = no_holdout(HITS)
    assert (list(served.served), served.left_out, served.library_left_out) == (HITS, (), False)
    assert (served.library_propensity, served.rule_propensity) == (1.0, 1.0)
