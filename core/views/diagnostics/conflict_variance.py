"""Conflict variance: the same type of task goes well in one round and badly in the next, and back again."""

from itertools import combinations

from core.i18n import mark
from core.views.diagnostics.library_before import library_before
from core.views.diagnostics.trouble import Fact, Kind, Remedy, Trouble
from core.views.diagnostics.window import Passes, Window, training_by_type

_EXPLANATION = mark(
    "Tasks of this type went well in one round and badly in another, and changed about more than once. That is more "
    "than chance: what a round changes for other types undoes what this one had."
)
_ADVICE = mark("Let no round's changes stay that make any type of task worse on held-out tasks.")
_PASSED = mark("Passed in round {round}")
_ROUNDS = 5
_EPISODES = 6
_SURE = 0.99
_MATTERS = 0.25


def detect(window: Window) -> list[Trouble]:
    """Report types whose success rose and fell, or fell and rose, each time beyond chance, up to the newest rounds.

    Rounds that began with an empty library do not count: what the first rules bring is no swing.
    """
    found = []
    library = library_before(window, window.newest(_ROUNDS))
    newest = [number for number in library if library[number].size]
    for kind, by_round in sorted(training_by_type(window, newest).items()):
        measured = [(number, by_round[number]) for number in sorted(by_round) if by_round[number].n >= _EPISODES]
        recent = set(window.newest())
        swings = any(
            _swings(first[1], second[1], third[1])
            for first, second, third in combinations(measured, 3)
            if {second[0], third[0]} <= recent
        )
        if swings:
            facts = tuple(Fact(_PASSED, one.rate, values={"round": n}, round=n) for n, one in measured)
            remedy = Remedy(_ADVICE, changes={"gate.no_type_worse": True})
            found.append(Trouble(Kind.CONFLICT_VARIANCE, _EXPLANATION, facts, remedy, kind))
    return found


def _swings(first: Passes, second: Passes, third: Passes) -> bool:
    return (_fell(first, second) and _fell(third, second)) or (_fell(second, first) and _fell(second, third))


def _fell(high: Passes, low: Passes) -> bool:
    by = high.passed / high.n - low.passed / low.n
    return by >= _MATTERS and low.is_below(high) >= _SURE
