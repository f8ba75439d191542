"""How far experience may reach: each phase is unlocked by what the one before has left (design section 9).

Says what is there and what is needed; choosing a phase is a person's matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import ColumnElement, exists
from sqlmodel import Session, col, func, select

from core.i18n import mark
from core.settings import Settings
from core.tables import Episode, EpisodeReward, Memory, MemoryUse, Tier

PHASES = ("static", "recall", "reward", "adapt")
"""In the order in which they are unlocked."""

DECISIONS = 50
"""For recall: five times what is retrieved for a state, so that the nearest ones are a choice."""
EPISODES = 20
"""For recall: decisions of one episode are much alike, so decisions alone do not make experience."""
SUCCESSES = 1
"""For recall: failures alone show no way that works."""
SHOWN = 10
"""For reward: training episodes that were shown memories, so that Q rests on more than single cases."""
MIXED_PERCENT = 20
"""For reward: where neighbours all ended alike, no action has an advantage over another ..."""
RETURNS = 100
"""... unless so many returns are there that one state's few neighbours tell little about the rest."""
LETTERED_PERCENT = 50
"""For adapt: without the model's log-probabilities of most decisions, the bias is learned against a guess."""

_RECENT = 100
_AMONG = 1_000
_NEWEST = (col(Memory.created_at).desc(), col(Memory.id).desc())


@dataclass(frozen=True)
class Check:
    """One thing that a phase needs, as a message to translate; ``met`` says whether it is there."""

    template: str
    values: Mapping[str, object]
    met: bool


@dataclass(frozen=True)
class Readiness:
    """What a phase needs besides all that those before it need."""

    phase: str
    checks: tuple[Check, ...]

    @property
    def missing(self) -> tuple[Check, ...]:
        """The checks that are not met."""
        return tuple(check for check in self.checks if not check.met)


@dataclass(frozen=True)
class Known:
    """How much there is to learn from: episodes with memories, and when the first one ended (None for none)."""

    episodes: int
    since: datetime | None


def known_of(session: Session, environment: str) -> Known:
    """Count the remembered episodes."""
    count = session.exec(select(func.count()).select_from(Episode).where(*_remembered(environment))).one()
    since = session.exec(select(func.min(Memory.created_at)).where(Memory.environment == environment)).one()
    return Known(count, since)


def _remembered(environment: str) -> tuple[ColumnElement[bool], ...]:
    # Asked of the episodes, each has one entry of an index to look at; of the memories, all would have to be read.
    return col(Episode.environment) == environment, exists().where(col(Memory.episode_id) == col(Episode.id))


def readiness(session: Session, environment: str, settings: Settings, now: datetime) -> tuple[Readiness, ...]:
    """Check what the phases recall, reward and adapt need, in this order; static needs nothing.

    Args:
        session: for reading.
        environment: whose experience.
        settings: in force.
        now: UTC.
    """
    known = known_of(session, environment)
    returns = session.exec(select(func.count()).where(Memory.environment == environment)).one()
    return (
        Readiness("recall", _for_recall(session, environment, known, returns)),
        Readiness("reward", _for_reward(session, environment, known, returns, settings.policy.neighbours)),
        Readiness("adapt", _for_adapt(session, environment, known, settings, now)),
    )


def missing(found: Sequence[Readiness], phase: str) -> list[Check]:
    """Return what is missing for a phase: its own checks, and those of all phases before it."""
    reached = PHASES[: PHASES.index(phase) + 1]
    return [check for one in found if one.phase in reached for check in one.missing]


def _at_least(template: str, found: int, needed: int) -> Check:
    return Check(template, {"found": found, "needed": needed}, found >= needed)


def _for_recall(session: Session, environment: str, known: Known, decisions: int) -> tuple[Check, ...]:
    successes = session.exec(
        select(func.count(func.distinct(Memory.episode_id))).where(
            Memory.environment == environment, col(Memory.reward) > 0
        )
    ).one()
    return (
        _at_least(mark("Remembered decisions: {found}, needed {needed}."), decisions, DECISIONS),
        _at_least(mark("Remembered episodes: {found}, needed {needed}."), known.episodes, EPISODES),
        _at_least(mark("Successful ones among them: {found}, needed {needed}."), successes, SUCCESSES),
    )


