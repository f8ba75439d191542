"""The library over time: what each round changed, rules by state, and how long things have waited."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.tables import Conflict, Proposal, Rule, RuleEvent

_UNSEEN = ("voted", "approved")


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
    rows = session.execute(
        select(
            func.coalesce(col(RuleEvent.round_number), 0), col(RuleEvent.kind), col(RuleEvent.from_state),
            col(RuleEvent.to_state), col(RuleEvent.rule_id),
        ).order_by(func.coalesce(col(RuleEvent.round_number), 0), col(RuleEvent.id))
    )  # fmt: skip
    happened: defaultdict[int, Counter[str]] = defaultdict(Counter)
    states: dict[str, str] = {}
    counts: Counter[str] = Counter()
    after: dict[int, Mapping[str, int]] = {}
    for number, kind, before, to_state, rule_id in rows:
        counts.subtract([states[rule_id]] if rule_id in states else [])
        states[rule_id] = to_state
        counts[to_state] += 1
        happened[number].update(_named(kind, before, to_state))
        after[number] = dict(counts)
    return [
        RoundChanges(number, seen["created"], seen["edited"], seen["live"], seen["left"], after[number])
        for number, seen in sorted(happened.items())
    ]


def waiting(session: Session, *, now: datetime) -> list[Waiting]:
    """Return the queues of people: candidates not approved yet, proposals, conflicts."""
    queues = {
        "rules": (col(Rule.created_at), (col(Rule.state) == "candidate", col(Rule.approved_by).is_(None))),
        "proposals": (col(Proposal.created_at), (col(Proposal.status) == "open",)),
        "conflicts": (col(Conflict.created_at), (col(Conflict.status) == "open",)),
    }
    found = []
    for name, (moment, conditions) in queues.items():
        n, oldest = session.execute(select(func.count(), func.min(moment)).where(*conditions)).one()
        found.append(Waiting(name, int(n), None if oldest is None else now - oldest))
    return found


def _named(kind: str, before: str | None, after: str) -> list[str]:
    if kind in _UNSEEN:
        return []
    if before is None or kind == "created":
        return ["created"]
    if before == after:
        return ["edited"]
    return ["live"] if after == "active" else ["left"] if after == "archived" else []
