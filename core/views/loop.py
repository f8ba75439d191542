"""The loop as people watch it: is it alive, its rounds, its settings, its refusals (section 8)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_args

from sqlalchemy import func
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from core.control import current_settings
from core.settings import ADJUSTABLE, PHASE, Settings
from core.tables import Lease, LoopControl, Refusal, Round, SettingOverride
from core.views.paging import PAGE_SIZE, Page

LOOP_STATES = ("running", "slow", "paused", "stopped")

_SLOW_BEATS = 3
"""Heartbeats that may be missed before the loop is called slow."""


@dataclass(frozen=True)
class LoopState:
    """Whether the loop runs.

    Attributes:
        status: running (works or waits for work), slow (heartbeat late), paused (alive, told to rest) or
            stopped (no process holds a valid lease).
        wanted: run or pause, as people last asked; pause if nobody ever did.
        steps: rounds still to run although paused.
        reason: why the loop paused itself, as a template that ``reason_values`` go into; '' if it did not.
        activity: what it is doing, in its own words.
        heartbeat_age: since the last sign of life; None if there never was one.
        round_number: the round at work, None between rounds.
        phase: last finished phase of that round.
    """

    status: str
    wanted: str
    steps: int
    reason: str
    reason_values: dict[str, Any]
    activity: str
    owner: str
    heartbeat_age: timedelta | None
    changed_by: str
    changed_at: datetime | None
    round_number: int | None
    phase: str


@dataclass(frozen=True)
class RoundRow:
    """One round; ``verdict`` and ``gain`` hold the figures of the gate and the ablation, {} before them.

    ``error`` is a template that ``error_values`` go into.
    """

    number: int
    environment: str
    trigger: str
    status: str
    phase: str
    verdict: dict[str, Any]
    gain: dict[str, Any]
    notes: tuple[dict[str, Any], ...]
    error: str | None
    error_values: dict[str, Any]
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class VerdictCount:
    """How many rounds of an environment ended alike; ``verdict`` is '' where the gate has said nothing (yet)."""

    environment: str
    status: str
    verdict: str
    n: int


@dataclass(frozen=True)
class SettingRow:
    """One adjustable setting with its limits; ``name`` is ``group.field``, ``default`` what it starts from.

    ``kind`` is bool, int, float, choice or optional (a number, or None for no limit).
    """

    name: str
    group: str
    kind: str
    value: Any
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    description: str
    changed_by: str | None
    changed_at: datetime | None


@dataclass(frozen=True)
class RefusalRow:
    """A draft that was refused, with its reasons (each: detector, template, values)."""

    id: str
    round_number: int | None
    draft: dict[str, Any]
    reasons: tuple[dict[str, Any], ...]
    revived_as: str | None
    created_at: datetime


def loop_state(session: Session, *, now: datetime, heartbeat_s: float, lease_ttl_s: float) -> LoopState:
    """Tell a running loop from a slow, a paused and a stopped one.

    Args:
        session: for reading.
        now: the present moment, aware.
        heartbeat_s: seconds between heartbeats.
        lease_ttl_s: seconds after which a silent lease is void.
    """
    lease = session.exec(select(Lease).order_by(col(Lease.heartbeat_at).desc()).limit(1)).first()
    control = session.exec(select(LoopControl).limit(1)).first()
    working = session.exec(
        select(Round.number, Round.phase).where(Round.status == "running").order_by(col(Round.number).desc()).limit(1)
    ).first()
    age = now - lease.heartbeat_at if lease else None
    return LoopState(
        status=_status(age, control, heartbeat_s, lease_ttl_s),
        wanted=control.wanted if control else "pause",
        steps=control.steps if control else 0,
        reason=control.reason if control else "",
        reason_values=control.reason_values if control else {},
        activity=lease.activity if lease else "",
        owner=lease.owner if lease else "",
        heartbeat_age=age,
        changed_by=control.changed_by if control else "",
        changed_at=control.changed_at if control else None,
        round_number=working[0] if working else None,
        phase=working[1] if working else "",
    )


def rounds(session: Session, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[RoundRow]:
    """List rounds, newest first."""
    total = session.exec(select(func.count()).select_from(Round)).one()
    found = session.exec(select(Round).order_by(col(Round.number).desc()).limit(limit).offset(offset)).all()
    return Page(
        tuple(
            RoundRow(
                number=one.number,
                environment=one.environment,
                trigger=one.trigger,
                status=one.status,
                phase=one.phase,
                verdict=one.verdict,
                gain=one.gain,
                notes=tuple(one.notes),
                error=one.error,
                error_values=one.error_values,
                started_at=one.started_at,
                ended_at=one.ended_at,
            )
            for one in found
        ),
        total,
    )


def rounds_by_verdict(session: Session) -> tuple[VerdictCount, ...]:
    """Count rounds by environment, status and verdict, in this order."""
    place = (col(Round.environment), col(Round.status), func.coalesce(col(Round.verdict)["verdict"].as_string(), ""))
    found = session.execute(select_columns(*place, func.count()).group_by(*place).order_by(*place))
    return tuple(VerdictCount(*values) for values in found)


def settings_in_force(session: Session, settings: Settings) -> tuple[SettingRow, ...]:
    """List the adjustable settings as they are in force now, with what people changed; the phase has its own page.

    Args:
        session: for reading.
        settings: as read at the start, without what people changed.

    Raises:
        UserError: a stored change does not fit any more.
    """
    overrides = {one.name: one for one in session.exec(select(SettingOverride)).all()}
    current = current_settings(session, settings)
    rows = []
    for group in ADJUSTABLE:
        for field, info in type(getattr(settings, group)).model_fields.items():
            name = f"{group}.{field}"
            if name == PHASE:
                continue
            kind, choices = _kind(info.annotation)
            changed = overrides.get(name)
            rows.append(
                SettingRow(
                    name=name,
                    group=group,
                    kind=kind,
                    value=getattr(getattr(current, group), field),
                    default=getattr(getattr(settings, group), field),
                    low=_limit(info.metadata, "ge", "gt"),
                    high=_limit(info.metadata, "le", "lt"),
                    choices=choices,
                    description=info.description or "",
                    changed_by=changed.changed_by if changed else None,
                    changed_at=changed.changed_at if changed else None,
                )
            )
    return tuple(rows)


def refusals(session: Session, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page[RefusalRow]:
    """List refused drafts, newest first."""
    total = session.exec(select(func.count()).select_from(Refusal)).one()
    found = session.exec(
        select(Refusal).order_by(col(Refusal.created_at).desc(), Refusal.id).limit(limit).offset(offset)
    ).all()
    return Page(
        tuple(
            RefusalRow(one.id, one.round_number, one.draft, tuple(one.reasons), one.revived_as, one.created_at)
            for one in found
        ),
        total,
    )


def _status(age: timedelta | None, control: LoopControl | None, heartbeat_s: float, lease_ttl_s: float) -> str:
    if age is None or age.total_seconds() > lease_ttl_s:
        return "stopped"
    if age.total_seconds() > _SLOW_BEATS * heartbeat_s:
        return "slow"
    if control is None or (control.wanted != "run" and control.steps == 0):
        return "paused"
    return "running"


def _limit(metadata: list[Any], *names: str) -> float | None:
    for one in metadata:
        for name in names:
            value = getattr(one, name, None)
            if value is not None:
                return float(value)
    return None


def _kind(annotation: Any) -> tuple[str, tuple[str, ...]]:
    arguments = get_args(annotation)
    if type(None) in arguments:
        return "optional", ()
    if arguments:
        return "choice", tuple(str(one) for one in arguments)
    return annotation.__name__, ()