def _for_reward(session: Session, environment: str, known: Known, returns: int, neighbours: int) -> tuple[Check, ...]:
    rewarded = session.exec(
        select(func.count())
        .select_from(EpisodeReward)
        .join(Episode, col(Episode.id) == col(EpisodeReward.episode_id))
        .where(*_remembered(environment))
    ).one()
    shown = session.exec(
        select(func.count(func.distinct(MemoryUse.episode_id)))
        .join(Memory, col(Memory.id) == col(MemoryUse.memory_id))
        .where(Memory.environment == environment, col(MemoryUse.credited).is_(True))
    ).one()
    return (
        _at_least(mark("Graded training episodes that were shown memories: {found}, needed {needed}."), shown, SHOWN),
        _at_least(mark("Remembered episodes with a reward: {found}, needed {needed}."), rewarded, known.episodes),
        _neighbourhoods(mixed_share(session, environment, neighbours), returns),
    )


def _neighbourhoods(mixed: float | None, returns: int) -> Check:
    values: dict[str, object] = {"needed": MIXED_PERCENT, "returns": returns, "enough": RETURNS}
    enough = returns >= RETURNS
    if mixed is None:
        unknown = mark(
            "Neighbourhoods of recent decisions with both good and bad outcomes: not known before recall, "
            "needed {needed} %; or remembered returns: {returns}, needed {enough}."
        )
        return Check(unknown, values, enough)
    percent = round(100 * mixed)
    known = mark(
        "Neighbourhoods of recent decisions with both good and bad outcomes: {found} %, needed {needed} %; "
        "or remembered returns: {returns}, needed {enough}."
    )
    return Check(known, values | {"found": percent}, percent >= MIXED_PERCENT or enough)


def _for_adapt(
    session: Session, environment: str, known: Known, settings: Settings, now: datetime
) -> tuple[Check, ...]:
    policy = settings.policy
    age = now - known.since if known.since is not None else timedelta()
    hours = age // timedelta(hours=1)
    checks = [
        _at_least(mark("Remembered episodes: {found}, needed {needed}."), known.episodes, policy.cold_episodes),
        Check(
            mark("Hours since the first remembered episode: {found}, needed {needed}."),
            {"found": hours, "needed": f"{policy.cold_hours:g}"},
            age >= timedelta(hours=policy.cold_hours),
        ),
    ]
    if settings.action_mode == "letters":
        told = mark("Recent decisions with the model's log-probabilities: {found} %, needed {needed} %.")
        checks.append(_at_least(told, _lettered_percent(session, environment), LETTERED_PERCENT))
    return tuple(checks)


def _lettered_percent(session: Session, environment: str) -> int:
    query = select(Memory.probability).where(Memory.environment == environment)
    recent = session.exec(query.order_by(*_NEWEST).limit(_RECENT)).all()
    return round(100 * sum(one is not None for one in recent) / len(recent)) if recent else 0


def mixed_share(session: Session, environment: str, neighbours: int) -> float | None:
    """Return the share of the latest decisions whose neighbourhood holds both good and bad outcomes, in [0, 1].

    None where no decision is encoded: without recall nothing is.

    A decision's neighbours are those of other episodes: its own episode's ended as it did.

    Args:
        session: for reading.
        environment: whose.
        neighbours: size of a neighbourhood.
    """
    query = (
        select(Memory.vector, Memory.reward, Memory.episode_id, Memory.vector_model)
        .where(Memory.environment == environment, col(Memory.vector).is_not(None), col(Memory.tier) != Tier.COLD)
        .order_by(*_NEWEST)
        .limit(_AMONG)
    )
    rows = session.exec(query).all()
    alike = [row for row in rows if row[3] == rows[0][3]]
    if not alike:
        return None
    vectors = np.stack([np.frombuffer(row[0] or b"", dtype="<f4") for row in alike])
    good = np.array([row[1] > 0 for row in alike])
    episodes = np.array([row[2] for row in alike])
    recent = min(_RECENT, len(alike))
    mixed = 0
    for place in range(recent):
        cosines = np.where(episodes == episodes[place], -np.inf, vectors @ vectors[place])
        near = np.argsort(-cosines, kind="stable")[:neighbours]
        outcomes = good[near[np.isfinite(cosines[near])]]
        mixed += bool(outcomes.any() and not outcomes.all())
    return mixed / recent
