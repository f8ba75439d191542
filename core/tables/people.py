"""What people did, and the settings they changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class AuditEntry(SQLModel, table=True):
    """One action of a person. Append-only; ``digest`` covers the row and the digest before it."""

    __tablename__ = "audit_entry"

    id: int | None = Field(default=None, primary_key=True)
    actor: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    created_at: datetime = Field(sa_type=UtcDateTime)
    previous_digest: str = ""
    digest: str = ""


class SettingOverride(SQLModel, table=True):
    """A setting changed while running; ``name`` is ``group.field``."""

    __tablename__ = "setting_override"

    name: str = Field(primary_key=True)
    value: Any = Field(sa_type=JSON)
    changed_by: str
    changed_at: datetime = Field(sa_type=UtcDateTime)
