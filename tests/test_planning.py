"""The reference table of design section 8, to the decimal it is printed with."""

import pytest
from pydantic import ValidationError

from core.planning import PlanLine, Workload, plan, with_gate
from core.settings import GateSettings


def lines(workload: Workload) -> dict[str, PlanLine]:
    return {line.name: line for line in plan(workload).lines}


@pytest.mark.parametrize(
    ("name", "calls", "input_millions", "output_millions", "cost"),
    [
        ("rollouts", 3 * 7200, 3 * 25.2, 3 * 2.52, 58.2),
        ("reflection", 3 * 60, 3 * 0.72, 3 * 0.09, 1.8),
        ("verification", 3600, 9.0, 0.72, 6.5),
        ("retrieval", 21600, 6.48, 0.0, 3.6),
    ],
)
def test_each_line_of_the_reference_table(
    name: str, calls: int, input_millions: float, output_millions: float, cost: float
) -> None:
    line = lines(Workload())[name]

    assert line.calls == pytest.approx(calls)
    assert line.input_tokens / 1e6 == pytest.approx(input_millions)
    assert line.output_tokens / 1e6 == pytest.approx(output_millions)
    assert round(line.cost_usd, 1) == cost


def test_sum_retries_and_total_of_the_reference_table() -> None:
    reference = plan(Workload())

    assert round(reference.sum_usd, 1) == 70.1
    assert round(reference.retries_usd, 1) == 28.0
    assert round(reference.total_usd, 1) == 98.1
    # The printed lines add up to the printed sum, and that and the printed retries to the printed total.
    assert sum(round(line.cost_usd, 1) for line in reference.lines) == pytest.approx(70.1)
    assert round(70.1 * 0.4, 1) == 28.0


def test_weight_training_costs_gpus_times_hours_times_price() -> None:
    assert plan(Workload()).gpu_usd == pytest.approx(3360)


def test_three_rollouts_treble_the_rollout_line_alone() -> None:
    reference, honest = lines(Workload()), lines(with_gate(Workload(), GateSettings()))

    assert honest["rollouts"].cost_usd == pytest.approx(174.636)
    for name in ("reflection", "verification", "retrieval"):
        assert honest[name] == reference[name]


def test_the_gate_is_priced_by_held_out_tasks_arms_and_turns() -> None:
    gate = lines(with_gate(Workload(), GateSettings(tasks=60)))["gate"]

    # 60 tasks x 5 arms x 6 calls x 3 iterations, at 3,500 tokens in and 350 out.
    assert gate.calls == 5400
    assert gate.cost_usd == pytest.approx(5400 * (3500 * 0.55 + 350 * 2.20) / 1e6)


def test_the_reference_table_has_no_gate() -> None:
    assert "gate" not in lines(Workload())


@pytest.mark.parametrize(
    ("change", "total"),
    [
        ({"iterations": 6}, 196.2576),
        ({"retry_share": 0}, 70.092),
        ({"input_price": 0, "output_price": 0}, 0),
    ],
)
def test_a_changed_figure_moves_the_total(change: dict[str, float], total: float) -> None:
    assert plan(Workload.model_validate(change)).total_usd == pytest.approx(total)


@pytest.mark.parametrize("change", [{"tasks": -1}, {"tasks_per_reflection": 0}, {"unheard_of": 1}])
def test_an_impossible_workload_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Workload.model_validate(change)
