"""The audit trail: what people did, each entry chained to the one before (design section 12)."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.i18n import mark
from core.tables import AuditEntry, AuditHead, AuditObject

_HEAD = "audit"
_BATCH = 1000
_ID = col(AuditEntry.id)
_CHANGED = mark("This entry was changed after it was written.")


@dataclass(frozen=True)
class BrokenLink:
    """The first place where the trail is not what was written.

    ``entry_id`` is the entry to look at, or None if entries are missing at the end; ``problem`` is a template
    to translate.
    """

    entry_id: int | None
    problem: str


@dataclass(frozen=True)
class Fingerprint:
    """Where the trail ends: how many entries it has, and the digest of the last one, which covers them all."""

    entries: int
    digest: str


def next_entry_id(session: Session) -> int:
    """Return the id that the next entry will have, if nothing else is recorded in this transaction."""
    return (session.exec(select(func.max(AuditEntry.id))).one() or 0) + 1


def record_action(  # noqa: PLR0913
    session: Session,
    clock: Clock,
    *,
    actor: str,
    action: str,
    object_kind: str,
    object_id: str,
    detail: dict[str, Any] | None = None,
    changes: Sequence[dict[str, Any]] = (),
) -> None:
    """Append an entry in the caller's transaction; it exists exactly if the action does.

    Args:
        session: a write session.
        clock: tells the time.
        actor: who acts.
        action: what they do.
        object_kind: what they do it to.
        object_id: which one.
        detail: what a reader should know; JSON.
        changes: each row changed with its state before and after, so that the action can be undone.
    """
    head = session.get(AuditHead, _HEAD) or AuditHead(name=_HEAD)
    entry = AuditEntry(
        id=next_entry_id(session),
        actor=actor,
        action=action,
        object_kind=object_kind,
        object_id=object_id,
        detail=detail or {},
        changes=list(changes),
        created_at=clock(),
        previous_digest=head.digest,
    )
    entry.digest = entry_digest(entry)
    head.entries, head.digest = head.entries + 1, entry.digest
    session.add(entry)
    session.add(head)
    session.flush()
    session.add_all(_touched(entry))
    session.flush()


def entry_digest(entry: AuditEntry) -> str:
    """Compute the digest an entry must have: SHA-256 over its content and the digest before it."""
    content: list[Any] = [
        entry.previous_digest,
        entry.actor,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.detail,
        entry.created_at.astimezone(UTC).isoformat(),
    ]
    if entry.changes is not None:  # older entries have none, and their digest does not cover the id
        content += [entry.id, entry.changes]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def first_broken_link(session: Session) -> BrokenLink | None:
    """Check every entry and the end of the trail; None if all is as it was written.

    Whoever can rewrite the whole database can also rewrite the whole trail: note its fingerprint down elsewhere.
    """
    previous, count, with_changes = "", 0, False
    for entry in _entries(session):
        if isinstance(entry, BrokenLink):
            return entry
        if entry.previous_digest != previous:
            return BrokenLink(entry.id, mark("An entry before this one was removed, added or changed."))
        # Dropping ``changes`` would turn a new entry into one of the older form, which covers less.
        if not _is_intact(entry) or (with_changes and entry.changes is None):
            return BrokenLink(entry.id, _CHANGED)
        previous, count, with_changes = entry.digest, count + 1, with_changes or entry.changes is not None
    if fingerprint(session) != Fingerprint(count, previous):
        return BrokenLink(None, mark("Entries are missing at the end of the trail, or its end mark was changed."))
    return None


def fingerprint(session: Session) -> Fingerprint:
    """Return where the trail ends."""
    head = session.get(AuditHead, _HEAD) or AuditHead(name=_HEAD)
    return Fingerprint(head.entries, head.digest)


def _entries(session: Session) -> Iterator[AuditEntry | BrokenLink]:
    """Read the trail in order, some entries at a time; one that cannot even be read is the first broken link."""
    ids: Sequence[int | None] = ()
    while True:
        later = [ids[-1] < _ID] if ids else []
        ids = session.exec(select(AuditEntry.id).where(*later).order_by(_ID).limit(_BATCH)).all()
        if not ids:
            return
        query = select(AuditEntry).where(_ID.between(ids[0], ids[-1])).order_by(_ID)
        try:
            batch = session.exec(query).all()
        except (ValueError, TypeError):
            yield from _one_by_one(session, ids)
            return
        yield from batch
        session.expunge_all()


def _one_by_one(session: Session, ids: Sequence[int | None]) -> Iterator[AuditEntry | BrokenLink]:
    for entry_id in ids:
        try:
            yield session.get_one(AuditEntry, entry_id)
        except (ValueError, TypeError):
            yield BrokenLink(entry_id, _CHANGED)


def _is_intact(entry: AuditEntry) -> bool:
    try:
        return entry.digest == entry_digest(entry)
    except (AttributeError, TypeError):  # a column holds what no entry ever held, such as bytes or no moment
        return False


def _touched(entry: AuditEntry) -> list[AuditObject]:
    """Return what an entry is to be found by."""
    found = {(entry.object_id, entry.object_kind)}
    found |= {(str(change["key"]), str(change["table"])) for change in entry.changes or []}
    return [AuditObject(object_id=key, kind=kind, entry_id=entry.id or 0) for key, kind in sorted(found)]
