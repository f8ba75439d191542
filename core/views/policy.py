"""The policy as people read it: phases, snapshots, guardrail, log and explanations (design section 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

import numpy as np
from sqlalchemy import func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.errors import UserError
from core.policy.adapter import Adapter
from core.policy.phases import Readiness, readiness
from core.policy.snapshots import guardrail, last_good_snapshot, newest_snapshot
from core.settings import Settings
from core.statistics import EMPTY, Interval, wilson
from core.tables import Memory, PolicyEvent, PolicySnapshot
from core.views.paging import PAGE_SIZE, Page

EXPLAINED = "explained"

_STATES = 50
_ACTIONS = 10
_LISTED: tuple[Any, ...] = (
    PolicySnapshot.id, PolicySnapshot.round_number, PolicySnapshot.updates, PolicySnapshot.success,
    PolicySnapshot.turns, PolicySnapshot.tasks, PolicySnapshot.good, PolicySnapshot.created_at,
)  # fmt: skip


@dataclass(frozen=True)
class PhaseState:
    """The phase in force, and what each later one needs, in order."""

    phase: str
    readiness: tuple[Readiness, ...]


@dataclass(frozen=True)
class SnapshotRow:
    """One snapshot with its evaluation: ``success`` on held-out tasks, and mean turns (None: not evaluated)."""

    id: int
    round_number: int | None
    updates: int
    success: Interval
    turns: float | None
    good: bool
    created_at: datetime
    in_force: bool


@dataclass(frozen=True)
class GuardrailState:
    """What the guardrail goes by.

    Attributes:
        worse: evaluations in a row that were worse than the good one.
        patience: so many of them restore the last good snapshot.
        success: of the good evaluation, in [0, 1]; None before the first.
        turns: of the good evaluation.
        good_id: the snapshot that would be restored; None for none.
    """

    worse: int
    patience: int
    success: float | None
    turns: float | None
    good_id: int | None


@dataclass(frozen=True)
class PolicyEventRow:
    """One entry of the policy's log; fields as in the table."""

    id: int
    kind: str
    actor: str
    round_number: int | None
    snapshot_id: int | None
    details: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True)
class Explanation:
    """What the adapter learned, in words.

    Attributes:
        id: of the log's entry.
        words: the commonest ones of the states at hand.
        action: whose bias changed.
        before: mean bias in the snapshot before, in logits.
        after: mean bias now.
        n: decisions it was told from.
        episodes: ids of those that caused it.
        example: a state of this kind.
        round_number: in which it was told.
        created_at: when.
    """

    id: int
    words: tuple[str, ...]
    action: str
    before: float
    after: float
    n: int
    episodes: tuple[str, ...]
    example: str
    round_number: int | None
    created_at: datetime


@dataclass(frozen=True)
class ShiftedAction:
    """The mean bias of an action over the latest states, in logits: now, and in the other snapshot."""

    action: str
    now: float
    then: float


@dataclass(frozen=True)
class SnapshotChanges:
    """What restoring a snapshot would change.

    Attributes:
        states: latest decisions that both were asked about.
        other_choice: in how many of them another action has the largest bias.
        shifted: actions whose mean bias would change, the largest change first.
        unknown: the snapshot is of another embedding model, so that it cannot be compared or used.
    """

    states: int
    other_choice: int
    shifted: tuple[ShiftedAction, ...]
    unknown: bool = False


def phase_state(session: Session, environment: str, settings: Settings, now: datetime) -> PhaseState:
    """Tell the phase in force and what is still missing for each later one.

    Args:
        session: for reading.
        environment: whose experience.
        settings: in force.
        now: UTC.
    """
    return PhaseState(settings.policy.phase, readiness(session, environment, settings, now))


