"""The round's memories: decisions written down, what was shown credited, tiers kept up (design section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from core.episodes.actions import ActionNames, names_of
from core.episodes.memory.latencies import latencies
from core.episodes.memory.store import credit_uses, remember
from core.episodes.memory.tiers import Alike, Moved, keep_up
from core.learning.bench import Bench
from core.learning.credit import CREDITED_ARMS
from core.learning.experience import sources_of
from core.tables import Episode, EpisodeReward

_AT_ONCE = 50


@dataclass(frozen=True)
class Remembered:
    """What one call did: episodes and decisions written down, uses credited, memories moved."""

    episodes: int
    decisions: int
    credited: int
    moved: Moved


def remember_episodes(bench: Bench) -> Remembered:
    """Write down every graded training episode that has a reward and is not remembered yet; then keep tiers up.

    Safe to repeat: an episode is remembered once, and each use is credited once.
    """
    names = names_of(bench.make_environment()) if bench.make_environment is not None else ActionNames(())
    settings = bench.settings
    written = decided = credited = 0
    while True:
        with bench.database.write() as session:
            part = _open_episodes(session, bench.domain)
            took = latencies(session, [episode for episode, _ in part])
            for episode, reward in part:
                gamma, milliseconds = settings.policy.gamma, took.get(episode.id, ())
                found = remember(session, episode, reward, names, settings.memory, gamma, milliseconds)
                decided += len(found)
                credited += credit_uses(session, episode, reward, settings.memory.q_rate)
                _mark(session, episode)
            written += len(part)
        if len(part) < _AT_ONCE:
            break
    alike = None
    if sources_of(settings).any:
        bench.memories.follow()
        alike = Alike(bench.memories, bench.embedder.thresholds().duplicate)
    moved = keep_up(bench.database, bench.domain, settings.memory, bench.clock(), alike)
    return Remembered(written, decided, credited, moved)


def _open_episodes(session: Session, domain: str) -> Sequence[tuple[Episode, float]]:
    query = (
        select(Episode, EpisodeReward.value)
        .join(EpisodeReward, col(EpisodeReward.episode_id) == col(Episode.id))
        .where(
            Episode.environment == domain,
            Episode.split == "train",
            Episode.status == "done",
            col(Episode.arm).in_(CREDITED_ARMS),
            col(EpisodeReward.remembered).is_(False),
        )
        .order_by(col(Episode.ended_at), col(Episode.id))
        .limit(_AT_ONCE)
    )
    return session.exec(query).all()


def _mark(session: Session, episode: Episode) -> None:
    row = session.get_one(EpisodeReward, episode.id)
    row.remembered = True
    session.add(row)
