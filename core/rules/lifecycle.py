"""The states of a rule and every way between them (design section 4). The only place that knows."""

from enum import StrEnum

from core.errors import IllegalTransitionError


class State(StrEnum):
    """Where a rule stands."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    PROBATION = "probation"
    ARCHIVED = "archived"


IN_USE = (State.CANDIDATE, State.ACTIVE, State.PROBATION)
"""All but the archive."""


class Cause(StrEnum):
    """Why a rule changes its state."""

    VERIFIED = "verified"  # enough verified successes, and approved
    PERSON = "person"  # somebody with the right to do so decided it
    POLICY = "policy"  # a policy that people have set refuses rules of its kind
    QUARANTINED = "quarantined"  # a person took it out together with the harmful rule it descends from
    HARMFUL = "harmful"  # probably worse than doing without
    UNRETRIEVED = "unretrieved"  # a candidate nobody's prompt asked for
    TRIMMED = "trimmed"  # the token budget cut it from most prompts of a round
    LOST_CONFLICT = "lost_conflict"  # the other side of a conflict was kept
    RECOVERED = "recovered"  # its posterior is back at the baseline
    REENTERED = "reentered"  # reflection came to it again after the loop itself had archived it
    NO_RECOVERY = "no_recovery"  # on probation too long
    MERGED = "merged"  # became part of a more general rule
    UNMERGED = "unmerged"  # the merge was taken back
    PRUNED = "pruned"  # over capacity, or in the lowest share by utility
    GATE = "gate"  # the round that made the change did not pass its held-out test
    REWOUND = "rewound"  # a person restored the library of an earlier round
    UNDONE = "undone"  # a person took an action back


_C, _A, _P, _X = State.CANDIDATE, State.ACTIVE, State.PROBATION, State.ARCHIVED

TRANSITIONS: dict[tuple[State, State], frozenset[Cause]] = {
    (_C, _A): frozenset({Cause.VERIFIED, Cause.PERSON}),
    (_C, _X): frozenset(
        {
            Cause.PERSON,
            Cause.POLICY,
            Cause.QUARANTINED,
            Cause.HARMFUL,
            Cause.UNRETRIEVED,
            Cause.MERGED,
            Cause.PRUNED,
        }
    ),
    (_A, _P): frozenset({Cause.HARMFUL, Cause.TRIMMED, Cause.LOST_CONFLICT, Cause.PERSON}),
    (_A, _X): frozenset({Cause.PERSON, Cause.QUARANTINED, Cause.MERGED, Cause.PRUNED}),
    (_P, _A): frozenset({Cause.RECOVERED, Cause.PERSON}),
    (_P, _X): frozenset({Cause.PERSON, Cause.QUARANTINED, Cause.NO_RECOVERY, Cause.MERGED, Cause.PRUNED}),
    (_X, _C): frozenset({Cause.PERSON, Cause.REENTERED}),
}
"""What may lead from one state to another in the course of things."""

RESTORING = frozenset({Cause.GATE, Cause.REWOUND, Cause.UNMERGED, Cause.UNDONE})
"""Causes that put a rule back into a state it had before, whatever that was."""


def check_transition(from_state: str, to_state: str, cause: Cause) -> None:
    """Raise unless the cause may lead from one state to the other.

    Raises:
        IllegalTransitionError: names both states, the cause and what would be allowed.
    """
    if cause in RESTORING:
        return
    allowed = TRANSITIONS.get((State(from_state), State(to_state)), frozenset())
    if cause not in allowed:
        raise IllegalTransitionError(
            "A rule cannot go from {from_state} to {to_state} because of '{cause}'. Allowed here: {allowed}.",
            from_state=from_state,
            to_state=to_state,
            cause=cause.value,
            allowed=", ".join(sorted(allowed)) or "nothing",
        )
