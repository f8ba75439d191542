"""The audit trail: what people did, each entry chained to the one before (design section 12)."""

import hashlib
import json
from datetime import UTC
from typing import Any

from sqlmodel import Session, col, select

from core.clock import Clock
from core.tables import AuditEntry


def record_action(
    session: Session,
    clock: Clock,
    *,
    actor: str,
    action: str,
    object_kind: str,
    object_id: str,
    detail: dict[str, Any] | None = None,
) -> None:
    """Append an entry in the caller's transaction; it exists exactly if the action does."""
    last = session.exec(select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(1)).first()
    entry = AuditEntry(
        actor=actor,
        action=action,
        object_kind=object_kind,
        object_id=object_id,
        detail=detail or {},
        created_at=clock(),
        previous_digest=last.digest if last is not None else "",
    )
    entry.digest = entry_digest(entry)
    session.add(entry)
    session.flush()


def entry_digest(entry: AuditEntry) -> str:
    """Compute the digest an entry must have: SHA-256 over its content and the digest before it."""
    content = [
        entry.previous_digest,
        entry.actor,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.detail,
        entry.created_at.astimezone(UTC).isoformat(),
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
