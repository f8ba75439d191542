"""What waits for a person, in order, and which item somebody gets next (design section 12)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, or_, tuple_, union_all
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.rules.lifecycle import State
from core.rules.opinions import approvals_of
from core.rules.policies import Decision, stored_policies
from core.tables import Approval, Assignment, Claim, Conflict, EvidenceWish, Proposal, Round, Rule
from core.views.paging import PAGE_SIZE, Page


@dataclass(frozen=True)
class QueueFilter:
    """Which waiting items are asked for; all by default.

    Attributes:
        domain: of the rule; None for all.
        origin: of the rule; None for all.
        min_confidence: of the rule, in [0, 1].
        max_confidence: likewise; both ends count.
        mine: only what is assigned to whoever asks.
        parked: instead of what waits, what is out of the queue until there is more evidence.
        unruled: only what no policy approves.
    """

    domain: str | None = None
    origin: str | None = None
    min_confidence: float = 0.0
    max_confidence: float = 1.0
    mine: bool = False
    parked: bool = False
    unruled: bool = False


@dataclass(frozen=True)
class QueueItem:
    """One waiting item.

    Attributes:
        kind: rule or proposal.
        id: the rule's or the proposal's.
        name: the rule's, like the three that follow.
        domain: may be empty.
        verified: its verified successes.
        round_number: in which the item came up, if in one.
        created_at: since when it waits.
        claimed_by: who has it before them now; None if nobody has.
        assigned_to: whose it is; None if anybody's.
    """

    kind: str
    id: str
    name: str
    domain: str
    verified: int
    round_number: int | None
    created_at: datetime
    claimed_by: str | None = None
    assigned_to: str | None = None


Columns = Select[Any]
EVERYTHING = QueueFilter()


def queue(
    session: Session,
    wanted: QueueFilter = EVERYTHING,
    *,
    actor: str = "",
    now: datetime | None = None,
    limit: int = PAGE_SIZE,
    offset: int = 0,
) -> Page[QueueItem]:
    """List what waits, oldest first: candidates nobody approved yet, and open proposals.

    Args:
        session: for reading.
        wanted: filters.
        actor: for whom: what they have approved already waits for others; '' for everybody's.
        now: the present moment, for claims; None leaves them out.
        limit: rows at most.
        offset: rows to skip.
    """
    parts = _waiting(session, wanted, actor)
    total = _count(session, parts)
    return Page(_read(session, parts, now, limit, offset), total)


def next_item(
    session: Session,
    wanted: QueueFilter,
    *,
    actor: str,
    now: datetime,
    after: QueueItem | None = None,
    step: Literal[1, -1] = 1,
) -> QueueItem | None:
    """Return the item that somebody gets next: not one that is somebody else's at the moment; None if none is left.

    Args:
        session: for reading.
        wanted: filters.
        actor: who asks.
        now: the present moment.
        after: the item before; None: what they have a claim on already, else the oldest.
        step: 1 for the next one, -1 for the one before; both go round at the ends.
    """
    parts = [
        part.outerjoin(Claim, col(Claim.item_id) == _id(part))
        .outerjoin(Assignment, col(Assignment.item_id) == _id(part))
        .where(
            or_(col(Claim.item_id).is_(None), col(Claim.holder) == actor, col(Claim.until) <= now),
            or_(col(Assignment.item_id).is_(None), col(Assignment.person) == actor),
        )
        for part in _waiting(session, wanted, actor)
    ]
    if after is None:
        held = [part.where(col(Claim.holder) == actor, col(Claim.until) > now) for part in parts]
        return next(iter(_read(session, held, now, 1, 0)), None) or next(iter(_read(session, parts, now, 1, 0)), None)
    beyond = [part.where(_beyond(part, after, step)) for part in parts]
    found = _read(session, beyond, now, 1, 0, step=step) or _read(session, parts, now, 1, 0, step=step)
    return found[0] if found else None


def find_item(session: Session, item_id: str, wanted: QueueFilter, *, actor: str, now: datetime) -> QueueItem | None:
    """Return an item if it waits and fits the filters, whoever holds it."""
    parts = [part.where(_id(part) == item_id) for part in _waiting(session, wanted, actor)]
    return next(iter(_read(session, parts, now, 1, 0)), None)


def place_of(session: Session, item: QueueItem, wanted: QueueFilter, *, actor: str) -> int:
    """Return how many items come before one in the queue."""
    parts = [part.where(_beyond(part, item, -1)) for part in _waiting(session, wanted, actor)]
    return _count(session, parts)


def candidate_domains(session: Session) -> tuple[str, ...]:
    """Return the domains that candidates have, for the filter."""
    found = select(Rule.domain).where(Rule.state == State.CANDIDATE.value).distinct().order_by(Rule.domain)
    return tuple(session.exec(found))


def parked_count(session: Session) -> int:
    """Count the candidates that are out of the queue until there is more evidence."""
    parked = select(func.count()).select_from(EvidenceWish).join(Rule, col(Rule.id) == EvidenceWish.rule_id)
    return session.exec(parked.where(*_is_waiting_rule(), _lacks_evidence(session))).one()


def _count(session: Session, parts: list[Columns]) -> int:
    counts = [part.with_only_columns(func.count(), maintain_column_froms=True) for part in parts]
    return sum(int(session.execute(one).scalar_one()) for one in counts)


def _read(
    session: Session, parts: list[Columns], now: datetime | None, limit: int, offset: int, *, step: int = 1
) -> tuple[QueueItem, ...]:
    """Read items in order; each part is cut first, so that the database follows its index and sorts a few rows."""
    cut = []
    for part in parts:
        created, key = part.selected_columns["created_at"], part.selected_columns["id"]
        order = (created, key) if step > 0 else (created.desc(), key.desc())
        cut.append(select_columns(part.order_by(*order).limit(offset + limit).subquery()))
    rows = union_all(*cut).subquery()
    order = (rows.c.created_at, rows.c.id) if step > 0 else (rows.c.created_at.desc(), rows.c.id.desc())
    found = session.execute(select_columns(rows).order_by(*order).limit(limit).offset(offset)).all()
    ids = [row.id for row in found]
    claims = {
        one.item_id: one.holder
        for one in session.exec(select(Claim).where(col(Claim.item_id).in_(ids)))
        if now is not None and one.until > now
    }
    assigned = select(Assignment.item_id, Assignment.person).where(col(Assignment.item_id).in_(ids))
    people = dict(session.exec(assigned).all())
    return tuple(
        QueueItem(
            kind=row.kind,
            id=row.id,
            name=row.name,
            domain=row.domain,
            verified=row.verified,
            round_number=row.round_number,
            created_at=row.created_at,
            claimed_by=claims.get(row.id),
            assigned_to=people.get(row.id),
        )
        for row in found
    )


def _waiting(session: Session, wanted: QueueFilter, actor: str) -> list[Columns]:
    """Return the two queries whose rows wait: candidates, and proposals (not where candidates are filtered)."""
    rules: Any = select_columns(
        literal("rule").label("kind"),
        col(Rule.id),
        col(Rule.name),
        col(Rule.domain),
        col(Rule.verified),
        col(Rule.created_round).label("round_number"),
        col(Rule.created_at),
    ).where(*_is_waiting_rule())
    parked = _is_parked(session)
    rules = rules.where(parked if wanted.parked else ~parked)
    proposals: Any = (
        select_columns(
            literal("proposal").label("kind"),
            col(Proposal.id),
            col(Rule.name),
            col(Rule.domain),
            col(Rule.verified),
            col(Proposal.round_number),
            col(Proposal.created_at),
        )
        .join_from(Proposal, Rule, col(Rule.id) == col(Proposal.rule_id))
        .where(col(Proposal.status) == "open")
    )
    parts = [rules] if wanted.parked or wanted.unruled else [rules, proposals]
    if wanted.unruled:
        parts = [rules.where(_ruled(session) != Decision.APPROVE.value)]
    return [_filtered(session, part, wanted, actor) for part in parts]


def _filtered(session: Session, part: Columns, wanted: QueueFilter, actor: str) -> Columns:
    if wanted.domain is not None:
        part = part.where(col(Rule.domain) == wanted.domain)
    if wanted.origin is not None:
        part = part.where(col(Rule.origin) == wanted.origin)
    if (wanted.min_confidence, wanted.max_confidence) != (0.0, 1.0):
        part = part.where(col(Rule.confidence).between(wanted.min_confidence, wanted.max_confidence))
    if wanted.mine:
        part = part.where(exists().where(col(Assignment.item_id) == _id(part), col(Assignment.person) == actor))
    approved = _approved_by(session, actor)
    return part.where(_id(part).not_in(approved)) if approved else part


def _is_waiting_rule() -> tuple[ColumnElement[bool], ...]:
    return (col(Rule.state) == State.CANDIDATE.value, col(Rule.approved_by).is_(None))


def _is_parked(session: Session) -> ColumnElement[bool]:
    return exists().where(col(EvidenceWish.rule_id) == col(Rule.id), _lacks_evidence(session))


def _lacks_evidence(session: Session) -> ColumnElement[bool]:
    latest = session.exec(select(func.max(Round.number))).one() or 0
    return or_(col(EvidenceWish.until_verified) > col(Rule.verified), col(EvidenceWish.until_round) > latest)


def _ruled(session: Session) -> ColumnElement[str]:
    """Return what a policy says about a rule, as SQL; '' for nothing, and in a conflict."""
    disputed = exists().where(
        col(Conflict.status) == "open", or_(col(Conflict.rule_a) == col(Rule.id), col(Conflict.rule_b) == col(Rule.id))
    )
    whens: list[Any] = [(disputed, "")]
    for one in stored_policies(session):
        fits: list[ColumnElement[bool]] = [col(Rule.confidence).between(one.min_confidence, one.max_confidence)]
        fits += [col(Rule.origin) == one.origin] if one.origin else []
        fits += [col(Rule.domain) == one.domain] if one.domain else []
        whens.append((and_(*fits), one.decision.value))
    return case(*whens, else_="")


def _approved_by(session: Session, actor: str) -> list[str]:
    """Return the items that wait for others' approvals, since this person has given theirs."""
    if not actor:
        return []
    given = session.exec(
        select(Approval, Rule).join(Rule, col(Rule.id) == Approval.item_id).where(
            Approval.actor == actor, *_is_waiting_rule()
        )
    ).all()  # fmt: skip
    ids = {rule.id for one, rule in given if one in approvals_of(session, rule.id, rule, rule)}
    return sorted(ids | _accepted_by(session, actor))


def _accepted_by(session: Session, actor: str) -> set[str]:
    query = select(Approval.item_id).join(Proposal, col(Proposal.id) == Approval.item_id)
    return set(session.exec(query.where(Approval.actor == actor, Proposal.status == "open")))


def _id(part: Columns) -> ColumnElement[str]:
    return part.selected_columns["id"]


def _beyond(part: Columns, item: QueueItem, step: int) -> ColumnElement[bool]:
    here = tuple_(part.selected_columns["created_at"], _id(part))
    # The literals need the column's type: a moment is stored as text.
    there = tuple_(literal(item.created_at, part.selected_columns["created_at"].type), literal(item.id, _id(part).type))
    return here > there if step > 0 else here < there
