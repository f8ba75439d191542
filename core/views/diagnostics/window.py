"""The newest rounds of a domain, as detectors read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.settings import Settings
from core.statistics import Interval, beta_probability_less, wilson
from core.tables import Round, TypeTally

LOOK_BACK = 3
"""Rounds that a trouble has to show in, at most: it is to be seen within three, and gone three after its remedy."""

READ = 8
"""Rounds that are looked at, at most."""


@dataclass(frozen=True)
class RoundFacts:
    """A finished round: its number, the settings it ran with, and the arm that ran the library left standing."""

    number: int
    settings: Mapping[str, Any]
    arm: str


@dataclass(frozen=True)
class Window:
    """What a detector looks at.

    Attributes:
        session: for reading.
        domain: whose episodes and rules.
        settings: in force now.
        rounds: the newest finished ones, oldest first.
    """

    session: Session
    domain: str
    settings: Settings
    rounds: tuple[RoundFacts, ...]

    def newest(self, count: int = LOOK_BACK) -> list[int]:
        """Return the numbers of the newest rounds, oldest first; fewer if there are no more."""
        return [one.number for one in self.rounds[-count:]]


@dataclass(frozen=True)
class Passes:
    """Episodes that passed, out of ``n``."""

    passed: int
    n: int

    def __add__(self, other: "Passes") -> "Passes":
        return Passes(self.passed + other.passed, self.n + other.n)

    @property
    def rate(self) -> Interval:
        """The share with its 95 % interval."""
        return wilson(self.passed, self.n)

    def is_below(self, other: "Passes") -> float:
        """Return the probability that the rate behind this is below that behind the other."""
        return beta_probability_less(self.passed, self.n - self.passed, other.passed, other.n - other.passed)


NONE = Passes(0, 0)


def look(session: Session, settings: Settings, domain: str) -> Window:
    """Return the newest finished rounds of a domain."""
    rows = session.execute(
        select(col(Round.number), col(Round.settings), col(Round.gain))
        .where(col(Round.environment) == domain, col(Round.phase) == "finished")
        .order_by(col(Round.number).desc())
        .limit(READ)
    ).all()
    rounds = tuple(RoundFacts(number, held, gain.get("arm", "after")) for number, held, gain in reversed(rows))
    return Window(session, domain, settings, rounds)


def training_by_type(window: Window, rounds: Sequence[int]) -> dict[str, dict[int, Passes]]:
    """Return what training episodes with the library came to: task type -> round -> passes."""
    place = (col(TypeTally.task_type), col(TypeTally.round_number))
    query = select(*place, func.sum(col(TypeTally.passed)), func.sum(col(TypeTally.episodes))).where(
        col(TypeTally.round_number).in_(rounds),
        col(TypeTally.arm) == "learn",
        col(TypeTally.environment) == window.domain,
        col(TypeTally.library_left_out).is_(False),
        col(TypeTally.status) == "done",
    )
    found: dict[str, dict[int, Passes]] = {}
    for kind, number, won, n in window.session.execute(query.group_by(*place)):
        found.setdefault(kind, {})[number] = Passes(int(won), int(n))
    return found
