"""What held-out results say about a round's changes, and whether these stay (design section 8)."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.learning.verdict import Comparison, Outcome, Verdict, commits, compare, judge
from core.settings import GateSettings
from core.statistics import mcnemar_exact

SETTINGS = GateSettings()
PASS = 0.8


def outcomes(rewards: Sequence[float], *, kinds: int = 1, start: int = 0) -> list[Outcome]:
    return [
        Outcome(f"t{start + place:03}", f"k{place % kinds}", reward, reward >= PASS)
        for place, reward in enumerate(rewards)
    ]


def compared(before: Sequence[float], after: Sequence[float], *, kinds: int = 1) -> Comparison:
    return compare(outcomes(before, kinds=kinds), outcomes(after, kinds=kinds), seed=1, samples=2000)


HALF = [0.0, 1.0] * 10
BETTER = [1.0] * 16 + [0.0, 1.0] * 2
A_LITTLE = [1.0, *HALF[1:]]
CASES = [
    (Verdict.IMPROVED, HALF, BETTER, True, True),
    (Verdict.PROBABLY_BETTER, HALF, A_LITTLE, True, False),
    (Verdict.NOT_BETTER, HALF, HALF, False, False),
    (Verdict.NOT_BETTER, A_LITTLE, HALF, False, False),
    (Verdict.WORSE, BETTER, HALF, False, False),
    (Verdict.TOO_FEW, [0.0] * 9, [1.0] * 9, True, True),
    (Verdict.TOO_FEW, [], [], True, True),
    (Verdict.TOO_FEW, [1.0] * 9, [1.0] * 9, True, True),
    (Verdict.NOT_BETTER, [1.0] * 10, [1.0] * 10, True, True),  # perfect before: not worse is enough
    (Verdict.NOT_BETTER, [1.0] * 10, [1.0] * 9 + [0.0], False, False),
    (Verdict.NOT_BETTER, [0.99] * 9 + [0.79], [0.99] * 9 + [0.79], False, False),  # not quite perfect
]


@pytest.mark.parametrize(("verdict", "before", "after", "commit", "strict"), CASES)
def test_verdict_and_consequence(
    verdict: Verdict, before: list[float], after: list[float], commit: bool, strict: bool
) -> None:
    comparison = compared(before, after)
    assert judge(comparison, SETTINGS) is verdict
    assert commits(verdict, comparison, SETTINGS) is commit
    assert commits(verdict, comparison, GateSettings(mode="strict")) is strict


@pytest.mark.parametrize("pair", [(0.1, 0.3), (0.7, 0.2), (-0.6, 0.55)])
def test_gains_and_losses_that_cancel_out_are_no_gain(pair: tuple[float, float]) -> None:
    """Added up in floating point they leave something like 1.8e-18, which is not a reason to go live."""
    first, second = pair
    before, after = [first, second] * 7 + [0.9, 0.1, 0.2], [second, first] * 7 + [0.2, 0.9, 0.1]
    comparison = compared(before, after, kinds=1)
    assert (comparison.value, comparison.by_type) == (0.0, {"k0": 0.0})
    assert judge(comparison, SETTINGS) is Verdict.NOT_BETTER


def test_a_round_that_changed_nothing_stays() -> None:
    assert commits(Verdict.NO_CHANGE, compared(HALF, HALF), GateSettings(mode="strict", no_type_worse=True))


@pytest.mark.parametrize(
    ("before", "after", "commit"),
    [
        # Even places are type k0, odd ones k1.
        ([0.0, 1.0] * 10, [1.0, 1.0] * 10, True),
        ([0.0, 1.0] * 10, [1.0, 1.0] * 9 + [1.0, 0.0], False),
    ],
)
def test_no_type_worse_refuses_what_any_type_pays_for(before: list[float], after: list[float], commit: bool) -> None:
    comparison = compared(before, after, kinds=2)
    verdict = judge(comparison, SETTINGS)
    assert verdict is Verdict.IMPROVED
    assert commits(verdict, comparison, SETTINGS)
    assert commits(verdict, comparison, GateSettings(no_type_worse=True)) is commit


def test_the_figures_of_a_comparison() -> None:
    before = [0.0, 0.0, 1.0, 0.8, 0.5, 0.0]
    after = [1.0, 0.8, 1.0, 0.79, 0.5, 0.6]
    found = compared(before, after, kinds=2)
    assert found.value == pytest.approx((1.0 + 0.8 + 0.0 - 0.01 + 0.0 + 0.6) / 6)
    assert (found.n, found.repaired, found.regressed) == (6, 2, 1)
    assert found.mcnemar_p == 1.0  # 2 against 1: 2 * (1 + 3) / 8
    assert (found.success_before, found.success_after) == (pytest.approx(2 / 6), pytest.approx(3 / 6))
    assert found.by_type == pytest.approx({"k0": 1.0 / 3, "k1": (0.8 - 0.01 + 0.6) / 3})
    assert found.value is not None and found.low is not None and found.high is not None
    assert found.low <= found.value <= found.high


def test_repaired_and_regressed_go_into_an_exact_test() -> None:
    found = compared([0.0] * 10 + [1.0] * 10, [1.0] * 10 + [0.0] * 2 + [1.0] * 8)
    assert (found.repaired, found.regressed) == (10, 2)
    assert found.mcnemar_p == pytest.approx(2 * (1 + 12 + 66) / 4096) == mcnemar_exact(10, 2)


def test_tasks_that_only_one_arm_finished_do_not_count() -> None:
    found = compare(outcomes([0.0, 0.0]), outcomes([1.0, 1.0], start=1), seed=1, samples=100)
    assert (found.n, found.value, found.repaired) == (1, 1.0, 1)


def test_the_order_of_the_outcomes_does_not_matter() -> None:
    before, after = outcomes(HALF), outcomes(BETTER)
    assert compare(before[::-1], after, seed=1, samples=500) == compare(before, after[::-1], seed=1, samples=500)


def test_a_comparison_can_be_stored() -> None:
    stored: dict[str, Any] = compared(HALF, BETTER).as_json()
    assert {"value", "low", "high", "n", "repaired", "regressed", "mcnemar_p", "by_type"} <= set(stored)
