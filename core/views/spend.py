"""What the model calls cost, by purpose, model, round and day; out of the ledger alone (design section 8).

Limits are enforced where calls are made; this module only tells.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, case, func, select
from sqlmodel import Session, col

from core.tables.ledger import LedgerEntry, Outcome

_Key = TypeVar("_Key", bound=int | str | None)


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
class _Cell:
    purpose: str
    model: str
    round: int | None
    day: str
    usage: Usage
    retries: int
    retry_cost_usd: float
    unknown: int
    simulated: int
    simulated_usd: float


def spend(session: Session, *, now: datetime) -> Spend:
    """Sum up the ledger.

    Args:
        session: for reading.
        now: timezone-aware; says which day is today.
    """
    cells = _cells(session)
    total = sum((cell.usage for cell in cells), Usage())
    today = now.astimezone(UTC).date().isoformat()
    return Spend(
        total=total,
        today_usd=sum(cell.usage.cost_usd for cell in cells if cell.day == today),
        by_purpose=_by(cells, lambda cell: cell.purpose),
        by_model=_by(cells, lambda cell: cell.model),
        by_round=_by(cells, lambda cell: cell.round),
        by_day=_by(cells, lambda cell: cell.day),
        retry_share=_share(sum(cell.retries for cell in cells), total.calls),
        retry_cost_usd=sum(cell.retry_cost_usd for cell in cells),
        cache_share=_share(total.cached_tokens, total.input_tokens),
        unknown_price_calls=sum(cell.unknown for cell in cells),
        structured=_structured(session),
        simulated_share=_share(sum(cell.simulated for cell in cells), total.calls),
        simulated_usd=sum(cell.simulated_usd for cell in cells),
    )


def _cells(session: Session) -> list[_Cell]:
    cost = func.coalesce(col(LedgerEntry.cost_usd), 0.0)
    simulated = col(LedgerEntry.simulated).is_(True)
    first, retried = col(LedgerEntry.attempt) == 1, col(LedgerEntry.attempt) > 1
    place = (col(LedgerEntry.purpose), col(LedgerEntry.model), col(LedgerEntry.round_number), _day(session))
    sums = (
        func.count(),
        _count_if(first),
        func.sum(col(LedgerEntry.input_tokens)),
        func.sum(col(LedgerEntry.cached_tokens)),
        func.sum(col(LedgerEntry.output_tokens)),
        func.sum(cost),
        _count_if(retried),
        func.sum(case((retried, cost), else_=0.0)),
        _count_if(col(LedgerEntry.cost_usd).is_(None)),
        _count_if(simulated),
        func.sum(case((simulated, cost), else_=0.0)),
    )
    rows = session.execute(select(*place, *sums).group_by(*place))
    return [
        _Cell(purpose, model, number, str(day), Usage(*amounts[:6]), *amounts[6:])
        for purpose, model, number, day, *amounts in rows
    ]


def _structured(session: Session) -> StructuredOutcomes:
    outcome = col(LedgerEntry.outcome)
    counted = session.execute(select(outcome, func.count()).group_by(outcome))
    ends = {name: n for name, n in counted}
    return StructuredOutcomes(
        at_once=ends.get(Outcome.VALID, 0),
        after_reask=ends.get(Outcome.REASK, 0),
        after_repair=ends.get(Outcome.REPAIRED, 0),
        never=ends.get(Outcome.UNUSABLE, 0),
    )


def _day(session: Session) -> ColumnElement[str]:
    moment = col(LedgerEntry.created_at)
    # SQLite keeps UTC without a zone; PostgreSQL would otherwise cut days in the server's own zone.
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    return func.date(moment if on_sqlite else func.timezone("UTC", moment))


def _count_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _by(cells: Iterable[_Cell], key: Callable[[_Cell], _Key]) -> dict[_Key, Usage]:
    sums: defaultdict[_Key, Usage] = defaultdict(Usage)
    for cell in cells:
        sums[key(cell)] += cell.usage
    return dict(sorted(sums.items(), key=lambda item: (item[0] is not None, item[0])))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
