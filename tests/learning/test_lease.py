"""Two owners, one loop."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.db import Database, open_database
from core.learning.lease import LeaseKeeper
from core.settings import LoopSettings
from core.tables import Lease


class StandingClock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"


def keeper(url: str, owner: str, clock: StandingClock) -> LeaseKeeper:
    """An owner with a connection of its own, as another process has."""
    return LeaseKeeper(open_database(url), owner, clock, LoopSettings(lease_ttl_s=15))


def lease(database: Database) -> Lease | None:
    with database.read() as session:
        return session.get(Lease, "loop")


def test_only_one_of_two_gets_the_lease(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    assert (first.acquire(), second.acquire()) == (True, False)
    assert first.acquire(), "one's own lease can be taken again"
    assert not second.beat("idle")


def test_a_lease_without_heartbeat_is_void_after_its_time(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    first.acquire()
    clock.move(14.9)
    assert not second.acquire()
    clock.move(0.1)
    assert second.acquire()
    assert not first.beat("rolling out"), "who lost the lease learns of it"
    assert not first.acquire()


def test_heartbeats_keep_the_lease_and_say_what_is_done(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    first.acquire()
    for _ in range(5):
        clock.move(10)
        assert first.beat("reflecting")
    assert not second.acquire()
    row = lease(second.database)
    assert row is not None
    assert (row.owner, row.activity, row.heartbeat_at) == ("first", "reflecting", clock.now)


def test_a_lease_given_back_is_free_at_once(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    first.acquire()
    second.release()
    assert not second.acquire(), "nobody gives back what is not theirs"
    first.release()
    assert lease(first.database) is None
    assert second.acquire()
    first.release()
    assert second.beat("idle")


def test_who_waits_gets_the_lease_of_a_dead_owner_as_soon_as_it_is_void(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    first.acquire()
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        clock.move(seconds)

    assert second.wait(pause)
    assert sum(waited) == pytest.approx(15, abs=0.2)


def test_who_waits_gives_up_as_soon_as_the_owner_shows_life(url: str, clock: StandingClock) -> None:
    first, second = keeper(url, "first", clock), keeper(url, "second", clock)
    first.acquire()
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        clock.move(seconds)
        if len(waited) == 10:
            first.beat("reflecting")

    assert not second.wait(pause)
    assert len(waited) == 10
    assert first.beat("reflecting")
