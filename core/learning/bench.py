"""What a round works with, assembled once at the edge and passed down."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from core.clock import Clock
from core.db import Database
from core.embeddings import Embedder
from core.environments.protocol import EnvironmentFactory
from core.episodes.memory.index import MemoryIndex
from core.llm.client import ModelClient
from core.rules.lifecycle import IN_USE, State
from core.rules.neighbours import ComparedRules
from core.settings import Settings


@dataclass(frozen=True)
class ProgressEvent:
    """How far a phase of a round is; ``total`` 0 means unknown."""

    round_number: int
    phase: str
    done: int
    total: int


class InterruptedRound(Exception):
    """The loop is to pause or stop; the round resumes later from what is in the database."""


@dataclass(frozen=True)
class Bench:
    """Everything a round needs.

    Attributes:
        make_environment: None where episodes cannot be rolled out.
        testable: held-out tasks can be rolled out, and there are enough of them for a verdict.
    """

    settings: Settings
    database: Database
    client: ModelClient
    embedder: Embedder
    clock: Clock
    domain: str
    make_environment: EnvironmentFactory | None
    owner: str
    testable: bool = True
    progress: Callable[[ProgressEvent], None] = field(default=lambda _event: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)

    @cached_property
    def memories(self) -> MemoryIndex:
        """The memories that are retrieved; to be followed up before each phase that uses them."""
        return MemoryIndex(self.database, self.embedder, self.domain, self.settings.memory)

    @cached_property
    def library(self) -> ComparedRules:
        """The rules in use, to hold a new one against."""
        return ComparedRules(self.database, self.embedder, self.domain, IN_USE)

    @cached_property
    def archive(self) -> ComparedRules:
        """The archived rules, to hold a new one against."""
        return ComparedRules(self.database, self.embedder, self.domain, (State.ARCHIVED,))

    def report(self, round_number: int, phase: str, done: int, total: int) -> None:
        """Tell how far a phase is, and leave it if a person wants so.

        Raises:
            InterruptedRound: the loop is to pause or stop.
        """
        self.progress(ProgressEvent(round_number, phase, done, total))
        if self.should_stop():
            raise InterruptedRound
