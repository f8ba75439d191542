"""When a round is due, and for which domain (design section 8)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.learning.round import held_out_scores
from core.settings import Settings
from core.tables import Episode, Round

_LAST = 20


@dataclass(frozen=True)
class Trigger:
    """A reason to run a round: ``episodes``, ``success_rate``, ``schedule`` or ``step``."""

    reason: str
    domain: str


def next_trigger(
    session: Session, settings: Settings, clock: Clock, *, own_domain: str, playable: bool, since: datetime
) -> Trigger | None:
    """Return why a round is due now, or None.

    Outside episodes come first: enough new ones, or at once when the latest 20 of a domain succeed too
    rarely (with a cool-down). An environment that can be rolled out is due until its held-out score has not
    improved for ``patience`` rounds; rounds before ``since``, when a person last started the loop, do not
    count for that.
    """
    for domain, waiting in _waiting(session).items():
        if waiting >= settings.round.trigger_episodes:
            return Trigger("episodes", domain)
        if _succeeds_rarely(session, domain, settings) and not _cooling(session, domain, settings, clock):
            return Trigger("success_rate", domain)
    if playable and not is_resting(session, settings, own_domain, since):
        return Trigger("schedule", own_domain)
    return None


def is_resting(session: Session, settings: Settings, domain: str, since: datetime) -> bool:
    """Tell whether the held-out score has not improved for ``patience`` rounds."""
    numbers = session.exec(
        select(func.count()).where(
            Round.environment == domain, Round.phase == "finished", col(Round.started_at) >= since
        )
    ).one()
    patience = settings.gate.patience
    scores = held_out_scores(session, domain)
    if numbers <= patience or len(scores) <= patience:
        return False
    return max(scores[-patience:]) <= max(scores[:-patience])


def _waiting(session: Session) -> dict[str, int]:
    rows = session.exec(
        select(Episode.environment, func.count())
        .where(Episode.arm == "external", Episode.split == "train", col(Episode.reflected_round).is_(None))
        .group_by(col(Episode.environment))
        .order_by(col(Episode.environment))
    )
    return dict(rows.all())


def _succeeds_rarely(session: Session, domain: str, settings: Settings) -> bool:
    grades = session.exec(
        select(Episode.grade)
        .where(Episode.environment == domain, Episode.arm == "external")
        .order_by(col(Episode.ended_at).desc(), col(Episode.id).desc())
        .limit(_LAST)
    ).all()
    if len(grades) < _LAST:
        return False
    return grades.count("pass") / _LAST < settings.round.trigger_success_rate


def _cooling(session: Session, domain: str, settings: Settings, clock: Clock) -> bool:
    last = session.exec(
        select(func.max(Round.started_at)).where(Round.environment == domain, Round.trigger == "success_rate")
    ).one()
    return last is not None and clock() - last < timedelta(seconds=settings.round.trigger_cooldown_s)
