"""Advantages from experience against hand-worked figures (design section 10)."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.episodes.memory.decisions import discounted_returns
from core.policy.advantage import Tried, bent, estimate
from core.settings_experience import PolicySettings

NEAR = [Tried("a", 1.0), Tried("a", 0.5), Tried("b", -0.5), Tried("b", 0.0), Tried("c", 0.5)]


def test_returns_of_three_steps() -> None:
    # 1 + 0.95 * 0 + 0.9025 * 2 = 2.805; 0 + 0.95 * 2 = 1.9; 2
    assert discounted_returns([1, 0, 2], 0.95) == pytest.approx([2.805, 1.9, 2])
    assert discounted_returns([], 0.95) == []


@given(st.lists(st.floats(-1, 1), max_size=12), st.floats(0, 1))
def test_a_return_is_its_reward_and_the_discounted_next_return(rewards: list[float], gamma: float) -> None:
    returns = [*discounted_returns(rewards, gamma), 0.0]
    assert returns[:-1] == pytest.approx([r + gamma * later for r, later in zip(rewards, returns[1:], strict=True)])


@pytest.mark.parametrize(("chance", "unseen"), [(0.0, 0.3), (1.0, 0.4)])
def test_a_neighbourhood_of_five_with_one_unseen_action(chance: float, unseen: float) -> None:
    # V = (1 + 0.5 - 0.5 + 0 + 0.5) / 5 = 0.3; an untried action has V, or V + 0.5 / 5 by chance.
    settings = PolicySettings(untried_bonus=0.5, untried_chance=chance, beta=2.0)
    found = estimate(NEAR, ["a", "b", "c", "d"], settings, random.Random(1))
    assert found.value == pytest.approx(0.3)
    assert found.q == pytest.approx({"a": 0.75, "b": -0.25, "c": 0.5, "d": unseen})
    assert found.tried == {"a": 2, "b": 2, "c": 1, "d": 0}
    advantages = {action: found.advantage(action) for action in "abcd"}
    assert advantages == pytest.approx({"a": 0.45, "b": -0.55, "c": 0.2, "d": unseen - 0.3})
    logits = {"a": -1.0, "b": -0.5, "c": -2.0, "d": -3.0}
    # z' = z + 2 A
    assert bent(logits, advantages, 2.0) == pytest.approx(
        {"a": -0.1, "b": -1.6, "c": -1.6, "d": -3.0 + 2 * (unseen - 0.3)}
    )


def test_the_bonus_comes_as_often_as_it_should() -> None:
    settings = PolicySettings(untried_bonus=0.5, untried_chance=0.2)
    rng = random.Random(3)
    lucky = sum(estimate(NEAR, ["d"], settings, rng).q["d"] > 0.35 for _ in range(2000))
    assert 340 < lucky < 460  # 400 expected, standard deviation 18


def test_nothing_near_says_nothing() -> None:
    found = estimate([], ["a", "b"], PolicySettings(), random.Random(1))
    assert found.value is None
    assert [found.advantage(action) for action in ("a", "b")] == [0, 0]
