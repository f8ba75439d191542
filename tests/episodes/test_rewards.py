"""The truth table of the combined reward (design section 9)."""

from itertools import product

import pytest

from core.episodes.rewards import Signal, Signals, combined, needs_judge

H, U, N = Signal.HIGH, Signal.UNCLEAR, Signal.NEGATIVE


@pytest.mark.parametrize(
    ("signals", "reward"),
    [
        ((H, H, H), 1.0),
        ((U, H, H), 0.2),
        ((H, U, H), 0.2),
        ((H, H, U), 0.2),
        ((U, U, U), 0.2),
        ((N, H, H), -1.0),
        ((H, N, H), -1.0),
        ((H, H, N), -1.0),
        ((U, N, H), -1.0),
        ((N, N, N), -1.0),
    ],
)
def test_all_high_is_a_success_and_any_negative_a_failure(signals: tuple[Signal, ...], reward: float) -> None:
    assert combined(Signals(*signals)) == reward


def test_a_person_who_takes_over_makes_a_failure_of_anything() -> None:
    assert {combined(Signals(*said, taken_over=True)) for said in product((H, U, N), repeat=3)} == {-1.0}


@pytest.mark.parametrize(
    ("rules", "tools", "displeasure", "asked"),
    [(H, H, (), False), (U, U, (), False), (N, H, (), True), (H, N, (), True), (H, H, ("useless",), True)],
)
def test_the_judge_is_asked_on_its_triggers_only(
    rules: Signal, tools: Signal, displeasure: tuple[str, ...], asked: bool
) -> None:
    assert needs_judge(rules, tools, displeasure) is asked
