"""An episode's reward as people read it: three signals, who set them, and what a person said (design section 9)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlmodel import Session

from core.tables import ArmName, Episode, EpisodeReward

_LEARNING = (ArmName.LEARN, ArmName.EXTERNAL)
_NEGATIVE = "negative"


class JudgedBy(StrEnum):
    """Where the judge's signal comes from."""

    PRESET = "preset"  # nothing called for the judge
    MODEL = "model"
    SETTLED = "settled"  # another signal is negative, so its answer would have changed nothing
    FAILED = "failed"  # the call failed
    PERSON = "person"  # somebody had said how the episode ended before the judge's turn came


@dataclass(frozen=True)
class Signals:
    """What rules, tools and judge say: high, unclear or negative; ``judge_reason`` in the model's words."""

    rules: str
    tools: str
    judge: str
    judged_by: JudgedBy
    judge_reason: str
    displeasure: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class Feedback:
    """What a person said: success, partial, failure or taken_over; and the outcome that was recorded before."""

    verdict: str
    reason: str
    by: str
    at: datetime
    recorded_reward: float
    recorded_grade: str


@dataclass(frozen=True)
class RewardStory:
    """An episode's reward; ``id`` is the episode's, ``version`` 0 and ``signals`` None before it is worked out."""

    id: str
    version: int
    signals: Signals | None
    feedback: Feedback | None


def reward_story(session: Session, episode_id: str) -> RewardStory | None:
    """Tell an episode's reward; None if there is no such episode, or it was an evaluation: those have none."""
    episode = session.get(Episode, episode_id)
    if episode is None or episode.arm not in _LEARNING:
        return None
    row = session.get(EpisodeReward, episode_id)
    if row is None:
        return RewardStory(episode_id, 0, None, None)
    return RewardStory(episode_id, row.version, _signals(row), _feedback(row))


def _signals(row: EpisodeReward) -> Signals:
    words = tuple(row.displeasure.splitlines())
    return Signals(row.rules, row.tools, row.judge, _judged_by(row), row.judge_reason, words, row.value)


def _judged_by(row: EpisodeReward) -> JudgedBy:
    if row.judged_by != "none":
        return JudgedBy(row.judged_by)
    if _NEGATIVE in (row.rules, row.tools):
        return JudgedBy.SETTLED
    return JudgedBy.FAILED if row.judge_reason else JudgedBy.PERSON


def _feedback(row: EpisodeReward) -> Feedback | None:
    verdict = "taken_over" if row.taken_over else row.feedback
    if verdict == "none" or row.feedback_by is None or row.feedback_at is None:
        return None
    return Feedback(
        verdict, row.feedback_reason, row.feedback_by, row.feedback_at, row.recorded_reward, row.recorded_grade
    )
