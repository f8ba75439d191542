"""One reward for every training and external episode, from three signals (design section 9).

What people say of an episode afterwards is ``core.curation.feedback``'s.
"""

from collections.abc import Sequence

from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.episodes.judging import judge_episode
from core.episodes.reward_rows import findings_of, reward_row, unjudged
from core.ids import derive_seed
from core.learning.bench import Bench
from core.learning.credit import CREDITED_ARMS
from core.llm.client import CallContext
from core.tables import Episode, EpisodeReward

_BATCH = 200


def reward_episodes(bench: Bench, round_number: int) -> int:
    """Reward the bench's episodes that have no reward yet; asking again changes nothing and costs nothing.

    What needs no call is committed in batches, what the judge says at once.

    Args:
        bench: whose domain's episodes.
        round_number: the round that pays for the judge.

    Returns:
        How many episodes got a reward.

    Raises:
        InterruptedRound: the loop is to pause or stop; what is done stays.
        BudgetExceededError: the limit on spend is reached; likewise.
    """
    with bench.database.read() as session:
        open_ids = _unrewarded(session, bench.domain)
    done = 0
    for start in range(0, len(open_ids), _BATCH):
        bench.report(round_number, "rewarded", start, len(open_ids))
        with bench.database.read() as session:
            batch = session.exec(select(Episode).where(col(Episode.id).in_(open_ids[start : start + _BATCH]))).all()
        done += _reward(bench, round_number, batch)
    return done


def _unrewarded(session: Session, environment: str) -> list[str]:
    rewarded = select(EpisodeReward.episode_id).where(EpisodeReward.episode_id == Episode.id).exists()
    query = select_columns(col(Episode.id)).where(
        col(Episode.environment) == environment, col(Episode.arm).in_(CREDITED_ARMS), ~rewarded
    )
    return list(session.execute(query.order_by(col(Episode.id))).scalars())


def _reward(bench: Bench, round_number: int, episodes: Sequence[Episode]) -> int:
    found = [(episode, findings_of(episode)) for episode in episodes]
    done = _store(
        bench,
        [reward_row(episode, one, unjudged(one), bench.clock()) for episode, one in found if not one.to_be_asked],
    )
    for episode, one in found:
        if one.to_be_asked:
            bench.report(round_number, "rewarded", 0, 0)
            context = CallContext("judge", episode_id=episode.id, round_number=round_number, agent=episode.agent)
            judged = judge_episode(bench.client, context, episode.messages, derive_seed("judge", episode.id))
            done += _store(bench, [reward_row(episode, one, judged, bench.clock())])
    return done


def _store(bench: Bench, rows: Sequence[EpisodeReward]) -> int:
    """Write the rewards of episodes that have none and are as they were read: a person may have been faster."""
    with bench.database.write() as session:
        ids = [row.episode_id for row in rows]
        known = set(session.exec(select(EpisodeReward.episode_id).where(col(EpisodeReward.episode_id).in_(ids))))
        now = dict(session.exec(select(Episode.id, Episode.reward).where(col(Episode.id).in_(ids))).all())
        new = [row for row in rows if row.episode_id not in known and now[row.episode_id] == row.recorded_reward]
        session.add_all(new)
    return len(new)
