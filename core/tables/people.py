"""People, what they did, and the settings they changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class Person(SQLModel, table=True):
    """An account. Who somebody is comes from the identity provider; what they may do is here."""

    __tablename__ = "person"

    email: str = Field(primary_key=True, description="In small letters; the name in events and in the audit trail.")
    name: str = ""
    roles: list[str] = Field(default_factory=list, sa_type=JSON, description="expert, operator, manager, admin")
    active: bool = True
    subject: str | None = Field(
        default=None, description="The provider's own id, bound at the first sign-in: an address may change hands."
    )
    version: int = Field(default=1, description="Grows with every change; for optimistic locking.")
    invited_by: str
    created_at: datetime = Field(sa_type=UtcDateTime)


class AccessMode(SQLModel, table=True):
    """Whether people have to sign in. One row, written when a server starts."""

    __tablename__ = "access_mode"

    name: str = Field(primary_key=True)
    sign_in: bool = False
    changed_at: datetime = Field(sa_type=UtcDateTime)


class AuditEntry(SQLModel, table=True):
    """One action of a person. Append-only; ``digest`` covers the row and the digest before it."""

    __tablename__ = "audit_entry"
    # By what the page Audit filters by, newest first.
    __table_args__ = (
        Index("ix_audit_entry_newest", "actor", "id"),
        Index("ix_audit_entry_actor", "actor", "action", "id"),
        Index("ix_audit_entry_action", "action", "id"),
        Index("ix_audit_entry_object_kind", "object_kind", "id"),
        Index("ix_audit_entry_created_at", "created_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    actor: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    changes: list[dict[str, Any]] | None = Field(
        default=None, sa_type=JSON, description="Rows changed: table, key, before, after. None in older entries."
    )
    created_at: datetime = Field(sa_type=UtcDateTime)
    previous_digest: str = ""
    digest: str = ""


class AuditObject(SQLModel, table=True):
    """Which entries touched an object: the one acted on, and each row changed. Made from the entries, to find them."""

    __tablename__ = "audit_object"

    object_id: str = Field(primary_key=True)
    kind: str = Field(primary_key=True, description="The kind of object acted on, or the table of a changed row.")
    entry_id: int = Field(primary_key=True, foreign_key="audit_entry.id")


class AuditHead(SQLModel, table=True):
    """Where the audit trail ends. One row; without it, cut-off entries at the end would not be missed."""

    __tablename__ = "audit_head"

    name: str = Field(primary_key=True)
    entries: int = 0
    digest: str = ""


class Undone(SQLModel, table=True):
    """An action that was taken back, and by which one. A row of its own, since audit entries never change."""

    __tablename__ = "undone"

    entry_id: int = Field(primary_key=True, foreign_key="audit_entry.id")
    by_entry_id: int


class SettingOverride(SQLModel, table=True):
    """A setting changed while running; ``name`` is ``group.field``."""

    __tablename__ = "setting_override"

    name: str = Field(primary_key=True)
    value: Any = Field(sa_type=JSON)
    changed_by: str
    changed_at: datetime = Field(sa_type=UtcDateTime)
