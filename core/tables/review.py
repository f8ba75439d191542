"""Who works on what waits for a person, what they have typed so far, and what needs no person."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class Claim(SQLModel, table=True):
    """Somebody has an item before them; nobody else is given it, or decides on it, until the claim runs out."""

    __tablename__ = "claim"

    item_id: str = Field(primary_key=True, description="A rule's or a proposal's id.")
    holder: str
    until: datetime = Field(sa_type=UtcDateTime)


class Assignment(SQLModel, table=True):
    """An item that was given to one person; the others are not given it, but may decide on it all the same."""

    __tablename__ = "assignment"

    item_id: str = Field(primary_key=True, description="A rule's or a proposal's id.")
    person: str
    assigned_by: str
    assigned_at: datetime = Field(sa_type=UtcDateTime)


class Approval(SQLModel, table=True):
    """One person's approval where several are needed; it holds for the text that was approved."""

    __tablename__ = "approval"
    __table_args__ = (Index("ix_approval_item", "item_id"), Index("ix_approval_actor", "actor"))

    id: str = Field(primary_key=True, description="Computed from item, text and person: nobody counts twice.")
    item_id: str = Field(description="A rule's or a proposal's id.")
    text: str = Field(description="Digest of what was approved.")
    actor: str
    created_at: datetime = Field(sa_type=UtcDateTime)


class EvidenceWish(SQLModel, table=True):
    """A candidate that is to come back when there is more evidence. One of the two terms is set."""

    __tablename__ = "evidence_wish"

    rule_id: str = Field(primary_key=True, foreign_key="rule.id")
    until_verified: int | None = Field(default=None, description="Verified successes that are enough.")
    until_round: int | None = Field(default=None, description="Round after which it comes back.")
    asked_by: str
    asked_at: datetime = Field(sa_type=UtcDateTime)


class ReviewDraft(SQLModel, table=True):
    """What somebody has typed for an item and not sent yet; survives a reload and another browser."""

    __tablename__ = "review_draft"

    id: str = Field(primary_key=True, description="Computed from person, item and kind.")
    actor: str
    item_id: str
    kind: str = Field(description="edit or merge")
    content: dict[str, Any] = Field(sa_type=JSON)
    seen: dict[str, int] = Field(sa_type=JSON, description="Rules and the versions that the text was written for.")
    saved_at: datetime = Field(sa_type=UtcDateTime)


class Policy(SQLModel, table=True):
    """What becomes of candidates of some kind without, or not without, a person. The first that fits decides."""

    __tablename__ = "policy"

    id: str = Field(primary_key=True)
    place: int = Field(description="Order in which they are tried.")
    origin: str = Field(default="", description="A rule's origin; empty: any.")
    domain: str = Field(default="", description="A rule's domain; empty: any.")
    min_confidence: float = 0.0
    max_confidence: float = 1.0
    decision: str = Field(description="approve, refuse or person")
    changed_by: str
    changed_at: datetime = Field(sa_type=UtcDateTime)
