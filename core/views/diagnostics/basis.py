"""What the troubles of all domains hang on, in figures that are quick to read."""

from collections.abc import Hashable

from sqlalchemy import func, select
from sqlmodel import Session, col

from core.tables import AuditEntry, Conflict, Round, RuleEvent


def basis(session: Session) -> tuple[Hashable, ...]:
    """Return a value that stays the same as long as ``troubles`` finds the same under the same settings.

    Detectors read finished rounds with what was done in them, rules as their events made them, and conflicts as
    the loop opens and people settle them; a round at work does not count before it ends.
    """
    rounds = session.execute(
        select(col(Round.environment), func.count(), func.max(col(Round.number)), func.max(col(Round.ended_at)))
        .where(col(Round.phase) == "finished")
        .group_by(col(Round.environment))
        .order_by(col(Round.environment))
    ).all()
    status = col(Conflict.status)
    conflicts = session.execute(select(status, func.count()).group_by(status).order_by(status)).all()
    newest = session.execute(
        select(
            select(func.max(col(RuleEvent.id))).scalar_subquery(),
            select(func.max(col(AuditEntry.id))).scalar_subquery(),
        )
    ).one()
    return tuple(map(tuple, rounds)), tuple(map(tuple, conflicts)), tuple(newest)
