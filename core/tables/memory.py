"""Remembered decisions, what was shown of them, and the policy that learned from them (design sections 9, 10)."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class Tier(StrEnum):
    """How near a memory is kept."""

    HOT = "hot"  # the last days or the latest ones, whatever they led to
    WARM = "warm"  # successes of the past month, shortened, one of those that are alike
    COLD = "cold"  # put away: not retrieved, can be restored


class Memory(SQLModel, table=True):
    """One decision of a graded training episode: what was seen, what was done, what it led to."""

    __tablename__ = "memory"
    __table_args__ = (
        UniqueConstraint("episode_id", "step"),
        Index("ix_memory_tier", "environment", "tier", "created_at"),
        Index("ix_memory_created", "environment", "created_at"),
        Index("ix_memory_touched", "environment", "touched"),
        Index("ix_memory_action", "environment", "action", "created_at"),
        Index("ix_memory_vector_model", "environment", "vector_model"),
    )

    id: int | None = Field(default=None, primary_key=True)
    environment: str
    episode_id: str = Field(foreign_key="episode.id")
    task_id: str
    agent: str = Field(description="Whose decision it was: the source.")
    trust: float = Field(default=1.0, description="Confidence in the source, 0..1.")
    step: int = Field(description="Index of the deciding message in the episode.")
    state: str = Field(description="The task and what was seen last; shortened in the tier warm.")
    action: str = Field(description="Tool with the arguments that its schema enumerates.")
    arguments: str = Field(default="", description="All arguments in few words.")
    result: str = Field(default="", description="Key fields of the result; empty in the tier warm.")
    failed: bool = Field(default=False, description="The tool call itself failed.")
    closed: bool = Field(default=False, description="It was the episode's last decision.")
    displeased: bool = Field(default=False, description="The user's words after it show displeasure.")
    latency_ms: float | None = Field(default=None, description="From the model's call to its answer.")
    step_reward: float = Field(description="What the environment paid for this step, 0 if only the end is graded.")
    reward: float = Field(description="Of the whole episode: 1, 0.2 or -1.")
    value: float = Field(description="Discounted return G from this step on.")
    gamma: float = Field(description="Discount per step behind it.")
    lesson: str = Field(default="", description="How the episode ended, in one sentence from its digest.")
    candidates: dict[str, Any] = Field(
        default_factory=dict, sa_type=JSON, description="Action -> the model's log-probability, where it gave them."
    )
    probability: float | None = Field(default=None, description="Of the action when it was chosen, where known.")
    q: float = Field(default=0.0, description="Learned utility of showing it.")
    q_updates: int = 0
    tier: str = Field(default=Tier.HOT.value, description="One of Tier.")
    covered_by: int | None = Field(default=None, description="Newer memory that says the same.")
    restored: bool = Field(default=False, description="Taken back from cold by a person: stays warm.")
    vector: bytes | None = Field(default=None, sa_type=LargeBinary, description="Of the state; float32, unit length.")
    vector_model: str = Field(default="", description="How the state was encoded: embedding model and parts.")
    created_at: datetime = Field(sa_type=UtcDateTime)
    touched: int = Field(default=0, description="Grows with each change, so that a reader sees what is new.")


class MemoryUse(SQLModel, table=True):
    """A memory that an episode was shown, once; its Q is updated once."""

    __tablename__ = "memory_use"
    __table_args__ = (UniqueConstraint("episode_id", "memory_id"), Index("ix_memory_use_memory", "memory_id"))

    id: int | None = Field(default=None, primary_key=True)
    episode_id: str = Field(foreign_key="episode.id")
    memory_id: int = Field(foreign_key="memory.id")
    step: int = Field(description="Decision of the episode, from 0, before which it was first shown.")
    similarity: float = Field(description="Cosine of both states.")
    score: float = Field(description="By which it was chosen.")
    credited: bool = Field(default=False, description="Its Q has been updated.")
    reward: float | None = Field(default=None, description="Of the episode, as it was credited.")
    rate: float = Field(default=0.0, description="Share of the way that Q went to the reward.")


class PolicySnapshot(SQLModel, table=True):
    """The adapter at one moment, and how it did on held-out tasks then."""

    __tablename__ = "policy_snapshot"
    __table_args__ = (Index("ix_policy_snapshot_environment", "environment", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    environment: str
    round_number: int | None = Field(default=None, foreign_key="round.number")
    updates: int = Field(description="Updates behind it.")
    success: float | None = Field(default=None, description="Held-out success rate, 0..1; None: not evaluated.")
    turns: float | None = Field(default=None, description="Mean turns on the held-out tasks.")
    tasks: int = Field(default=0, description="Held-out tasks of that evaluation.")
    good: bool = Field(default=False, description="The best so far when it was taken.")
    state: bytes = Field(sa_type=LargeBinary, description="Everything later behaviour hangs on, bit for bit.")
    created_at: datetime = Field(sa_type=UtcDateTime)


class PolicyEvent(SQLModel, table=True):
    """What happened to a policy: updates, evaluations, restores, explanations. Only appended to."""

    __tablename__ = "policy_event"
    __table_args__ = (Index("ix_policy_event_environment", "environment", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    environment: str
    kind: str = Field(description="updated, evaluated, snapshot, worse, restored or explained")
    actor: str
    round_number: int | None = None
    snapshot_id: int | None = Field(default=None, foreign_key="policy_snapshot.id")
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcDateTime)
