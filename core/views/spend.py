"""What the model calls cost, by purpose, model, agent, round and day; out of the ledger alone (design section 8).

Limits are enforced where calls are made; this module only tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Float, cast, func, select
from sqlmodel import Session, col

from core.tables import LedgerTally
from core.tables.ledger import Outcome
from core.tables.tallies import OUTSIDE, PICO_USD

_Key = TypeVar("_Key", bound=int | str | bool)

_ENDS = (Outcome.VALID, Outcome.REASK, Outcome.REPAIRED, Outcome.UNUSABLE)
"""In the order of StructuredOutcomes."""


@dataclass(frozen=True)
class Usage:
    """Sums over attempts.

    Attributes:
        calls: attempts made.
        requests: requests behind them; a request that was tried three times is three calls.
        input_tokens: all of them, cached ones included once.
        cached_tokens: of these, served from the endpoint's cache.
        output_tokens: tokens the model wrote.
        cost_usd: of the calls whose price is known.
    """

    calls: int = 0
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)))


@dataclass(frozen=True)
class StructuredOutcomes:
    """How many requests for a structured answer ended how; each that got an answer counts once."""

    at_once: int = 0
    after_reask: int = 0
    after_repair: int = 0
    never: int = 0


@dataclass(frozen=True)
class Spend:
    """The ledger at a glance; money in USD, shares in [0, 1], None where there is nothing to divide by.

    Attributes:
        total: everything ever called.
        today_usd: since midnight UTC.
        by_purpose: act, digest, reflect, judge.
        by_model: by the model's name.
        by_agent: by whose episodes they were made for; '' for calls beside any episode.
        by_round: by round number; None for calls outside rounds.
        by_day: by UTC date, YYYY-MM-DD.
        retry_share: attempts beyond the first of their request, of all attempts.
        retry_cost_usd: what those attempts cost; part of the total, never added to it.
        cache_share: cached tokens of all input tokens.
        unknown_price_calls: attempts whose price or tokens are unknown; not in any sum of money.
        structured: outcomes of requests for structured answers.
        simulated_share: attempts that the stand-in model answered, of all attempts.
        simulated_usd: part of the total that was never paid: what the stand-in's calls would have cost.
    """

    total: Usage
    today_usd: float
    by_purpose: dict[str, Usage]
    by_model: dict[str, Usage]
    by_agent: dict[str, Usage]
    by_round: dict[int | None, Usage]
    by_day: dict[str, Usage]
    retry_share: float | None
    retry_cost_usd: float
    cache_share: float | None
    unknown_price_calls: int
    structured: StructuredOutcomes
    simulated_share: float | None
    simulated_usd: float

    @property
    def total_usd(self) -> float:
        """All money ever spent, USD."""
        return self.total.cost_usd


@dataclass(frozen=True)
class SpendLine:
    """What calls of one kind came to on one UTC day; ``simulated`` ones were never paid."""

    day: str
    purpose: str
    model: str
    agent: str
    round: int | None
    simulated: bool
    usage: Usage


def spend(session: Session, *, now: datetime) -> Spend:
    """Sum up the ledger.

    Args:
        session: for reading.
        now: timezone-aware; says which day is today.
    """
    by_purpose, by_day = _by(session, LedgerTally.purpose), _by(session, LedgerTally.day)
    by_round = _by(session, LedgerTally.round_number)
    total = sum(by_purpose.values(), Usage())
    simulated = _by(session, LedgerTally.simulated).get(True, Usage())
    retry_cost, unknown = session.execute(
        select(func.sum(_exact(LedgerTally.retry_cost)), func.sum(col(LedgerTally.unknown_price)))
    ).one()
    return Spend(
        total=total,
        today_usd=by_day.get(now.astimezone(UTC).date().isoformat(), Usage()).cost_usd,
        by_purpose=by_purpose,
        by_model=_by(session, LedgerTally.model),
        by_agent=_by(session, LedgerTally.agent),
        by_round={None if number == OUTSIDE else number: usage for number, usage in by_round.items()},
        by_day=by_day,
        retry_share=_share(total.calls - total.requests, total.calls),
        retry_cost_usd=(retry_cost or 0.0) / PICO_USD,
        cache_share=_share(total.cached_tokens, total.input_tokens),
        unknown_price_calls=unknown or 0,
        structured=_structured(_by(session, LedgerTally.outcome)),
        simulated_share=_share(simulated.calls, total.calls),
        simulated_usd=simulated.cost_usd,
    )


def spend_lines(session: Session) -> list[SpendLine]:
    """Return the ledger summed up by day, purpose, model, agent and round, in this order."""
    key = (LedgerTally.day, LedgerTally.purpose, LedgerTally.model, LedgerTally.agent, LedgerTally.round_number)
    return [
        SpendLine(day, purpose, model, agent, None if number == OUTSIDE else number, simulated, _usage(amounts))
        for day, purpose, model, agent, number, simulated, *amounts in _sums(session, *key, LedgerTally.simulated)
    ]


def _by(session: Session, key: _Key) -> dict[_Key, Usage]:
    """Sum up by one column of the tally, in its order."""
    return {row[0]: _usage(row[1:]) for row in _sums(session, key)}


def _sums(session: Session, *key: Any) -> Sequence[Any]:
    columns, counted = [*map(col, key)], (LedgerTally.calls, LedgerTally.requests)
    tokens = (LedgerTally.input_tokens, LedgerTally.cached_tokens, LedgerTally.output_tokens)
    sums = [func.sum(column) for column in (*counted, *tokens, _exact(LedgerTally.cost))]
    return session.execute(select(*columns, *sums).group_by(*columns).order_by(*columns)).all()


def _usage(amounts: Sequence[Any]) -> Usage:
    calls, requests, read, cached, written, cost = amounts
    return Usage(int(calls), int(requests), int(read), int(cached), int(written), cost / PICO_USD)


def _exact(cost: int) -> ColumnElement[float]:
    """Return a cost that can be summed without bounds; exact up to 9,000 USD, then to sixteen digits."""
    return cast(col(cost), Float)


def _structured(ends: dict[str, Usage]) -> StructuredOutcomes:
    return StructuredOutcomes(*(ends.get(end, Usage()).calls for end in _ENDS))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
