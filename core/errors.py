"""The two kinds of failure: what a person can put right, and a run that failed.

Only the edges (a page, the command line, the HTTP API) turn an error into text, through the translation
function; the message is therefore a template with its values kept apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Message(Protocol):
    """A text to be said in the reader's language: English with ``{name}`` places, and what goes into them."""

    @property
    def template(self) -> str:
        """The key of the translation."""

    @property
    def values(self) -> Mapping[str, object]:
        """What goes into the places; ``what`` is an English text with a translation of its own."""


@dataclass(frozen=True)
class Messages:
    """Several messages as one value of another one; as a string they are said in English."""

    items: Sequence[Message]

    def __str__(self) -> str:
        return " ".join(item.template.format(**item.values) for item in self.items)


@dataclass(frozen=True)
class Terms:
    """English words of which each has a translation of its own, as one value of a message."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.words)


class RulewrightError(Exception):
    """Root of both kinds.

    Args:
        template: English text with ``{name}`` places; it is the key of the translation.
        **values: what goes into the places.
    """

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template, values)
        self.template = template
        self.values = values

    def __str__(self) -> str:
        return self.template.format(**self.values)


class UserError(RulewrightError):
    """Bad input or usage; says what was wrong and what to do. Exit code 2."""


class ConcurrentChangeError(UserError):
    """Somebody changed the same thing since it was read (optimistic locking)."""


class ClaimedError(UserError):
    """Somebody else has the item before them at the moment."""


class NotAllowedError(UserError):
    """Whoever acts has no right to do this, or no account (any more)."""


class IllegalTransitionError(UserError):
    """A rule was asked to go from one state to another that the lifecycle does not allow."""


class RunFailedError(RulewrightError):
    """The work itself failed; nothing the caller typed would have helped. Exit code 1."""


class ModelCallError(RunFailedError):
    """A model call failed for good: retries used up, or an answer that could not be used."""


class BudgetExceededError(RunFailedError):
    """The hard limit on spend is reached; no further call is made until a person raises it."""
