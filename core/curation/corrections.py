"""What follows from an episode's reward, brought in line with it: by feedback, and by taking feedback back."""

from sqlmodel import Session

from core.episodes.digest import with_outcome
from core.episodes.memory.store import recount
from core.episodes.rewards import said_outcome
from core.rules.counting import recount_episode
from core.tables import Episode, EpisodeReward

NO_FEEDBACK = "none"


def carry_over(session: Session, row: EpisodeReward) -> None:
    """Give an episode the outcome that its reward stands for, and count it anew for whatever it was counted for.

    Each thing that is computed from an episode's outcome is done anew here and nowhere else: its digest, its rules'
    statistics, its memories. Doing it again changes nothing.
    """
    episode = session.get_one(Episode, row.episode_id)
    outcome = recorded = row.recorded_reward, row.recorded_grade
    if row.taken_over or row.feedback != NO_FEEDBACK:
        outcome = said_outcome(row.value, *recorded)
    episode.digest = with_outcome(episode.digest, outcome, recorded)
    recount_episode(session, episode, *outcome)
    recount(session, episode.id, row.value)


def forget(session: Session, row: EpisodeReward) -> None:
    """Give an episode the outcome back that was recorded, before its reward goes."""
    row.taken_over, row.feedback = False, NO_FEEDBACK
    carry_over(session, row)
