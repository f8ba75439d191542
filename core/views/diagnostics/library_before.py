"""The library as a round began, told backwards from what it is now: only what happened since has to be read."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlmodel import col

from core.tables import Rule, RuleEvent
from core.views.diagnostics.window import Window


@dataclass(frozen=True)
class LibraryBefore:
    """A domain's rules as a round began.

    Attributes:
        counts: rules by state.
        moved: state of each rule that has changed since; None if it was not there yet.
    """

    counts: Mapping[str, int]
    moved: Mapping[str, str | None]

    @property
    def size(self) -> int:
        """Rules that were not archived."""
        return sum(n for state, n in self.counts.items() if state != "archived")


def library_before(window: Window, rounds: Sequence[int]) -> dict[int, LibraryBefore]:
    """Return the library as each of some rounds began."""
    now = window.session.execute(
        select(col(Rule.state), func.count()).where(col(Rule.domain) == window.domain).group_by(col(Rule.state))
    )
    states = {state: n for state, n in now}
    events = _moves_since(window, min(rounds, default=0))
    found = {}
    for number in rounds:
        counts: Counter[str | None] = Counter(states)
        moved: dict[str, str | None] = {}
        for rule_id, before, after, happened in events:
            if happened >= number:
                counts[after] -= 1
                counts[before] += 1
                moved[rule_id] = before
        found[number] = LibraryBefore({state: n for state, n in counts.items() if state is not None}, moved)
    return found


def _moves_since(window: Window, number: int) -> list[Any]:
    """Return rule, state before, state after and round of all moves since a round began, newest first."""
    place = (RuleEvent.rule_id, RuleEvent.from_state, RuleEvent.to_state, RuleEvent.round_number, RuleEvent.id)
    moves = select(*map(col, place)).where(
        col(RuleEvent.round_number) >= number,
        col(RuleEvent.from_state).is_distinct_from(col(RuleEvent.to_state)),
    )
    events = window.session.execute(moves).all()
    # Joined or sorted in SQL, the database would go through all events there ever were.
    concerned = {event[0] for event in events}
    own = window.session.execute(
        select(col(Rule.id)).where(col(Rule.id).in_(concerned), col(Rule.domain) == window.domain)
    )
    rules = set(own.scalars())
    newest_first = sorted(events, key=lambda event: -event.id)
    return [event[:4] for event in newest_first if event.rule_id in rules]


def state_before(window: Window, before: LibraryBefore, rules: Collection[str]) -> dict[str, str | None]:
    """Return the states that some rules of the domain had; None if a rule was not there yet."""
    now = window.session.execute(
        select(col(Rule.id), col(Rule.state)).where(col(Rule.id).in_(rules), col(Rule.domain) == window.domain)
    )
    return {rule_id: before.moved.get(rule_id, state) for rule_id, state in now}
