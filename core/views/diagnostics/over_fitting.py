"""Over-fitting: what is learned helps the tasks it was learned from, and no longer those held out."""

from sqlalchemy import select
from sqlmodel import col

from core.i18n import mark
from core.statistics import mcnemar_exact
from core.tables import Episode
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import NONE, Passes, Window, training_by_type

_EXPLANATION = mark(
    "Since round {peak} the success on held-out tasks has fallen ({regressed} tasks lost, {repaired} won), while that "
    "on training tasks has not. The rules fit the tasks they were learned from and do not carry over."
)
_ADVICE = mark(
    "Learn from a wider choice of tasks, and let only what clearly helps pass the gate. In Library the rules that "
    "came in since round {peak} can be looked at and archived."
)
_HELD_OUT = mark("Held-out success, round {round}")
_TRAINING = mark("Training success, round {round}")
_P = 0.01
_SURE = 0.975


def detect(window: Window) -> list[Trouble]:
    """Compare the newest round with the best one before it, on the same held-out tasks."""
    held_out = {one.number: _outcomes(window, one.number, one.arm) for one in window.rounds}
    measured = [number for number, outcomes in held_out.items() if outcomes]
    if len(measured) < 2:
        return []
    last = measured[-1]
    peak = max(measured[:-1], key=lambda number: (sum(held_out[number].values()) / len(held_out[number]), number))
    before, now = held_out[peak], held_out[last]
    shared = before.keys() & now.keys()
    regressed = sum(before[task] and not now[task] for task in shared)
    repaired = sum(now[task] and not before[task] for task in shared)
    if regressed <= repaired or mcnemar_exact(repaired, regressed) >= _P:
        return []
    training = {number: _training(window, number) for number in (peak, last)}
    tested = _passes(now)
    risen = (
        training[last].n > 0 and training[last].passed * training[peak].n >= training[peak].passed * training[last].n
    )
    if not risen or tested.is_below(training[last]) < _SURE:
        return []
    facts = [Fact(_HELD_OUT, _passes(held_out[n]).rate, values={"round": n}, round=n) for n in (peak, last)]
    facts += [Fact(_TRAINING, training[n].rate, values={"round": n}, round=n) for n in (peak, last)]
    return [
        Trouble(
            Kind.OVER_FITTING,
            _EXPLANATION,
            tuple(facts),
            Remedy(
                _ADVICE,
                {"peak": peak},
                {"gate.mode": "strict", "round.share_current": 0.5, "round.share_history": 0.3},
                "library",
            ),
            values={"peak": peak, "regressed": regressed, "repaired": repaired},
        )
    ]


def _outcomes(window: Window, number: int, arm: str) -> dict[str, bool]:
    rows = window.session.execute(
        select(col(Episode.task_id), col(Episode.grade)).where(
            col(Episode.round_number) == number, col(Episode.arm) == arm, col(Episode.status) == "done"
        )
    )
    return {task: grade == "pass" for task, grade in rows}


def _passes(outcomes: dict[str, bool]) -> Passes:
    return Passes(sum(outcomes.values()), len(outcomes))


def _training(window: Window, number: int) -> Passes:
    return sum((by_round[number] for by_round in training_by_type(window, [number]).values()), NONE)
