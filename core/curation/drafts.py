"""What somebody has typed and not sent yet, kept in the database for each person and item.

The browser's own state would do within a session, but a reload begins a new one, and what a person typed for ten
minutes must not depend on that. A draft is nobody else's business: no audit entry, no undo.
"""

from collections.abc import Mapping
from typing import Any

from core.clock import Clock
from core.db import Database
from core.ids import stable_id
from core.tables import ReviewDraft


def save_draft(
    database: Database,
    *,
    item_id: str,
    kind: str,
    content: Mapping[str, Any],
    seen: Mapping[str, int],
    actor: str,
    clock: Clock,
) -> None:
    """Keep a text as it is, whatever its quality; the newest one of a person, item and kind replaces the one before.

    Args:
        database: where to.
        item_id: the item it is for.
        kind: edit or merge.
        content: what was typed, by field.
        seen: the rules it was written for and their versions.
        actor: who typed it.
        clock: tells the time.
    """
    with database.write() as session:
        session.merge(
            ReviewDraft(
                id=draft_id(actor, item_id, kind),
                actor=actor,
                item_id=item_id,
                kind=kind,
                content=dict(content),
                seen=dict(seen),
                saved_at=clock(),
            )
        )


def discard_draft(database: Database, *, item_id: str, kind: str, actor: str) -> None:
    """Forget a draft, if there is one."""
    with database.write() as session:
        row = session.get(ReviewDraft, draft_id(actor, item_id, kind))
        if row is not None:
            session.delete(row)


def draft_id(actor: str, item_id: str, kind: str) -> str:
    """Return the id of a person's draft for an item."""
    return stable_id("draft", actor, item_id, kind)
