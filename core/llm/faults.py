"""What can go wrong with one attempt, and whether another one may help (design section 2)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

import openai
from tenacity import RetryCallState, wait_exponential_jitter

from core.clock import Clock
from core.llm.prices import TokenUsage
from core.settings import ModelSettings
from core.tables.ledger import Outcome
from core.text import clip

_LONGEST_RETRY_AFTER_S = 60.0
_RETRIED = frozenset(
    {Outcome.EMPTY, Outcome.RATE_LIMITED, Outcome.TIMEOUT, Outcome.CONNECTION_ERROR, Outcome.SERVER_ERROR}
)


@dataclass(eq=False)
class Fault(Exception):
    """One attempt failed.

    Attributes:
        outcome: what goes into the ledger.
        problem: for people, in the endpoint's words.
        usage: what the response reported all the same.
        retry_after: the header as it came.
        parameter: the request's parameter that the endpoint says it does not take.
    """

    outcome: Outcome
    problem: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    retry_after: str | None = None
    parameter: str | None = None


def fault_of(error: openai.APIError) -> Fault:
    """Tell what an error of the openai client means."""
    if isinstance(error, openai.APITimeoutError):
        return Fault(Outcome.TIMEOUT, "no response in time")
    if isinstance(error, openai.APIStatusError):
        outcome = _outcome_of(error.status_code)
        if outcome is Outcome.UNAUTHORIZED:  # some endpoints quote the key in their message
            problem = f"status {error.status_code}; check OPENAI_API_KEY and what the key may use"
        else:
            problem = f"status {error.status_code}: {clip(error.message, 300)}"
        parameter = error.param if outcome is Outcome.BAD_REQUEST else None
        return Fault(outcome, problem, retry_after=error.response.headers.get("retry-after"), parameter=parameter)
    if isinstance(error, openai.APIConnectionError):
        return Fault(Outcome.CONNECTION_ERROR, clip(f"{error.message} {error.__cause__ or ''}", 300))
    return Fault(Outcome.SERVER_ERROR, f"an error in the stream: {clip(error.message, 300)}")


def is_worth_another_attempt(error: BaseException) -> bool:
    """Tell whether the same request may succeed later."""
    return isinstance(error, Fault) and error.outcome in _RETRIED


def waiting(settings: ModelSettings, clock: Clock) -> Callable[[RetryCallState], float]:
    """Return how long to wait between attempts, seconds.

    Retry-After counts, in seconds or as a date, up to a minute (or ``backoff_max_s`` if that is longer);
    without it the wait doubles from ``backoff_initial_s`` to ``backoff_max_s``, with jitter.
    """
    initial = settings.backoff_initial_s
    backoff = wait_exponential_jitter(multiplier=initial, max=settings.backoff_max_s, jitter=initial)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = _seconds(error.retry_after, clock) if isinstance(error, Fault) else None
        if asked is None:
            return backoff(state)
        return min(asked, max(_LONGEST_RETRY_AFTER_S, settings.backoff_max_s))

    return wait


def _outcome_of(status: int) -> Outcome:
    if status == 429:
        return Outcome.RATE_LIMITED
    if status == 408:
        return Outcome.TIMEOUT
    if status >= 500 or status == 409:
        return Outcome.SERVER_ERROR
    return Outcome.UNAUTHORIZED if status in (401, 403) else Outcome.BAD_REQUEST


def _seconds(retry_after: str | None, clock: Clock) -> float | None:
    """Read a Retry-After header; None if there is none or it makes no sense."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            moment = parsedate_to_datetime(retry_after)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - clock()).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
