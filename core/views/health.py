"""The four health metrics and the gain over the empty library, each with n and a 95 % interval (section 8).

Reads tallies only: it takes no longer with more episodes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, case, func, select
from sqlmodel import Session, col

from core.ids import derive_seed
from core.statistics import Interval, bootstrap_mean_of_counts, wilson
from core.tables import JUDGED, ComplianceTally, EpisodeTally, Round, TurnsTally
from core.tables.tallies import OUTSIDE

METRICS = ("success_rate", "mean_turns", "tool_error_rate", "compliance_rate")

_SHRINKING_ROUNDS = 3  # design section 8, step 5

_Place = tuple[int | None, str, str]


@dataclass(frozen=True)
class HealthRow:
    """One metric of one round, split and arm.

    Attributes:
        round: its number; None for episodes outside any round (recorded, from other agents).
        split: train or held_out.
        arm: one of ``core.tables.ArmName``.
        metric: success_rate, tool_error_rate, compliance_rate (in [0, 1]), or mean_turns (turns).
        value: the metric.
        low: lower end of its 95 % interval.
        high: upper end.
        n: episodes; for tool_error_rate tool calls; for compliance_rate judged rule-episode pairs.
    """

    round: int | None
    split: str
    arm: str
    metric: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Gain:
    """Held-out score with the library minus without, from a round's ablation.

    Attributes:
        round: the round that measured it.
        value: mean paired difference over tasks, in [-1, 1] where the score is a rate.
        low: lower end of the 95 % interval.
        high: upper end.
        n: tasks compared.
        repaired: tasks that fail with the empty library and pass with the library.
        regressed: the other way round.
        mcnemar_p: exact two-sided p of the two counts.
        noise_floor: difference the library reaches against itself by chance.
        random_value: the same difference for as many random rules; None if they were not run.
        arm: the arm that ran the library left standing by the round: after, second or before.
    """

    round: int
    value: float | None
    low: float | None
    high: float | None
    n: int
    repaired: int
    regressed: int
    mcnemar_p: float | None
    noise_floor: float | None
    random_value: float | None
    arm: str


def health_rows(session: Session, *, environment: str | None = None) -> list[HealthRow]:
    """Return all metrics, ordered by round (None first), split, arm and metric.

    A metric that nothing was measured for (n = 0) has no row.

    Args:
        session: for reading.
        environment: only this one's episodes; None: all.
    """
    rows: list[HealthRow] = []
    for place, metric, interval in _intervals(session, environment):
        if interval.value is not None and interval.low is not None and interval.high is not None:
            rows.append(HealthRow(*place, metric, interval.value, interval.low, interval.high, interval.n))
    return sorted(rows, key=_order)


def gain(session: Session, *, environment: str | None = None) -> Gain | None:
    """Return the newest measured gain, or None if no round has measured one."""
    measured = gain_by_round(session, environment=environment)
    return measured[-1] if measured else None


def gain_by_round(session: Session, *, environment: str | None = None) -> list[Gain]:
    """Return every round's measured gain, oldest first; rounds without an ablation are left out."""
    query = select(col(Round.number), col(Round.gain)).order_by(col(Round.number))
    if environment is not None:
        query = query.where(col(Round.environment) == environment)
    return [_gain(number, figures) for number, figures in session.execute(query) if figures]


def shrinking_gain(session: Session, *, environment: str | None = None) -> list[Gain]:
    """Return the gains of the last rounds if each was smaller than the one before, three times in a row; else []."""
    values = [one for one in gain_by_round(session, environment=environment) if one.value is not None]
    last = values[-(_SHRINKING_ROUNDS + 1) :]
    shrinks = all((b.value or 0.0) < (a.value or 0.0) for a, b in pairwise(last))
    return last if len(last) > _SHRINKING_ROUNDS and shrinks else []


def standing_rows(rows: Iterable[HealthRow], gains: Iterable[Gain]) -> list[HealthRow]:
    """Return of each round the rows of the arm that ran the library left standing; none before that is settled."""
    arms = {one.round: one.arm for one in gains}
    return [row for row in rows if row.round in arms and row.arm == arms[row.round]]


def ablation_scores(session: Session, *, environment: str | None = None) -> tuple[HealthRow, HealthRow] | None:
    """Return the held-out success rates without and with the library, of the round with the newest gain."""
    newest = gain(session, environment=environment)
    if newest is None:
        return None
    rates = {
        row.arm: row
        for row in health_rows(session, environment=environment)
        if (row.metric, row.split, row.round) == ("success_rate", "held_out", newest.round)
    }
    without, with_library = rates.get("empty"), rates.get(newest.arm)
    return None if without is None or with_library is None else (without, with_library)


def _gain(number: int, figures: dict[str, Any]) -> Gain:
    return Gain(
        round=number,
        value=figures.get("value"),
        low=figures.get("low"),
        high=figures.get("high"),
        n=figures.get("n", 0),
        repaired=figures.get("repaired", 0),
        regressed=figures.get("regressed", 0),
        mcnemar_p=figures.get("mcnemar_p"),
        noise_floor=figures.get("noise_floor"),
        random_value=(figures.get("random_arm") or {}).get("value"),
        arm=figures["arm"],
    )


def _intervals(session: Session, environment: str | None) -> Iterator[tuple[_Place, str, Interval]]:
    calls, failed = func.sum(col(EpisodeTally.tool_calls)), func.sum(col(EpisodeTally.tool_errors))
    passed = _sum_if(EpisodeTally.episodes, col(EpisodeTally.grade) == "pass")
    episodes = _by_place(EpisodeTally, [func.sum(col(EpisodeTally.episodes)), passed, calls, failed], environment)
    for *place, n, passes, n_calls, n_failed in session.execute(episodes):
        yield _place(place), "success_rate", wilson(int(passes), int(n))
        yield _place(place), "tool_error_rate", wilson(int(n_failed), int(n_calls))
    for at, counts in _turn_counts(session, environment).items():
        yield at, "mean_turns", bootstrap_mean_of_counts(counts, seed=derive_seed("mean_turns", *at))
    verdict = col(ComplianceTally.compliance)
    judged = [_sum_if(ComplianceTally.uses, condition) for condition in (verdict == "complied", verdict.in_(JUDGED))]
    for *place, followed, pairs in session.execute(_by_place(ComplianceTally, judged, environment)):
        yield _place(place), "compliance_rate", wilson(int(followed), int(pairs))


def _turn_counts(session: Session, environment: str | None) -> dict[_Place, dict[float, int]]:
    counts: defaultdict[_Place, dict[float, int]] = defaultdict(dict)
    turns = col(TurnsTally.turns)
    query = _by_place(TurnsTally, [turns, func.sum(col(TurnsTally.episodes))], environment).group_by(turns)
    for *place, value, n in session.execute(query):
        counts[_place(place)][float(value)] = int(n)
    return counts


def _by_place(
    tally: type[EpisodeTally | TurnsTally | ComplianceTally],
    columns: Sequence[SQLColumnExpression[Any]],
    environment: str | None,
) -> Select[Any]:
    place = (col(tally.round_number), col(tally.split), col(tally.arm))
    query = select(*place, *columns).group_by(*place)
    return query if environment is None else query.where(col(tally.environment) == environment)


def _sum_if(counted: Any, condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, counted), else_=0))


def _place(values: Sequence[Any]) -> _Place:
    number, split, arm = values
    return None if number == OUTSIDE else number, split, arm


def _order(row: HealthRow) -> tuple[int, str, str, int]:
    return -1 if row.round is None else row.round, row.split, row.arm, METRICS.index(row.metric)
