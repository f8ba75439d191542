"""What people decide about experience: a memory back from cold, an older policy, how far experience reaches."""

from sqlmodel import Session

from core.clock import Clock
from core.control import current_settings
from core.curation.desk import Desk, at_desk
from core.curation.loop import override
from core.db import Database
from core.episodes.memory.tiers import restore
from core.errors import ConcurrentChangeError, Messages, UserError
from core.people.permissions import Action
from core.policy.phases import PHASES, missing, readiness
from core.policy.snapshots import Occasion, go_back, newest_snapshot
from core.settings import PHASE, Settings
from core.tables import Memory, PolicySnapshot


def restore_memory(database: Database, *, memory_id: int, actor: str, clock: Clock) -> None:
    """Take a memory back from cold; from the next search on it is found again, and stays warm.

    Raises:
        UserError: no such memory, or it is not cold.
    """
    with at_desk(database, Action.RESTORE_MEMORY, actor, clock) as desk:
        memory = desk.session.get(Memory, memory_id)
        if memory is None:
            raise UserError("There is no memory {id}.", id=memory_id)
        desk.check(memory.tier)
        restore(desk.session, memory)
        desk.record(str(memory_id))


def restore_snapshot(
    database: Database, *, snapshot_id: int, in_force: int, reason: str, actor: str, clock: Clock
) -> None:
    """Put an older snapshot of the adapter in force again, bit for bit; the next decision hangs on it.

    Args:
        database: where it is.
        snapshot_id: which one.
        in_force: the snapshot in force, as the person has seen it.
        reason: what the person typed.
        actor: who does it.
        clock: tells the time.

    Raises:
        UserError: no such snapshot, or it is in force.
        ConcurrentChangeError: another one has come into force since.
    """
    with at_desk(database, Action.RESTORE_SNAPSHOT, actor, clock, reason) as desk:
        snapshot = desk.session.get(PolicySnapshot, snapshot_id)
        if snapshot is None:
            raise UserError("There is no snapshot {id}.", id=snapshot_id)
        newest = _in_force(desk.session, snapshot)
        desk.check("in_force" if newest.id == snapshot_id else "earlier")
        if newest.id != in_force:
            raise ConcurrentChangeError(
                "Another policy has come into force since you looked: snapshot {id}. Look again; nothing was changed.",
                id=newest.id,
            )
        go_back(desk.session, snapshot, _occasion(desk))
        desk.record(str(snapshot_id), reason=reason)


def choose_phase(
    database: Database, *, phase: str, environment: str, settings: Settings, actor: str, clock: Clock
) -> None:
    """Say how far experience reaches; a phase needs all that it and those before it need, going back needs nothing.

    Args:
        database: where the setting is.
        phase: static, recall, reward or adapt.
        environment: whose experience has to be ready.
        settings: as read at the start.
        actor: who chooses.
        clock: tells the time.

    Raises:
        UserError: no such phase, or it is not ready yet; says what is missing.
    """
    if phase not in PHASES:
        raise UserError("There is no phase {phase}. Choose from: {phases}.", phase=phase, phases=", ".join(PHASES))
    with at_desk(database, Action.CHOOSE_PHASE, actor, clock) as desk:
        desk.check()
        now = current_settings(desk.session, settings)
        if PHASES.index(phase) > PHASES.index(now.policy.phase):
            lacking = missing(readiness(desk.session, environment, now, clock()), phase)
            if lacking:
                raise UserError(
                    "The phase {what} is not ready yet. {missing} Nothing was changed.",
                    what=phase,
                    missing=Messages(lacking),
                )
        override(desk, PHASE, phase, settings)
        desk.record(PHASE, value=phase, environment=environment)


def take_snapshot_back(desk: Desk, row: PolicySnapshot) -> None:
    """Put in force again what was before a person restored an older snapshot; nothing is taken out of the history.

    Raises:
        ConcurrentChangeError: another policy has come into force since.
    """
    newest = _in_force(desk.session, row)
    if newest.id != row.id:
        raise ConcurrentChangeError(
            "Another policy has come into force since: snapshot {id}. The action cannot be undone; restore the "
            "snapshot that you want instead. Nothing was changed.",
            id=newest.id,
        )
    before = newest_snapshot(desk.session, row.environment, before=row.id)
    if before is not None:
        go_back(desk.session, before, _occasion(desk))


def _in_force(session: Session, snapshot: PolicySnapshot) -> PolicySnapshot:
    return newest_snapshot(session, snapshot.environment) or snapshot


def _occasion(desk: Desk) -> Occasion:
    return Occasion(desk.change.actor, desk.change.clock(), desk.change.round_number)
