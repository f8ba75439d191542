"""The two kinds of failure: what a person can put right, and a run that failed.

Only the edges (a page, the command line, the HTTP API) turn an error into text, through the translation
function; the message is therefore a template with its values kept apart.
"""


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


class IllegalTransitionError(UserError):
    """A rule was asked to go from one state to another that the lifecycle does not allow."""


class RunFailedError(RulewrightError):
    """The work itself failed; nothing the caller typed would have helped. Exit code 1."""


class ModelCallError(RunFailedError):
    """A model call failed for good: retries used up, or an answer that could not be used."""


class BudgetExceededError(RunFailedError):
    """The hard limit on spend is reached; no further call is made until a person raises it."""
