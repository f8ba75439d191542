"""When an episode is counted for its rules, once, and against which baseline (design section 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from sqlalchemy import case
from sqlmodel import Session, col, func, select

from core.rules.counting import count_episode
from core.tables import Episode, Rule, RuleUse

MIN_BASELINE_EPISODES = 5
CREDITED_ARMS = ("learn", "external")


@dataclass(frozen=True)
class Baseline:
    """What the agent reaches on a task type without help. ``reward`` is a mean, ``passes`` out of ``n``."""

    reward: float
    passes: int
    n: int


def baselines(session: Session, environment: str) -> dict[str, Baseline]:
    """Return each task type's baseline from training episodes whose prompt had no rule.

    A type with fewer than five such episodes takes all its training episodes: a biased figure, but the best
    there is until chance has left the library out often enough.
    """
    without = _by_type(session, environment, without_rules=True)
    everything = _by_type(session, environment, without_rules=False)
    return {
        kind: without[kind] if kind in without and without[kind].n >= MIN_BASELINE_EPISODES else overall
        for kind, overall in everything.items()
    }


def _by_type(session: Session, environment: str, *, without_rules: bool) -> dict[str, Baseline]:
    passes = func.sum(case((col(Episode.grade) == "pass", 1), else_=0))
    query = (
        select(Episode.task_type, Episode.reward, passes, func.count())
        .where(Episode.environment == environment, col(Episode.arm).in_(CREDITED_ARMS), Episode.status == "done")
        .group_by(col(Episode.task_type), col(Episode.reward))
        .order_by(col(Episode.task_type), col(Episode.reward))
    )
    if without_rules:
        served = select(RuleUse.episode_id).where(RuleUse.disposition == "served")
        query = query.where(col(Episode.id).not_in(served))
    parts: dict[str, list[tuple[float, int, int]]] = {}
    for kind, reward, won, count in session.exec(query):
        parts.setdefault(kind, []).append((float(reward), int(won), int(count)))
    return {kind: _baseline(rows) for kind, rows in parts.items()}


def _baseline(rows: Sequence[tuple[float, int, int]]) -> Baseline:
    """Add up (reward, passes, episodes); exactly, so that the order in which episodes ended does not matter."""
    n = sum(count for _, _, count in rows)
    return Baseline(fsum(reward * count for reward, _, count in rows) / n, sum(won for _, won, _ in rows), n)


def credit_episodes(session: Session, environment: str) -> int:
    """Count every training episode not counted yet; sets its flag in the same transaction.

    Only rules that were served are counted, and the merges they have become part of since. An episode that a
    failing model call ended proves nothing about rules and is only flagged.

    Returns:
        How many episodes were counted.
    """
    base = baselines(session, environment)
    query = select(Episode).where(
        Episode.environment == environment,
        col(Episode.arm).in_(CREDITED_ARMS),
        col(Episode.credited).is_(False),
    )
    episodes = session.exec(query.order_by(col(Episode.id))).all()
    for episode in episodes:
        episode.credited = True
        session.add(episode)
        if episode.status == "done":
            count_episode(session, episode, base[episode.task_type].reward)
    session.flush()
    return len(episodes)


def mark_retrieved(session: Session, round_number: int) -> None:
    """Note the round at each rule that was retrieved in its training episodes, served or not."""
    retrieved = (
        select(RuleUse.rule_id)
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(Episode.round_number == round_number, Episode.arm == "learn")
        .distinct()
    )
    for rule in session.exec(select(Rule).where(col(Rule.id).in_(retrieved))).all():
        rule.last_retrieved_round = round_number
        session.add(rule)
