"""Every way from state to state for every cause: allowed as written down here, or an error (design section 4)."""

from itertools import product

import pytest

from core.errors import IllegalTransitionError
from core.rules.lifecycle import Cause, State, check_transition

ALLOWED = {
    # The table of the design.
    ("candidate", "active"): "verified person",
    ("candidate", "archived"): "person policy quarantined harmful unretrieved merged pruned",
    ("active", "probation"): "harmful trimmed lost_conflict person",
    ("probation", "active"): "recovered person",
    ("probation", "archived"): "no_recovery person quarantined merged pruned",
    # Any state to the archive by a person, by a merge, or by pruning; out of it by a person,
    # or when reflection comes to the same again.
    ("active", "archived"): "person quarantined merged pruned",
    ("archived", "candidate"): "person reentered",
}
RESTORING = ("gate", "rewound", "unmerged", "undone")
"""These put a rule back to where it was, whatever that is."""

EVERYTHING = list(product(State, State, Cause))


def is_allowed(from_state: State, to_state: State, cause: Cause) -> bool:
    return cause in RESTORING or cause in ALLOWED.get((from_state, to_state), "").split()


@pytest.mark.parametrize(("from_state", "to_state", "cause"), EVERYTHING)
def test_the_whole_matrix(from_state: State, to_state: State, cause: Cause) -> None:
    if is_allowed(from_state, to_state, cause):
        check_transition(from_state, to_state, cause)
    else:
        with pytest.raises(IllegalTransitionError):
            check_transition(from_state, to_state, cause)


def test_the_matrix_covers_all_states_and_causes() -> None:
    assert len(EVERYTHING) == 4 * 4 * 17
    assert sum(is_allowed(*case) for case in EVERYTHING if case[2] not in RESTORING) == 26


def test_the_error_names_both_states_the_cause_and_what_would_do() -> None:
    with pytest.raises(IllegalTransitionError) as raised:
        check_transition("candidate", "active", Cause.TRIMMED)
    text = str(raised.value)
    assert all(word in text for word in ("candidate", "active", "trimmed", "person, verified"))
    with pytest.raises(IllegalTransitionError, match="nothing"):
        check_transition("archived", "active", Cause.PERSON)
