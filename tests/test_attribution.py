"""Who is to blame: simulated worlds with one guilty rule among forty, and pairs that never part."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from core.attribution import Attribution, Episodes, attribute

RULES = [f"r{number:02}" for number in range(40)]
KINDS = ("queues", "disks", "names", "clocks")
EACH = 120
"""Training episodes a round: forty tasks, three rollouts each."""


def world(seed: int, *, twins: tuple[str, str] | None = None, harm: float = 0.5, more: int = 0) -> tuple[Episodes, str]:
    """Two rounds; between them all forty rules came in, one of which is harmful.

    A prompt finds twelve rules, most of them fitting its type; a coin leaves one in twenty out. ``twins`` are always
    found together, and not even the coin parts them. ``more`` episodes of later rounds are there as well.
    """
    chance = random.Random(seed)
    guilty = chance.choice(RULES)
    home = {rule: chance.choice(KINDS) for rule in RULES}
    base = {kind: chance.uniform(0.4, 0.8) for kind in KINDS}
    carried: dict[str, list[bool]] = {rule: [] for rule in RULES}
    outcome, side, kinds = [], [], []
    for number in range(2 * EACH + more):
        kind, later = chance.choice(KINDS), number >= EACH
        weights = [(4.0 if home[rule] == kind else 1.0) * chance.expovariate(1.0) for rule in RULES]
        ranked = sorted(zip(weights, RULES, strict=True), reverse=True)
        found = {rule for _, rule in ranked[:12] if chance.random() >= 0.05} if later else set()
        if twins and later:
            found = found - {twins[1]} | ({twins[1]} if twins[0] in found else set())
        passed = chance.random() < base[kind] - (harm if guilty in found else 0.0)
        outcome.append(float(passed))
        side.append(0 if number >= 2 * EACH else 1 if later else -1)
        kinds.append(kind)
        for rule in RULES:
            carried[rule].append(rule in found)
    columns = {rule: np.array(column) for rule, column in carried.items()}
    return Episodes(np.array(outcome), np.ones(len(outcome)), np.array(side), kinds, columns), guilty


def blamed(found: Attribution | None) -> tuple[str, ...]:
    assert found is not None
    return found.shares[0].rules


def test_the_guilty_rule_among_forty_is_named_first_in_nine_worlds_of_ten() -> None:
    worlds = [world(seed) for seed in range(50)]
    right = sum(blamed(attribute(episodes, RULES)) == (guilty,) for episodes, guilty in worlds)
    assert right >= 45


def test_smaller_harm_takes_the_episodes_of_later_rounds() -> None:
    worlds = [world(seed, harm=0.3, more=3 * EACH) for seed in range(20)]
    right = sum(blamed(attribute(episodes, RULES)) == (guilty,) for episodes, guilty in worlds)
    assert right >= 18


def test_two_that_never_part_are_called_inseparable_and_one_of_them_is_guilty() -> None:
    named = 0
    for seed in range(20):
        _, guilty = world(seed)
        twin = next(rule for rule in RULES if rule != guilty)
        episodes, _ = world(seed, twins=(guilty, twin))
        found = attribute(episodes, RULES)
        assert found is not None
        (pair,) = [share.rules for share in found.shares if guilty in share.rules]
        assert set(pair) == {guilty, twin}
        named += blamed(found) == pair
    assert named >= 18


def simple(before: Sequence[float], after: Sequence[float], **carried: list[int]) -> Episodes:
    n = len(before) + len(after)
    side = np.where(np.arange(n) >= len(before), 1, -1)
    columns = {rule: np.array(column, dtype=bool) for rule, column in carried.items()}
    return Episodes(np.array([*before, *after]), np.ones(n), side, ["k"] * n, columns)


def test_the_parts_add_up_to_the_change() -> None:
    for seed in range(5):
        episodes, _ = world(seed)
        found = attribute(episodes, RULES[:10])
        assert found is not None
        parts = found.mix + found.rest + found.others + sum(share.value for share in found.shares)
        assert parts == pytest.approx(found.change)
        assert found.change == pytest.approx(
            episodes.outcome[episodes.side > 0].mean() - episodes.outcome[episodes.side < 0].mean()
        )
        assert (found.n_before, found.n_after) == (EACH, EACH)
        assert all(share.low <= share.value <= share.high for share in found.shares)


def test_what_other_task_types_did_is_not_blamed_on_rules() -> None:
    n = 100
    outcome = np.array([1.0] * 90 + [0.0] * 10 + [1.0] * 10 + [0.0] * 90)
    kinds = ["easy"] * 90 + ["hard"] * 10 + ["easy"] * 10 + ["hard"] * 90
    chance = random.Random(1)
    carried = {"r": np.array([chance.random() < 0.5 for _ in range(2 * n)]) & (np.arange(2 * n) >= n)}
    found = attribute(Episodes(outcome, np.ones(2 * n), np.where(np.arange(2 * n) >= n, 1, -1), kinds, carried), ["r"])
    assert found is not None
    assert found.change == pytest.approx(-0.8)
    assert found.mix < -0.7
    assert abs(found.shares[0].value) < 0.05


def test_with_an_empty_group_or_no_variation_nothing_is_said() -> None:
    assert attribute(simple([], [1.0, 0.0], r=[1, 0]), ["r"]) is None
    assert attribute(simple([1.0, 1.0], [1.0, 1.0], r=[0, 0, 1, 1]), ["r"]) is None


def test_a_rule_that_no_prompt_carried_has_no_share() -> None:
    found = attribute(simple([1.0, 0.0], [0.0, 0.0], r=[0, 0, 0, 0], s=[0, 0, 1, 1]), ["r", "s"])
    assert found is not None
    assert [share.rules for share in found.shares] == [("s",)]
