"""What people want of the loop: run, pause, single rounds, other settings."""

from typing import Any

from core.clock import Clock
from core.control import current_settings, set_control
from core.curation.desk import Desk, at_desk
from core.db import Database
from core.errors import UserError
from core.people.permissions import Action
from core.settings import PHASE, Settings
from core.tables import SettingOverride


def set_loop(database: Database, *, wanted: str, actor: str, clock: Clock) -> None:
    """Start or pause the loop.

    Raises:
        UserError: ``wanted`` is neither run nor pause.
    """
    if wanted not in ("run", "pause"):
        raise UserError("The loop can be told to run or to pause, not to {wanted}.", wanted=wanted)
    with at_desk(database, Action.SET_LOOP, actor, clock) as desk:
        desk.check()
        set_control(desk.session, clock, wanted=wanted, actor=actor)
        desk.record("loop", wanted=wanted)


def step_loop(database: Database, *, rounds: int, actor: str, clock: Clock) -> None:
    """Let the loop run a number of rounds and pause again.

    Raises:
        UserError: not between 1 and 100 rounds.
    """
    if not 1 <= rounds <= 100:
        raise UserError("Between 1 and 100 rounds can be run at a time, not {rounds}.", rounds=rounds)
    with at_desk(database, Action.STEP_LOOP, actor, clock) as desk:
        desk.check()
        set_control(desk.session, clock, wanted="pause", actor=actor, steps=rounds)
        desk.record("loop", rounds=rounds)


def change_setting(database: Database, *, name: str, value: Any, settings: Settings, actor: str, clock: Clock) -> None:
    """Change a setting while the product runs; checked together with all others before it is stored.

    Raises:
        UserError: unknown or not adjustable, out of range, or in contradiction to another setting.
    """
    if name == PHASE:
        raise UserError(
            "How far experience reaches is chosen on the page Memory and policy, which checks what it needs. "
            "Nothing was changed."
        )
    action = Action.CHANGE_BUDGET if name.startswith("budget.") else Action.CHANGE_SETTING
    with at_desk(database, action, actor, clock) as desk:
        desk.check()
        override(desk, name, value, settings)
        desk.record(name, value=value)


def override(desk: Desk, name: str, value: Any, settings: Settings) -> None:
    """Store what a setting is from now on.

    Raises:
        UserError: unknown or not adjustable, out of range, or in contradiction to another setting.
    """
    actor, now = desk.change.actor, desk.change.clock()
    row = desk.session.get(SettingOverride, name) or SettingOverride(
        name=name, value=value, changed_by=actor, changed_at=now
    )
    row.value, row.changed_by, row.changed_at = value, actor, now
    desk.session.add(row)
    desk.session.flush()
    current_settings(desk.session, settings)
