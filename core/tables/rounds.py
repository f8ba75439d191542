"""Rounds of the learning loop, their reflections, and who runs the loop."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class Round(SQLModel, table=True):
    """One learning round. ``phase`` is committed with each phase's work, so that a killed run resumes."""

    __tablename__ = "round"

    number: int = Field(primary_key=True)
    environment: str
    seed: int
    trigger: str = Field(description="Why it ran.")
    status: str = Field(default="running", description="running, committed, rolled_back, untested or failed")
    phase: str = Field(default="planned", description="Last phase whose work is in the database.")
    plan: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="Task ids by sampling kind.")
    settings: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="Settings it ran with.")
    verdict: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="The gate's figures.")
    gain: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="The ablation's figures.")
    notes: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON, description="What a person should know.")
    error: str | None = Field(default=None, description="Why it broke down: a template to translate.")
    error_values: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="For the template.")
    started_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Reflection(SQLModel, table=True):
    """One reflection: its input episodes, the differences found, the operations and what became of them."""

    __tablename__ = "reflection"

    id: str = Field(primary_key=True)
    round_number: int = Field(foreign_key="round.number")
    batch: int
    status: str = Field(description="done, skipped (nothing to contrast) or failed")
    reason: str = ""
    passing: list[str] = Field(default_factory=list, sa_type=JSON, description="Episode ids.")
    failing: list[str] = Field(default_factory=list, sa_type=JSON, description="Episode ids.")
    differences: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    operations: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    outcomes: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON, description="Per operation: what became of it, rule id, reason."
    )
    created_at: datetime = Field(sa_type=UtcDateTime)


class Lease(SQLModel, table=True):
    """Who runs the loop. One row; void when the heartbeat is older than the time to live."""

    __tablename__ = "lease"

    name: str = Field(primary_key=True)
    owner: str
    heartbeat_at: datetime = Field(sa_type=UtcDateTime)
    activity: str = Field(default="", description="What the loop is doing, for people.")


class LoopControl(SQLModel, table=True):
    """What people want of the loop. One row, written by pages and the command line, read by the loop."""

    __tablename__ = "loop_control"

    name: str = Field(primary_key=True)
    wanted: str = Field(default="pause", description="run or pause")
    steps: int = Field(default=0, description="Rounds to run although paused.")
    reason: str = Field(default="", description="Why it is paused, if the loop paused itself: a template to translate.")
    reason_values: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="For the template.")
    changed_by: str = ""
    changed_at: datetime = Field(sa_type=UtcDateTime)
