"""What somebody did last and can still take back."""

from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import Session, col, select

from core.people.permissions import Action
from core.tables import AuditEntry, Proposal, Rule, Undone

UNDO = Action.UNDO.value
_DECISIONS = tuple(
    action.value
    for action in (
        Action.APPROVE,
        Action.EDIT_AND_APPROVE,
        Action.REFUSE,
        Action.MERGE_INTO,
        Action.ASK_EVIDENCE,
        Action.ACCEPT_PROPOSAL,
        Action.REFUSE_PROPOSAL,
    )
)


@dataclass(frozen=True)
class OwnAction:
    """One entry of the audit trail, as its effect.

    Attributes:
        entry_id: the entry.
        action: what was done; of an undo, what it took back (or brought back, if that was an undo itself).
        object_id: what it was done to.
        name: of that: a rule's name, else the id.
        taken_back: the entry's effect is that the action is not done any more.
    """

    entry_id: int
    action: str
    object_id: str
    name: str
    taken_back: bool


def newest_entry(session: Session, actor: str) -> int:
    """Return the id of the newest entry of somebody; 0 if there is none."""
    return session.exec(select(func.max(AuditEntry.id)).where(AuditEntry.actor == actor)).one() or 0


def entries_since(session: Session, actor: str, entry_id: int) -> tuple[int, ...]:
    """Return the ids of somebody's entries after one, newest first."""
    found = select(AuditEntry.id).where(AuditEntry.actor == actor, col(AuditEntry.id) > entry_id)
    return tuple(int(one or 0) for one in session.exec(found.order_by(col(AuditEntry.id).desc())))


def own_action(session: Session, entry_id: int) -> OwnAction | None:
    """Return one entry of the trail; None if there is none."""
    entry = session.get(AuditEntry, entry_id)
    return None if entry is None else _own_action(session, entry)


def last_action(session: Session, actor: str) -> OwnAction | None:
    """Return the newest action of somebody that stands; undone again and again, it leads back in time.

    An undo is no such action: taking it back would do the same thing again. What was done again that way is one.
    """
    done_again = (AuditEntry.action == UNDO) & (col(AuditEntry.detail)["undone"].as_string() == UNDO)
    query = (
        select(AuditEntry)
        .outerjoin(Undone, col(Undone.entry_id) == col(AuditEntry.id))
        .where(
            AuditEntry.actor == actor,
            (AuditEntry.action != UNDO) | done_again,
            col(AuditEntry.changes).is_not(None),
            col(Undone.entry_id).is_(None),
        )
        .order_by(col(AuditEntry.id).desc())
        .limit(1)
    )
    entry = session.exec(query).first()
    return None if entry is None else _own_action(session, entry)


def decided_since(session: Session, actor: str, entry_id: int) -> int:
    """Count somebody's decisions in Review after an entry of the trail, without those that were undone."""
    query = (
        select(func.count())
        .select_from(AuditEntry)
        .outerjoin(Undone, col(Undone.entry_id) == col(AuditEntry.id))
        .where(
            AuditEntry.actor == actor,
            col(AuditEntry.id) > entry_id,
            col(AuditEntry.action).in_(_DECISIONS),
            col(Undone.entry_id).is_(None),
        )
    )
    return session.exec(query).one()


def _own_action(session: Session, entry: AuditEntry) -> OwnAction:
    first, taken_back = entry, False
    while first.action == UNDO:
        first, taken_back = session.get_one(AuditEntry, int(first.object_id)), not taken_back
    name = _name(session, first.object_kind, first.object_id)
    return OwnAction(entry.id or 0, first.action, first.object_id, name, taken_back)


def _name(session: Session, kind: str, object_id: str) -> str:
    if kind == "proposal":
        proposal = session.get(Proposal, object_id)
        object_id = proposal.rule_id if proposal is not None else object_id
    rule = session.get(Rule, object_id) if kind in ("rule", "proposal") else None
    return object_id if rule is None else rule.name
