"""Claims: an item that somebody has before them is nobody else's until the claim runs out (design section 12).

A claim is no decision: it leaves no entry in the audit trail and cannot be undone. Archive and quarantine do not
ask for it, since what does harm must not wait.
"""

from datetime import datetime, timedelta

from sqlmodel import Session

from core.clock import Clock
from core.control import current_settings
from core.curation.desk import Desk
from core.db import Database
from core.errors import ClaimedError
from core.people.accounts import roles_of
from core.people.checks import check_role
from core.people.permissions import Action
from core.settings import Settings
from core.tables import Claim


def claim(database: Database, *, item_id: str, settings: Settings, actor: str, clock: Clock) -> datetime:
    """Take an item, or keep it for longer; returns until when it is kept.

    Args:
        database: where the item is.
        item_id: a rule or a proposal that waits.
        settings: as read at the start; say how long a claim lasts.
        actor: who takes it.
        clock: tells the time.

    Raises:
        NotAllowedError: the actor may not decide on it anyway.
        ClaimedError: somebody else has it; says who and until when.
    """
    with database.write() as session:
        check_role(roles_of(session, actor), Action.APPROVE)
        check_free(session, item_id, actor, clock())
        minutes = current_settings(session, settings).review.claim_minutes
        row = session.get(Claim, item_id) or Claim(item_id=item_id, holder=actor, until=clock())
        row.holder, row.until = actor, clock() + timedelta(minutes=minutes)
        session.add(row)
        return row.until


def release(database: Database, *, item_id: str, actor: str) -> None:
    """Give an item back before the claim runs out; nothing happens if it is not the actor's."""
    with database.write() as session:
        row = session.get(Claim, item_id)
        if row is not None and row.holder == actor:
            session.delete(row)


def check_free(session: Session, item_id: str, actor: str, now: datetime) -> None:
    """Raise if somebody else has the item.

    Raises:
        ClaimedError: says who and until when.
    """
    row = session.get(Claim, item_id)
    if row is not None and row.holder != actor and row.until > now:
        raise ClaimedError(
            "{holder} has this item before them until {until} (UTC). Take another one, or ask them to leave it. "
            "Nothing was changed.",
            holder=row.holder,
            until=f"{row.until:%H:%M:%S}",
        )


def check_claim(desk: Desk, item_id: str) -> None:
    """Raise if somebody else than the person at the desk has the item; raises like ``check_free``."""
    check_free(desk.session, item_id, desk.change.actor, desk.change.clock())
