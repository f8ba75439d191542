"""Rules, their events, refusals, conflicts and proposals. Events are append-only."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class RuleContent(SQLModel):
    """What a rule says; shared by the table, by drafts and by edits."""

    name: str
    condition: str = Field(description="When it applies.")
    action: str = Field(description="What to do then.")
    exclusion: str = Field(default="", description="When it does not apply all the same.")
    rationale: str = ""
    domain: str = ""
    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    priority: float = Field(default=0.5, ge=0, le=1)
    confidence: float = Field(default=0.7, ge=0, le=1)


class Rule(RuleContent, table=True):
    """A rule of the library. State changes go through core.rules.library only."""

    __tablename__ = "rule"
    __table_args__ = (
        Index("ix_rule_domain_state", "domain", "state"),
        Index("ix_rule_id_state", "id", "state"),
        Index("ix_rule_waiting", "state", "approved_by", "created_at", "id"),
        Index("ix_rule_state_created", "state", "created_at"),
        Index("ix_rule_created", "created_at"),
        Index("ix_rule_used", "n_used"),
    )

    id: str = Field(primary_key=True)
    origin: str = Field(description="reflection, handbook, merge, human or import")
    parents: list[str] = Field(default_factory=list, sa_type=JSON)
    evidence: list[str] = Field(default_factory=list, sa_type=JSON, description="Episode ids.")
    lineage: list[str] = Field(
        default_factory=list, sa_type=JSON, description="Rules in the prompts of the evidence episodes."
    )
    state: str = Field(default="candidate", description="candidate, active, probation or archived")
    version: int = Field(default=1, description="Grows with every change; for optimistic locking.")
    approved_by: str | None = None
    merged_into: str | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)
    created_round: int | None = None
    n_used: int = 0
    n_success: int = 0
    avg_delta: float = Field(default=0.0, description="Mean of reward minus the type's baseline reward.")
    verified: int = Field(default=0, description="Verified successes in different episodes.")
    last_verified_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_retrieved_round: int | None = None
    probation_since: int | None = Field(default=None, description="Round in which probation began.")


class RuleEvent(SQLModel, table=True):
    """One change of one rule. From events alone the library of any past moment can be rebuilt."""

    __tablename__ = "rule_event"
    __table_args__ = (
        Index("ix_rule_event_rule", "rule_id"),
        Index("ix_rule_event_round", "round_number"),
        Index("ix_rule_event_kind", "kind", "created_at"),
        Index("ix_rule_event_state", "to_state", "rule_id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    rule_id: str = Field(foreign_key="rule.id")
    kind: str = Field(description="created, edited, approved, voted, pinned, unpinned, or why a state changed")
    from_state: str | None = None
    to_state: str
    actor: str = Field(description="'system', or a person's name")
    reason: str = Field(default="", description="What a person typed, or a template to translate.")
    reason_values: dict[str, Any] = Field(default_factory=dict, sa_type=JSON, description="For the template.")
    round_number: int | None = None
    before: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    after: dict[str, Any] = Field(sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcDateTime)
    entry_id: int | None = Field(default=None, description="Audit entry of the person's action that made it.")


class RulePin(SQLModel, table=True):
    """A rule that a person wants kept: pruning passes it by. No part of what a rule says, so no rewind touches it."""

    __tablename__ = "rule_pin"

    rule_id: str = Field(primary_key=True, foreign_key="rule.id")
    pinned_by: str
    pinned_at: datetime = Field(sa_type=UtcDateTime)


class Refusal(SQLModel, table=True):
    """A draft that the quality step or the duplicate check refused, with its reasons; can be revived."""

    __tablename__ = "refusal"

    id: str = Field(primary_key=True)
    round_number: int | None = None
    reflection_id: str | None = None
    draft: dict[str, Any] = Field(sa_type=JSON)
    reasons: list[dict[str, Any]] = Field(sa_type=JSON, description="Each: detector, message, values.")
    revived_as: str | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)


class Conflict(SQLModel, table=True):
    """Two rules that contradict each other. While open, both share a mutex group."""

    __tablename__ = "conflict"
    __table_args__ = (
        UniqueConstraint("rule_a", "rule_b"),
        Index("ix_conflict_rule_b", "rule_b"),
        Index("ix_conflict_status", "status", "created_at", "id"),
    )

    id: str = Field(primary_key=True)
    rule_a: str = Field(foreign_key="rule.id", description="The smaller id of the pair.")
    rule_b: str = Field(foreign_key="rule.id")
    detector: str = Field(description="lexicon, polarity or model")
    evidence: str = Field(default="", description="Template to translate.")
    evidence_values: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    status: str = Field(default="open", description="open, resolved or dismissed (not a conflict)")
    found_in: str = Field(default="", description="Digest of the two texts in which it was found.")
    resolution: str = Field(default="", description="The way, and after a colon the rule it names.")
    reason: str = Field(default="", description="Why it was settled so, as a person typed it.")
    resolved_by: str | None = None
    entry_id: int | None = Field(default=None, description="Entry of the audit trail that settled it.")
    suggestion: str = Field(default="", description="Id of the rule to keep.")
    round_number: int | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)
    resolved_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Proposal(SQLModel, table=True):
    """A change to a rule that a person approved; waits for a person."""

    __tablename__ = "proposal"
    __table_args__ = (Index("ix_proposal_waiting", "status", "created_at", "id"),)

    id: str = Field(primary_key=True)
    rule_id: str = Field(foreign_key="rule.id")
    rule_version: int
    kind: str = Field(description="edit, merge or archive")
    after: dict[str, Any] = Field(sa_type=JSON, description="The proposed content, and its lineage; empty for archive.")
    reason: str = ""
    evidence: list[str] = Field(default_factory=list, sa_type=JSON)
    status: str = Field(default="open", description="open, accepted or refused")
    round_number: int | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)
    decided_by: str | None = None
