"""What people want of the running product, as the database has it: the loop's control row, changed settings."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session, select

from core.clock import Clock
from core.errors import UserError
from core.settings import Settings, with_overrides
from core.tables import LoopControl, SettingOverride

LOOP = "loop"


def current_settings(session: Session, settings: Settings, pinned: frozenset[str] = frozenset()) -> Settings:
    """Return the settings in force: those of the start with what people changed while running.

    Args:
        session: for reading.
        settings: as read at the start.
        pinned: names that keep their value of the start, as they were given explicitly.

    Raises:
        UserError: a stored change does not fit any more.
    """
    rows = session.exec(select(SettingOverride)).all()
    overrides: dict[str, Any] = {row.name: row.value for row in rows if row.name not in pinned}
    return with_overrides(settings, overrides) if overrides else settings


def usable_settings(session: Session, settings: Settings) -> Settings:
    """Return the settings in force; those of the start if a stored change does not fit any more (Loop says so)."""
    try:
        return current_settings(session, settings)
    except UserError:
        return settings


def read_control(session: Session) -> LoopControl | None:
    """Return what people want of the loop; None if nobody has said anything yet."""
    return session.get(LoopControl, LOOP)


def set_control(
    session: Session,
    clock: Clock,
    *,
    wanted: str,
    actor: str,
    reason: str = "",
    reason_values: Mapping[str, Any] | None = None,
    steps: int = 0,
) -> LoopControl:
    """Say what the loop is to do from now on; ``reason`` is a template to translate."""
    control = session.get(LoopControl, LOOP) or LoopControl(name=LOOP, changed_at=clock())
    control.wanted, control.steps = wanted, steps
    control.reason, control.reason_values = reason, dict(reason_values or {})
    control.changed_by, control.changed_at = actor, clock()
    session.add(control)
    return control


def count_step_down(session: Session) -> None:
    """One wanted single round is done."""
    control = session.get(LoopControl, LOOP)
    if control is not None and control.steps > 0:
        control.steps -= 1
        session.add(control)
