"""What one action changes, row by row, so that it can be shown and taken back."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import Mapper
from sqlmodel import Session, SQLModel

from core.rules.library import CONTENT_FIELDS
from core.tables import (
    AuditEntry,
    AuditHead,
    AuditObject,
    Claim,
    Episode,
    Memory,
    MemoryUse,
    PolicyEvent,
    PolicySnapshot,
    ReviewDraft,
    Rule,
    RuleEvent,
    RuleUse,
)

_TRAILS = (AuditEntry, AuditHead, AuditObject, RuleEvent, PolicyEvent, Claim, ReviewDraft)
"""Append-only or about it, or somebody's own working state: nothing of these is ever taken back."""

_COUNTED = (Episode, RuleUse, MemoryUse)
"""Follow from an episode's reward, which is taken back in their place (see ``core.curation.corrections``)."""

_COLUMNS: dict[type[SQLModel], tuple[str, ...]] = {
    # A rule's statistics are counted by the loop, whatever people do; an undo leaves them alone.
    Rule: (*CONTENT_FIELDS, "version"),
    # So are a memory's return and Q.
    Memory: ("tier", "covered_by", "restored"),
    # A policy is never overwritten, and its weights are no text.
    PolicySnapshot: tuple(name for name in PolicySnapshot.model_fields if name != "state"),
}


class Recorder:
    """Notes the state of each row before a session changes it for the first time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: dict[tuple[type[SQLModel], Any], tuple[SQLModel, dict[str, Any] | None]] = {}
        event.listen(session, "before_flush", self._note)

    def changes(self) -> list[dict[str, Any]]:
        """Return what changed since: ``table``, ``key``, ``before`` (None: created) and ``after`` (None: deleted)."""
        self._session.flush()
        found = []
        for (table, _), (row, before) in self._before.items():
            after = None if inspect(row).deleted else state_of(row)
            if after != before:
                found.append({"table": table.__tablename__, "key": key_of(row), "before": before, "after": after})
        return found

    def _note(self, session: Session, *_: object) -> None:
        for row in (*session.new, *session.dirty, *session.deleted):
            if isinstance(row, (*_TRAILS, *_COUNTED)) or not isinstance(row, SQLModel):
                continue
            key = (type(row), key_of(row))
            if key not in self._before:
                self._before[key] = (row, None if row in session.new else _state_before(row))


def key_of(row: SQLModel) -> Any:
    """Return the primary key of a row; each recorded table has one of a single column.

    It is known before the flush, but for a snapshot's, of which an action adds one at most.
    """
    mapper: Mapper[Any] = inspect(type(row))
    (column,) = mapper.primary_key
    return getattr(row, str(column.key))


def state_of(row: SQLModel) -> dict[str, Any]:
    """Return a row as JSON: all its columns, of some tables those that people's actions change."""
    return _as_json(type(row), {name: getattr(row, name) for name in _columns(type(row))})


def _state_before(row: SQLModel) -> dict[str, Any]:
    attributes = inspect(row).attrs
    values = {}
    for name in _columns(type(row)):
        history = attributes[name].history
        values[name] = history.deleted[0] if history.deleted else getattr(row, name)
    return _as_json(type(row), values)


def _columns(table: type[SQLModel]) -> tuple[str, ...]:
    return _COLUMNS.get(table) or tuple(table.model_fields)


def _as_json(table: type[SQLModel], values: Mapping[str, Any]) -> dict[str, Any]:
    return table.model_construct(**values).model_dump(mode="json", include=set(values))
