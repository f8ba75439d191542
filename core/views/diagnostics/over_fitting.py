"""Over-fitting: what is learned helps the tasks it was learned from, and no longer those held out."""

from sqlalchemy import func, select
from sqlmodel import col

from core.i18n import mark
from core.statistics import mcnemar_exact
from core.tables import Episode, TypeTally
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import NONE, Passes, RoundFacts, Window, training_by_type

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
    tested = _tested(window)
    measured = [one for one in window.rounds if tested[one.number].n]
    if len(measured) < 2:
        return []
    newest = measured[-1]
    best = max(measured[:-1], key=lambda one: (tested[one.number].passed / tested[one.number].n, one.number))
    peak, last = best.number, newest.number
    before, now = (_outcomes(window, one) for one in (best, newest))
    shared = before.keys() & now.keys()
    regressed = sum(before[task] and not now[task] for task in shared)
    repaired = sum(now[task] and not before[task] for task in shared)
    if regressed <= repaired or mcnemar_exact(repaired, regressed) >= _P:
        return []
    training = {number: _training(window, number) for number in (peak, last)}
    risen = (
        training[last].n > 0 and training[last].passed * training[peak].n >= training[peak].passed * training[last].n
    )
    if not risen or tested[last].is_below(training[last]) < _SURE:
        return []
    facts = [Fact(_HELD_OUT, tested[n].rate, values={"round": n}, round=n) for n in (peak, last)]
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


def _tested(window: Window) -> dict[int, Passes]:
    """Return what the held-out episodes of each round came to, with the library that it left standing."""
    place = (col(TypeTally.round_number), col(TypeTally.arm))
    rows = window.session.execute(
        select(*place, func.sum(col(TypeTally.passed)), func.sum(col(TypeTally.episodes)))
        .where(
            col(TypeTally.environment) == window.domain,
            place[0].in_([one.number for one in window.rounds]),
            place[1].in_({one.arm for one in window.rounds}),
            col(TypeTally.status) == "done",
        )
        .group_by(*place)
    )
    passes = {(number, arm): Passes(int(passed), int(n)) for number, arm, passed, n in rows}
    return {one.number: passes.get((one.number, one.arm), NONE) for one in window.rounds}


def _outcomes(window: Window, one: RoundFacts) -> dict[str, bool]:
    rows = window.session.execute(
        select(col(Episode.task_id), col(Episode.grade)).where(
            col(Episode.round_number) == one.number, col(Episode.arm) == one.arm, col(Episode.status) == "done"
        )
    )
    return {task: grade == "pass" for task, grade in rows}


def _training(window: Window, number: int) -> Passes:
    return sum((by_round[number] for by_round in training_by_type(window, [number]).values()), NONE)
