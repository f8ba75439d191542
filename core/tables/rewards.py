"""What an episode was worth, by which signals, and what a person said of it afterwards (design section 9)."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class EpisodeReward(SQLModel, table=True):
    """The reward of one training or external episode. Signals are high, unclear or negative.

    ``recorded_reward`` and ``recorded_grade`` are the episode's own from before a person said anything; the
    episode itself holds what counts now.
    """

    __tablename__ = "episode_reward"
    __table_args__ = (
        Index("ix_episode_reward_feedback", "feedback_at"),
        Index("ix_episode_reward_remembered", "remembered"),
    )

    episode_id: str = Field(primary_key=True, foreign_key="episode.id")
    rules: str = Field(description="What the end state says.")
    tools: str = Field(description="What the tools' replies say.")
    judge: str = Field(description="What the model says, or what is preset where it need not be asked.")
    judged_by: str = Field(description="preset (a normal ending), model, or none: not asked in vain, or in vain.")
    judge_reason: str = Field(default="", description="In the model's words; or why its call failed.")
    displeasure: str = Field(default="", description="The user's words that show it; empty: none were found.")
    taken_over: bool = Field(default=False, description="A person had to finish the task.")
    feedback: str = Field(default="none", description="success, partial, failure or none")
    feedback_reason: str = ""
    feedback_by: str | None = None
    feedback_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    recorded_reward: float
    recorded_grade: str = Field(description="pass, marginal or fail")
    value: float = Field(description="1 (success), 0.2 (partial) or -1 (failure, or a person took over).")
    remembered: bool = Field(default=False, description="Its decisions have been written to memory.")
    updated_at: datetime = Field(sa_type=UtcDateTime)
    version: int = 1
