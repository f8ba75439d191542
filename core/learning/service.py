"""The loop's thread and its lease; and the same rounds in the foreground (design section 1).

What is to be done next is core.learning.worker's.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.clock import Clock, utc_now
from core.control import read_control, set_control
from core.db import Database
from core.errors import UserError
from core.i18n import mark
from core.ids import new_id
from core.learning.bench import ProgressEvent
from core.learning.benching import BenchMaker
from core.learning.lease import LeaseKeeper
from core.learning.round import RoundOptions, RoundRunner, open_round, start_round
from core.learning.worker import Activity, LoopWorker
from core.settings import Settings

_log = logging.getLogger(__name__)

NOT_STARTED = mark("A round costs money with this model: start the loop when you are ready.")


def _new_owner() -> str:
    return f"{socket.gethostname()}/{os.getpid()}/{new_id('loop')}"


@dataclass
class LoopService:
    """Runs the loop in a background thread, while it holds the lease.

    The thread reads what people want from the database, so that pages, command line and loop never call
    each other.
    """

    settings: Settings
    database: Database
    clock: Clock = utc_now
    owner: str = field(default_factory=_new_owner)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; also again after ``stop``."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="learning-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, wait for it, and give the lease back; an open round resumes later."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        lease = LeaseKeeper(self.database, self.owner, self.clock, self.settings.loop)
        while not self._stop.is_set():
            try:
                self._lead(lease)
            except Exception:  # noqa: BLE001  e.g. the database was locked for too long: the thread must not die of it
                _log.exception("the loop ran into an error outside a round; it goes on")
            self._stop.wait(self.settings.loop.idle_s)

    def _lead(self, lease: LeaseKeeper) -> None:
        """Work for as long as the lease is ours; return at once if it is somebody else's."""
        if not lease.acquire():
            return
        activity = Activity()
        with beating(lease, activity) as lost:
            self._state_first_wish()
            self._work(activity, lost)

    def _work(self, activity: Activity, lost: threading.Event) -> None:
        def stopping() -> bool:
            return self._stop.is_set() or lost.is_set()

        worker = LoopWorker(self.settings, self.database, self.clock, activity, stopping, self.owner)
        while not stopping():
            if not worker.step():
                self._stop.wait(self.settings.loop.idle_s)

    def _state_first_wish(self) -> None:
        """Write down whether the loop starts by itself, unless people have said what they want."""
        start = self.settings.loop.autostart
        runs = start == "always" or (start == "simulated" and self.settings.simulated)
        with self.database.write() as session:
            if read_control(session) is None:
                wanted = "run" if runs else "pause"
                reason = "" if runs or self.settings.simulated else NOT_STARTED
                set_control(session, self.clock, wanted=wanted, actor="system", reason=reason)


@contextmanager
def beating(lease: LeaseKeeper, activity: Activity) -> Iterator[threading.Event]:
    """Keep a lease alive meanwhile, and give it back; the event is set if somebody else has taken it."""
    lost = threading.Event()

    def beat() -> None:
        while not lost.is_set():
            try:
                kept = lease.beat(activity.text)
            except Exception:  # noqa: BLE001  who cannot renew the lease must not go on as if it were theirs
                _log.exception("the heartbeat failed")
                kept = False
            if not kept:
                lost.set()
            lost.wait(lease.settings.heartbeat_s)

    pulse = threading.Thread(target=beat, name="loop-heartbeat", daemon=True)
    pulse.start()
    try:
        yield lost
    finally:
        lost.set()
        pulse.join()
        lease.release()


def run_rounds(
    settings: Settings,
    database: Database,
    *,
    rounds: int,
    clock: Clock = utc_now,
    progress: Callable[[ProgressEvent], None] = lambda _event: None,
    random_arm: bool = False,
    pinned: frozenset[str] = frozenset(),
) -> None:
    """Run rounds in the foreground; a round that was begun before is finished first and counts as one.

    Args:
        settings: as read at the start.
        database: holds all state.
        rounds: how many.
        clock: tells the time.
        progress: is told how far each phase is.
        random_arm: also measure as many random rules.
        pinned: settings that were given explicitly; what people changed on the Loop page does not beat them.

    Raises:
        UserError: another process runs the loop on this database, or the environment is not usable.
        BudgetExceededError: the limit on spend is reached.
        Exception: whatever broke a round; what is in the database stays, and the next run resumes it.
    """
    lease = LeaseKeeper(database, _new_owner(), clock, settings.loop)
    if not lease.wait(time.sleep):
        raise UserError("Another process runs the loop on this database. Stop it, or wait until it ends.")
    with beating(lease, Activity("command line")) as lost:
        maker = BenchMaker(settings, database, clock, lease.owner, progress, lost.is_set, pinned)
        own = maker.own_domain()
        for _ in range(rounds):
            with database.read() as session:
                row = open_round(session)
            bench = maker.make(row.environment if row is not None else own)
            number = row.number if row is not None else start_round(bench, "command")
            RoundRunner(bench, number, RoundOptions(random_arm)).run()
