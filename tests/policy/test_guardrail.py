"""The guardrail restores after exactly so many worse evaluations in a row, and not before."""

from hypothesis import given
from hypothesis import strategies as st

from core.policy.guardrail import Evaluation, Guardrail

GOOD, WORSE = Evaluation(0.8, 5.0), Evaluation(0.7, 5.0)


def verdicts(*evaluations: Evaluation, patience: int = 3) -> list[str]:
    rail, said = Guardrail(), []
    for one in evaluations:
        verdict, rail = rail.judge(one, patience)
        said.append(verdict)
    return said


def test_the_third_worse_one_in_a_row_restores() -> None:
    assert verdicts(GOOD, WORSE, WORSE, WORSE) == ["better", "worse", "worse", "restore"]


def test_a_good_one_between_starts_the_count_anew() -> None:
    assert verdicts(GOOD, WORSE, WORSE, GOOD, WORSE, WORSE, WORSE) == [
        "better", "worse", "worse", "same", "worse", "worse", "restore",
    ]  # fmt: skip


def test_more_turns_at_the_same_success_are_worse_and_fewer_are_better() -> None:
    assert verdicts(GOOD, Evaluation(0.8, 6.0), Evaluation(0.8, 4.0)) == ["better", "worse", "better"]


def test_a_slow_decline_is_measured_against_the_best_not_against_the_last() -> None:
    falling = [Evaluation(0.8 - 0.01 * step, 5.0) for step in range(4)]
    assert verdicts(*falling) == ["better", "worse", "worse", "restore"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1, 10)), max_size=30), st.integers(1, 5))
def test_it_never_restores_without_so_many_worse_ones_in_a_row(rows: list[tuple[float, float]], patience: int) -> None:
    said = verdicts(*(Evaluation(success, turns) for success, turns in rows), patience=patience)
    for place, verdict in enumerate(said):
        if verdict == "restore":
            assert said[place - patience + 1 : place] == ["worse"] * (patience - 1)
