"""Who runs the loop: the lease, so that two processes on one database never run two loops (design section 1)."""

from dataclasses import dataclass
from datetime import timedelta

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
