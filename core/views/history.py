"""The library over time: what each round changed, rules by state, and how long things have waited."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from core.rules.pins import PINNED, UNPINNED
from core.tables import EventTally
from core.tables.tallies import OUTSIDE
from core.views.conflicts import ConflictRow, conflict_queue
from core.views.review_queue import QueueItem, queue

_UNSEEN = ("voted", "approved", PINNED, UNPINNED)


@dataclass(frozen=True)
class RoundChanges:
    """What became of the library in one round.

    Attributes:
        round: its number; 0 for what was there before the first.
        created: rules that came in.
        edited: rules whose text changed.
        live: rules that went live.
        left: rules that were archived.
        states: rules in each state when it was over.
    """

    round: int
    created: int
    edited: int
    live: int
    left: int
    states: Mapping[str, int]


@dataclass(frozen=True)
class Waiting:
    """One queue: how many items, and how long the oldest has waited; None if it is empty."""

    queue: str
    n: int
    oldest: timedelta | None


def library_history(session: Session) -> list[RoundChanges]:
    """Return every round in which something happened to the library, oldest first; from events alone."""
    tally = (EventTally.round_number, EventTally.kind, EventTally.from_state, EventTally.to_state, EventTally.events)
    happened: defaultdict[int, Counter[str]] = defaultdict(Counter)
    moved: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for number, kind, before, after, n in session.execute(select(*map(col, tally))):
        place = 0 if number == OUTSIDE else number
        happened[place].update(dict.fromkeys(_named(kind, before, after), n))
        moved[place].update({after: n})
        moved[place].subtract({before: n} if before else {})
    states: Counter[str] = Counter()
    found = []
    for number, seen in sorted(happened.items()):
        states.update(moved[number])
        changed = (seen["created"], seen["edited"], seen["live"], seen["left"])
        found.append(RoundChanges(number, *changed, dict(states)))
    return found


def waiting(session: Session, *, now: datetime) -> list[Waiting]:
    """Return the queues of people as their pages show them: what waits in Review, and in Conflicts."""
    review, conflicts = queue(session, limit=1), conflict_queue(session, limit=1)
    return [
        Waiting("review", review.total, _oldest(review.items, now)),
        Waiting("conflicts", conflicts.total, _oldest(conflicts.items, now)),
    ]


def _oldest(items: Sequence[QueueItem | ConflictRow], now: datetime) -> timedelta | None:
    return now - items[0].created_at if items else None


def _named(kind: str, before: str, after: str) -> list[str]:
    if kind in _UNSEEN:
        return []
    if not before or kind == "created":
        return ["created"]
    if before == after:
        return ["edited"]
    return ["live"] if after == "active" else ["left"] if after == "archived" else []