def snapshots(session: Session, environment: str, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[SnapshotRow]:
    """List snapshots, newest first; the newest is in force."""
    where = col(PolicySnapshot.environment) == environment
    total = session.exec(select(func.count()).select_from(PolicySnapshot).where(where)).one()
    newest = session.exec(select(func.max(PolicySnapshot.id)).where(where)).one()
    # Their weights are megabytes, so only the listed columns are read.
    query = select_columns(*_LISTED).where(where).order_by(col(PolicySnapshot.id).desc())
    found = session.execute(query.limit(limit).offset(offset))
    return Page(tuple(_snapshot(row, newest) for row in found), total)


def guardrail_state(session: Session, environment: str, settings: Settings) -> GuardrailState:
    """Tell how near the guardrail is to restoring a snapshot, and which."""
    rail, good = guardrail(session, environment), last_good_snapshot(session, environment)
    return GuardrailState(
        worse=rail.worse,
        patience=settings.policy.guardrail_evaluations,
        success=None if rail.good is None else rail.good.success,
        turns=None if rail.good is None else rail.good.turns,
        good_id=None if good is None else good.id,
    )


def policy_log(session: Session, environment: str, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[PolicyEventRow]:
    """List what happened to a policy, newest first, without explanations, which have a list of their own."""
    where = (col(PolicyEvent.environment) == environment, col(PolicyEvent.kind) != EXPLAINED)
    total = session.exec(select(func.count()).select_from(PolicyEvent).where(*where)).one()
    query = select(PolicyEvent).where(*where).order_by(col(PolicyEvent.id).desc()).limit(limit).offset(offset)
    return Page(
        tuple(
            PolicyEventRow(
                one.id or 0, one.kind, one.actor, one.round_number, one.snapshot_id, one.details, one.created_at
            )
            for one in session.exec(query)
        ),
        total,
    )


def explanations(session: Session, environment: str, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[Explanation]:
    """List what the adapter learned, in words, newest first."""
    where = (col(PolicyEvent.environment) == environment, col(PolicyEvent.kind) == EXPLAINED)
    total = session.exec(select(func.count()).select_from(PolicyEvent).where(*where)).one()
    query = select(PolicyEvent).where(*where).order_by(col(PolicyEvent.id).desc()).limit(limit).offset(offset)
    return Page(tuple(_explanation(one) for one in session.exec(query)), total)


def snapshot_changes(session: Session, environment: str, snapshot_id: int, settings: Settings) -> SnapshotChanges:
    """Tell what restoring a snapshot would change, by the biases on the latest remembered states.

    Args:
        session: for reading.
        environment: whose policy.
        snapshot_id: the snapshot to restore.
        settings: in force.

    Raises:
        UserError: there is no such snapshot of this environment.
    """
    newest, other = newest_snapshot(session, environment), session.get(PolicySnapshot, snapshot_id)
    if newest is None or other is None or other.environment != environment:
        raise UserError("There is no snapshot {id}.", id=snapshot_id)
    now, then = (Adapter.restored(one.state, settings.policy) for one in (newest, other))
    if now.dim != then.dim:
        return SnapshotChanges(0, 0, (), unknown=True)
    states = [state for state in _latest_states(session, environment) if len(state) == now.dim]
    actions = list(dict.fromkeys([*now.actions, *then.actions]))
    before = [now.bias(state, actions) for state in states]
    after = [then.bias(state, actions) for state in states]
    if not states or not actions:
        return SnapshotChanges(0, 0, ())
    other_choice = sum(_preferred(one) != _preferred(two) for one, two in zip(before, after, strict=True))
    return SnapshotChanges(len(states), other_choice, _shifted(actions, before, after))


def _snapshot(row: Any, newest: int | None) -> SnapshotRow:
    """Read the columns of ``_LISTED``."""
    return SnapshotRow(
        id=row.id,
        round_number=row.round_number,
        updates=row.updates,
        success=EMPTY if row.success is None else wilson(round(row.success * row.tasks), row.tasks),
        turns=row.turns,
        good=row.good,
        created_at=row.created_at,
        in_force=row.id == newest,
    )


def _preferred(biases: dict[str, float]) -> str:
    return max(biases, key=lambda action: (biases[action], action))


def _shifted(
    actions: Sequence[str], before: Sequence[dict[str, float]], after: Sequence[dict[str, float]]
) -> tuple[ShiftedAction, ...]:
    found = [
        ShiftedAction(action, fmean(one[action] for one in before), fmean(one[action] for one in after))
        for action in actions
    ]
    changed = sorted((one for one in found if one.now != one.then), key=lambda one: -abs(one.now - one.then))
    return tuple(changed[:_ACTIONS])


def _latest_states(session: Session, environment: str) -> list[np.ndarray]:
    query = select(Memory.vector).where(Memory.environment == environment, col(Memory.vector).is_not(None))
    rows = session.exec(query.order_by(col(Memory.id).desc()).limit(_STATES))
    return [np.array(np.frombuffer(vector or b"", dtype="<f4")) for vector in rows]


def _explanation(event: PolicyEvent) -> Explanation:
    told = event.details
    return Explanation(
        id=event.id or 0,
        words=tuple(told["words"]),
        action=told["action"],
        before=float(told["before"]),
        after=float(told["after"]),
        n=int(told["n"]),
        episodes=tuple(told["episodes"]),
        example=told["example"],
        round_number=event.round_number,
        created_at=event.created_at,
    )
