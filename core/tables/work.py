"""Tasks, the episodes that agents lived through on them, and which rules were in their prompts."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class ArmName(StrEnum):
    """What an episode was played for; the whole vocabulary."""

    LEARN = "learn"  # training tasks
    EXTERNAL = "external"  # by another agent
    BEFORE = "before"  # held-out tasks with the library from before the round
    AFTER = "after"  # with the library as the round changed it
    SECOND = "second"  # with those changes that are not to blame for a first failure
    REPEAT = "repeat"  # as before, with other seeds: how far a library differs from itself
    EMPTY = "empty"  # without any rule
    EMPTY_REPEAT = "empty_repeat"  # once more, likewise
    RANDOM = "random"  # with as many rules that have nothing to do with the tasks


class Task(SQLModel, table=True):
    """One task of an environment, as the product got to know it (never the hidden solution)."""

    __tablename__ = "task"
    __table_args__ = (Index("ix_task_environment_split", "environment", "split", "created_at"),)

    id: str = Field(primary_key=True, description="Environment name, a slash, the environment's own id.")
    environment: str
    type: str
    query: str
    split: str = Field(description="train or held_out")
    created_at: datetime = Field(sa_type=UtcDateTime)
    times_sampled: int = Field(default=0, description="Rounds that rolled it out.")


class Episode(SQLModel, table=True):
    """One rollout or one recorded conversation, graded. Messages are in OpenAI chat format."""

    __tablename__ = "episode"
    __table_args__ = (
        Index("ix_episode_round_arm", "round_number", "arm"),
        Index("ix_episode_environment_arm", "environment", "arm", "credited"),
        Index("ix_episode_task", "task_id"),
        Index("ix_episode_prompt", "prompt_hash"),
        # By what the page Episodes filters by, newest first.
        Index("ix_episode_started", "started_at"),
        Index("ix_episode_arm_started", "arm", "started_at"),
        Index("ix_episode_grade_started", "grade", "started_at"),
        Index("ix_episode_environment_started", "environment", "started_at"),
        Index("ix_episode_round_started", "round_number", "started_at"),
    )

    id: str = Field(
        primary_key=True, description="Computed from what the episode is, so that a retry cannot add a second."
    )
    environment: str
    task_id: str
    task_type: str
    query: str
    split: str = Field(description="train or held_out")
    arm: str = Field(description="One of ArmName.")
    round_number: int | None = Field(default=None, foreign_key="round.number")
    rollout: int = 0
    seed: int = 0
    temperature: float | None = None
    agent: str = ""
    model: str = ""
    status: str = Field(default="done", description="done, or failed: the agent could not finish (reward counts)")
    error: str | None = None
    reward: float
    grade: str = Field(description="pass, marginal or fail")
    turns: int = Field(description="Assistant messages.")
    tool_calls: int
    tool_errors: int = Field(description="Tool calls that failed.")
    messages: list[dict[str, Any]] = Field(sa_type=JSON)
    library_left_out: bool = Field(default=False, description="The whole library was left out by chance.")
    library_propensity: float = Field(default=1.0, description="Probability of what happened to the whole library.")
    prompt_hash: str = Field(
        default="", description="SHA-256 of the system prompt and who answers; of evaluations only."
    )
    reused_from: str | None = Field(
        default=None, description="Evaluation with the same prompt, task and seed whose outcome this one repeats."
    )
    digest: str = ""
    digest_source: str = Field(default="", description="extracted or condensed")
    decisive_step: int | None = Field(default=None, description="Index into messages of the decisive step.")
    started_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime = Field(sa_type=UtcDateTime)
    credited: bool = Field(default=False, description="Its statistics have been counted (once).")
    reflected_round: int | None = Field(default=None, description="Round whose reflection had it at hand.")


JUDGED = ("complied", "violated")
"""Verdicts that make up the denominator of compliance; pairs to which a rule did not apply are kept apart."""


class RuleUse(SQLModel, table=True):
    """What became of one retrieved rule in one episode's prompt. Unique, so it is counted once."""

    __tablename__ = "rule_use"
    __table_args__ = (UniqueConstraint("episode_id", "rule_id"), Index("ix_rule_use_rule", "rule_id"))

    id: int | None = Field(default=None, primary_key=True)
    episode_id: str = Field(foreign_key="episode.id")
    rule_id: str = Field(foreign_key="rule.id")
    rule_version: int
    disposition: str = Field(description="served, left_out (by chance) or trimmed (by the token budget)")
    position: int | None = Field(default=None, description="Place in the prompt's rules, from 0; None if not served.")
    score: float = Field(description="Retrieval score.")
    propensity: float = Field(default=1.0, description="Probability of its disposition under the hold-out.")
    compliance: str = Field(
        default="unjudged",
        description="complied, violated, not_applicable or unjudged; of a rule left out: was it done untold? "
        "Metrics count served ones only.",
    )
    judged_by: str = Field(default="", description="check (by rule) or model")
    verified: bool = Field(default=False, description="Counted as a verified success.")
