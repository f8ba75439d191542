"""Who runs the loop: the lease, so that two processes on one database never run two loops (design section 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.clock import Clock
from core.control import LOOP
from core.db import Database
from core.settings import LoopSettings
from core.tables import Lease


@dataclass(frozen=True)
class LeaseKeeper:
    """Takes, renews and gives back the right to run the loop, for one owner."""

    database: Database
    owner: str
    clock: Clock
    settings: LoopSettings

    def acquire(self) -> bool:
        """Take the lease if it is free, void or already ours; tells whether we have it now."""
        with self.database.write() as session:
            lease = session.get(Lease, LOOP)
            now = self.clock()
            if lease is None:
                lease = Lease(name=LOOP, owner=self.owner, heartbeat_at=now)
            elif lease.owner != self.owner and now - lease.heartbeat_at < timedelta(seconds=self.settings.lease_ttl_s):
                return False
            lease.owner, lease.heartbeat_at = self.owner, now
            session.add(lease)
            return True

    def wait(self, pause: Callable[[float], object]) -> bool:
        """Take the lease, waiting as long as its owner may be dead; False as soon as the owner shows life.

        Args:
            pause: waits so many seconds.
        """
        first = self._heartbeat()
        while not self.acquire():
            seen = self._heartbeat()
            if seen is not None and (seen != first or seen > self.clock()):
                return False
            pause(min(self.settings.heartbeat_s, 0.2))
        return True

    def _heartbeat(self) -> datetime | None:
        with self.database.read() as session:
            lease = session.get(Lease, LOOP)
            return lease.heartbeat_at if lease is not None else None

    def beat(self, activity: str) -> bool:
        """Renew the lease and say what the loop is doing; False if somebody else has taken it."""
        with self.database.write() as session:
            lease = session.get(Lease, LOOP)
            if lease is None or lease.owner != self.owner:
                return False
            lease.heartbeat_at, lease.activity = self.clock(), activity
            session.add(lease)
            return True

    def release(self) -> None:
        """Give the lease back, if it is ours."""
        with self.database.write() as session:
            lease = session.get(Lease, LOOP)
            if lease is not None and lease.owner == self.owner:
                session.delete(lease)
