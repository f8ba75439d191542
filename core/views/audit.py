"""The audit trail as people read it: found by SQL, each entry with what it changed (design section 12)."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, func, select

from core.errors import UserError
from core.tables import AuditEntry, AuditObject, Conflict, Rule, Undone
from core.text import for_spreadsheet
from core.views.paging import PAGE_SIZE, Page

_COLUMNS = (
    "id",
    "created_at",
    "actor",
    "action",
    "object_kind",
    "object_id",
    "detail",
    "changes",
    "previous_digest",
    "digest",
)
COUNTED = 2_000
"""Entries listed at most: nobody reads further back page by page, and counting all takes longer than reading."""

_BATCH = 500


@dataclass(frozen=True)
class AuditFilter:
    """Which entries to show; what is empty does not count.

    Attributes:
        person: who acted, exactly.
        action: a value of ``Action``.
        kind: kind of the object acted on; with ``object_id`` also the table of a row changed along with it.
        object_id: an object that the entry acted on or changed, exactly.
        since: not before this moment.
        before: before this moment.
        entry_id: this entry alone.
    """

    person: str = ""
    action: str = ""
    kind: str = ""
    object_id: str = ""
    since: datetime | None = None
    before: datetime | None = None
    entry_id: int | None = None


@dataclass(frozen=True)
class RowChange:
    """One row that an action changed: ``fields`` maps a column to its value before and after.

    ``way`` is created, changed or deleted.
    """

    table: str
    key: str
    way: str
    fields: dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class TrailRow:
    """One entry. ``undone_by`` is the entry that took it back; ``rules`` are those it touched: id and name.

    ``changes`` is None in entries from before changes were recorded; those cannot be undone.
    """

    id: int
    at: datetime
    actor: str
    action: str
    kind: str
    object_id: str
    detail: dict[str, Any]
    changes: tuple[RowChange, ...] | None
    rules: tuple[tuple[str, str], ...]
    undone_by: int | None


def trail(session: Session, wanted: AuditFilter, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[TrailRow]:
    """List entries, newest first; no more than ``COUNTED`` are counted, however many there are.

    Args:
        session: for reading.
        wanted: which.
        limit: rows at most.
        offset: rows to skip.

    Raises:
        UserError: an entry cannot be read any more.
    """
    where = _conditions(wanted)
    counted = select(AuditEntry.id).where(*where).limit(COUNTED).subquery()
    total = session.exec(select(func.count()).select_from(counted)).one()
    newest = col(AuditEntry.id).desc()
    ids = session.exec(select(AuditEntry.id).where(*where).order_by(newest).limit(limit).offset(offset)).all()
    query = select(AuditEntry).where(col(AuditEntry.id).in_(ids)).order_by(newest)
    with _readable():
        return Page(_rows(session, session.exec(query).all()), total)


def people_in_trail(session: Session) -> tuple[str, ...]:
    """List everybody who ever acted, by name."""
    # A step per person instead of one per entry: the index leads from each name to the next.
    found: list[str] = []
    while True:
        later = [col(AuditEntry.actor) > found[-1]] if found else []
        following = session.exec(select(func.min(AuditEntry.actor)).where(*later)).one()
        if following is None:
            return tuple(found)
        found.append(following)


def trail_as_csv(session: Session, wanted: AuditFilter) -> Iterator[str]:
    """Give the entries that fit as lines of CSV, oldest first, read some at a time."""
    yield _csv_line(_COLUMNS)
    for entry in _all(session, wanted):
        values = entry.model_dump(mode="json", include=set(_COLUMNS))
        yield _csv_line([_cell(values[name]) for name in _COLUMNS])


def trail_as_json(session: Session, wanted: AuditFilter) -> Iterator[str]:
    """Give the entries that fit as pieces of one JSON array, oldest first, read some at a time."""
    yield "["
    for number, entry in enumerate(_all(session, wanted)):
        values = entry.model_dump(mode="json", include=set(_COLUMNS))
        yield (",\n" if number else "\n") + json.dumps({name: values[name] for name in _COLUMNS}, ensure_ascii=False)
    yield "\n]\n"


def _all(session: Session, wanted: AuditFilter) -> Iterator[AuditEntry]:
    last = 0
    while True:
        query = select(AuditEntry).where(*_conditions(wanted), col(AuditEntry.id) > last)
        with _readable():
            entries = session.exec(query.order_by(col(AuditEntry.id)).limit(_BATCH)).all()
        if not entries:
            return
        yield from entries
        last = entries[-1].id or 0
        session.expunge_all()


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if wanted.person:
        where.append(col(AuditEntry.actor) == wanted.person)
    if wanted.action:
        where.append(col(AuditEntry.action) == wanted.action)
    if wanted.object_id:
        touching = select(AuditObject.entry_id).where(AuditObject.object_id == wanted.object_id)
        touching = touching.where(AuditObject.kind == wanted.kind) if wanted.kind else touching
        where.append(col(AuditEntry.id).in_(touching))
    elif wanted.kind:
        where.append(col(AuditEntry.object_kind) == wanted.kind)
    if wanted.since is not None:
        where.append(col(AuditEntry.created_at) >= wanted.since)
    if wanted.before is not None:
        where.append(col(AuditEntry.created_at) < wanted.before)
    if wanted.entry_id is not None:
        where.append(col(AuditEntry.id) == wanted.entry_id)
    return where


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            "An entry cannot be read any more: somebody changed it in the database. “Verify the trail” names it."
        ) from error


def _rows(session: Session, entries: Sequence[AuditEntry]) -> tuple[TrailRow, ...]:
    ids = [entry.id for entry in entries]
    pairs = select(Undone.entry_id, Undone.by_entry_id).where(col(Undone.entry_id).in_(ids))
    undone = dict(session.exec(pairs).all())
    touched = {entry.id: _rules_of(session, entry) for entry in entries}
    every = {rule_id for rule_ids in touched.values() for rule_id in rule_ids}
    names = dict(session.exec(select(Rule.id, Rule.name).where(col(Rule.id).in_(every))).all())
    return tuple(
        _row(entry, undone.get(entry.id or 0), {one: names[one] for one in touched[entry.id] if one in names})
        for entry in entries
    )


def _rules_of(session: Session, entry: AuditEntry) -> list[str]:
    found = [entry.object_id] if entry.object_kind == "rule" else []
    if entry.object_kind == "conflict" and (conflict := session.get(Conflict, entry.object_id)) is not None:
        found += [conflict.rule_a, conflict.rule_b]
    found += [str(entry.detail["rule_id"])] if "rule_id" in entry.detail else []
    found += [str(change["key"]) for change in entry.changes or [] if change["table"] == "rule"]
    return list(dict.fromkeys(found))


def _row(entry: AuditEntry, undone_by: int | None, rules: Mapping[str, str]) -> TrailRow:
    return TrailRow(
        id=entry.id or 0,
        at=entry.created_at,
        actor=entry.actor,
        action=entry.action,
        kind=entry.object_kind,
        object_id=entry.object_id,
        detail=entry.detail,
        changes=None if entry.changes is None else tuple(_change(change) for change in entry.changes),
        rules=tuple(rules.items()),
        undone_by=undone_by,
    )


def _change(change: Mapping[str, Any]) -> RowChange:
    before, after = change["before"] or {}, change["after"] or {}
    way = "created" if change["before"] is None else "deleted" if change["after"] is None else "changed"
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    fields = {name: (before.get(name), after.get(name)) for name in names}
    return RowChange(change["table"], str(change["key"]), way, fields)


def _csv_line(values: Any) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()


def _cell(value: Any) -> str:
    return for_spreadsheet(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
