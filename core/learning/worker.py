"""What the loop does next: go on with an open round, begin one that is due, or nothing."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from core.clock import Clock
from core.control import count_step_down, read_control, set_control
from core.db import Database
from core.errors import BudgetExceededError, RulewrightError, UserError
from core.i18n import mark
from core.learning.bench import InterruptedRound, ProgressEvent
from core.learning.benching import BenchMaker
from core.learning.round import RoundOptions, RoundRunner, fail_round, open_round, start_round
from core.learning.triggers import Trigger, next_trigger
from core.settings import Settings
from core.tables import LoopControl

_log = logging.getLogger(__name__)

_FAILURES_BEFORE_PAUSE = 3
_LOOK_AT_CONTROL = timedelta(seconds=0.5)
_BROKE_DOWN = mark("{n} rounds in a row broke down; the last one: {problem}")
_NO_ROUND = mark("A round cannot be started: {problem}")


@dataclass
class Activity:
    """What the loop is doing, for people; written by the worker, read by the heartbeat."""

    text: str = ""


@dataclass
class LoopWorker:
    """Takes one step at a time, as people want it."""

    settings: Settings
    database: Database
    clock: Clock
    activity: Activity
    stopping: Callable[[], bool]
    owner: str
    _maker: BenchMaker = field(init=False)
    _own_domain: str | None = None
    _failures: int = 0
    _looked_at: datetime | None = None
    _wanted: bool = True

    def __post_init__(self) -> None:
        self._maker = BenchMaker(self.settings, self.database, self.clock, self.owner, self._show, self._should_stop)

    def step(self) -> bool:
        """Run one round; False if nothing was to be done, or it could not be."""
        try:
            return self._step()
        except InterruptedRound:
            self.activity.text = "paused"
        except (BudgetExceededError, UserError) as error:
            self._pause(error.template, error.values)
        except Exception as error:  # noqa: BLE001  the loop must outlive whatever a round runs into
            self._record_failure(error)
        return False

    def _step(self) -> bool:
        with self.database.read() as session:
            control, running = read_control(session), open_round(session)
        if not _is_wanted(control):
            self.activity.text = "paused"
            return False
        if self._own_domain is None:
            self._own_domain = self._maker.own_domain()
        if running is not None:
            bench, number = self._maker.make(running.environment), running.number
        else:
            trigger = self._trigger(control)
            if trigger is None:
                self.activity.text = "resting"
                return False
            bench = self._maker.make(trigger.domain)
            number = start_round(bench, trigger.reason)
        self._looked_at, self._wanted = None, True
        RoundRunner(bench, number, RoundOptions()).run()
        self._failures = 0
        with self.database.write() as session:
            count_step_down(session)
        return True

    def _trigger(self, control: LoopControl | None) -> Trigger | None:
        own = self._own_domain or ""
        if control is not None and control.steps > 0:
            return Trigger("step", own)
        bench = self._maker.make(own)
        since = control.changed_at if control is not None else self.clock()
        playable = bench.make_environment is not None
        with self.database.read() as session:
            return next_trigger(session, bench.settings, self.clock, own_domain=own, playable=playable, since=since)

    def _show(self, event: ProgressEvent) -> None:
        self.activity.text = f"{event.phase}/{event.done}/{event.total}/{event.round_number}"

    def _should_stop(self) -> bool:
        now = self.clock()
        if self._looked_at is None or now - self._looked_at >= _LOOK_AT_CONTROL:
            self._looked_at = now
            with self.database.read() as session:
                self._wanted = _is_wanted(read_control(session))
        return self.stopping() or not self._wanted

    def _pause(self, reason: str, values: Mapping[str, object]) -> None:
        _log.warning("the loop pauses itself: %s", reason.format(**values))
        self._failures = 0
        with self.database.write() as session:
            set_control(
                session,
                self.clock,
                wanted="pause",
                actor="system",
                reason=reason,
                reason_values=storable(values),
            )

    def _record_failure(self, error: Exception) -> None:
        """Write a broken round down and go on with the next; pause if it happens again and again."""
        _log.exception("a round broke down")
        self._failures += 1
        template, values = _told(error)
        with self.database.read() as session:
            running = open_round(session)
        if running is None:
            self._pause(_NO_ROUND, {"problem": template.format(**values)})
            return
        fail_round(self.database, self.clock, running.number, template, values)
        if self._failures >= _FAILURES_BEFORE_PAUSE:
            self._pause(_BROKE_DOWN, {"n": self._failures, "problem": template.format(**values)})
            return
        with self.database.write() as session:
            count_step_down(session)


def storable(values: Mapping[str, object]) -> dict[str, Any]:
    """Return a template's values as JSON can hold them."""
    return {key: each if isinstance(each, str | int | float | None) else str(each) for key, each in values.items()}


def _told(error: Exception) -> tuple[str, dict[str, Any]]:
    """Say an error as a template with its values."""
    if isinstance(error, RulewrightError):
        return error.template, storable(error.values)
    return "{kind}: {problem}", {"kind": type(error).__name__, "problem": str(error)}


def _is_wanted(control: LoopControl | None) -> bool:
    return control is not None and (control.wanted == "run" or control.steps > 0)
