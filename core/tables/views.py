"""What people keep of how they look at things."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class SavedView(SQLModel, table=True):
    """A person's filters of a page under a name."""

    __tablename__ = "saved_view"

    id: str = Field(primary_key=True, description="Computed from page, owner and name.")
    page: str
    owner: str = Field(index=True)
    name: str
    query: dict[str, Any] = Field(sa_type=JSON, description="The page's parameters in the address.")
    changed_at: datetime = Field(sa_type=UtcDateTime)
