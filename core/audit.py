"""The audit trail: what people did, each entry chained to the one before (design section 12)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from sqlmodel import Session, col, func, select

from core.clock import Clock
from core.tables import AuditEntry, AuditHead

_HEAD = "audit"


@dataclass(frozen=True)
class BrokenLink:
    """The first place where the trail is not what was written.

    ``entry_id`` is the entry to look at, or None if entries are missing at the end; ``problem`` is a template
    to translate.
    """

    entry_id: int | None
    problem: str


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
    """Check every entry and the end of the trail; None if all is as it was written."""
    previous, count, with_changes = "", 0, False
    query = select(AuditEntry).order_by(col(AuditEntry.id)).execution_options(yield_per=1000)
    for entry in session.exec(query):
        if entry.previous_digest != previous:
            return BrokenLink(entry.id, "An entry before this one was removed, added or changed.")
        # Dropping ``changes`` would turn a new entry into one of the older form, which covers less.
        if entry.digest != entry_digest(entry) or (with_changes and entry.changes is None):
            return BrokenLink(entry.id, "This entry was changed after it was written.")
        previous, count, with_changes = entry.digest, count + 1, with_changes or entry.changes is not None
        session.expunge(entry)
    head = session.get(AuditHead, _HEAD) or AuditHead(name=_HEAD)
    if (head.entries, head.digest) != (count, previous):
        return BrokenLink(None, "Entries are missing at the end of the trail, or its end mark was changed.")
    return None
