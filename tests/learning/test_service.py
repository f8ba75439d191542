"""The loop's thread on a real database: what people ask of it, what breaks, and who leads."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import col, func, select

from core.clock import Clock, utc_now
from core.control import read_control, set_control
from core.db import Database, open_database
from core.learning.service import NOT_STARTED, LoopService
from core.llm.simulated.transport import SimulatedTransport
from core.settings import Settings, SimulationSettings, load_settings
from core.tables import Episode, Lease, LoopControl, Round, SettingOverride
from tests.support.model_server import ModelServer
from tests.support.worlds import Gated

_LONGEST_S = 30
_DOORS = "tests.support.worlds:Doors"
_GATED = "tests.support.worlds:Gated"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def database(url: str) -> Database:
    return open_database(url)


@pytest.fixture(autouse=True)
def open_gate() -> Iterator[None]:
    Gated.gate.set()
    yield
    Gated.gate.set()


class MovableClock:
    """Stands until it is moved; counts how often it is asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.asked = 0

    def __call__(self) -> datetime:
        self.asked += 1
        return self.now


class HurriedClock(MovableClock):
    """A second goes by whenever it is asked, so that nothing that is looked at now and then is missed."""

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def settings_for(environment: str, **groups: Any) -> Settings:
    loop = {"idle_s": 0.01, "heartbeat_s": 0.05, **groups.pop("loop", {})}
    return load_settings(
        environment={"name": environment},
        round={"tasks": 4},
        agent={"rollouts_per_task": 1},
        gate={"patience": 100},
        simulation={"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
        loop=loop,
        **groups,
    )


@contextmanager
def running(
    url: str, settings: Settings, clock: Clock = utc_now, owner: str = "loop", stop: threading.Event | None = None
) -> Iterator[LoopService]:
    """A service with a connection of its own, stopped at the end whatever happens."""
    service = LoopService(settings, open_database(url), clock, owner, stop or threading.Event())
    service.start()
    try:
        yield service
    finally:
        Gated.gate.set()
        service.stop()


def until(what: Callable[[], bool]) -> None:
    """Look again and again until something holds that another thread brings about."""
    tick, deadline = threading.Event(), time.monotonic() + _LONGEST_S
    while not what():
        assert time.monotonic() < deadline, "it did not come about"
        tick.wait(0.01)


def want(database: Database, wanted: str, *, steps: int = 0) -> None:
    with database.write() as session:
        set_control(session, utc_now, wanted=wanted, actor="ada", steps=steps)


def control(database: Database) -> LoopControl:
    with database.read() as session:
        found = read_control(session)
    assert found is not None
    return found


def rounds(database: Database) -> list[Round]:
    with database.read() as session:
        return list(session.exec(select(Round).order_by(col(Round.number))).all())


def finished(database: Database) -> int:
    return sum(row.phase == "finished" for row in rounds(database))


def lease(database: Database) -> Lease | None:
    with database.read() as session:
        return session.get(Lease, "loop")


def activity(database: Database) -> str:
    held = lease(database)
    return held.activity if held is not None else ""


def episodes(database: Database) -> dict[str, datetime]:
    with database.read() as session:
        return dict(session.exec(select(Episode.id, Episode.ended_at)).all())


def test_it_starts_by_itself_with_the_simulated_model_and_runs_round_after_round(url: str, database: Database) -> None:
    with running(url, settings_for(_DOORS)):
        until(lambda: finished(database) >= 2)
    assert (control(database).wanted, control(database).changed_by) == ("run", "system")
    assert lease(database) is None, "a stopped loop gives its lease back"


def test_with_a_paid_model_it_waits_for_a_person(url: str, database: Database) -> None:
    settings = settings_for(_DOORS, OPENAI_API_KEY="a-key", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    with running(url, settings):
        until(lambda: activity(database) == "paused")
    assert (control(database).wanted, control(database).reason) == ("pause", NOT_STARTED)
    assert rounds(database) == []


def test_paused_in_the_middle_of_a_round_it_goes_on_where_it_stopped(url: str, database: Database) -> None:
    Gated.gate.clear()
    with running(url, settings_for(_GATED, model={"concurrency": 2}), HurriedClock()):
        until(lambda: activity(database).startswith("learn/"))
        want(database, "pause")
        Gated.gate.set()
        until(lambda: activity(database) == "paused")
        before = episodes(database)
        assert [row.status for row in rounds(database)] == ["running"]
        assert len(before) == 2, "what had begun was finished, nothing else was begun"
        want(database, "run")
        until(lambda: finished(database) >= 1)
    after = episodes(database)
    assert before.items() <= after.items(), "nothing ran twice"
    assert rounds(database)[0].number == 1


def test_a_step_is_one_round_of_a_paused_loop(url: str, database: Database) -> None:
    want(database, "pause")
    with running(url, settings_for(_DOORS)):
        until(lambda: activity(database) == "paused")
        want(database, "pause", steps=1)
        until(lambda: finished(database) == 1 and activity(database) == "paused")
        want(database, "pause", steps=2)
        until(lambda: finished(database) == 3 and activity(database) == "paused")
    assert [(row.number, row.trigger) for row in rounds(database)] == [(1, "step"), (2, "step"), (3, "step")]
    assert (control(database).wanted, control(database).steps) == ("pause", 0)


def test_stopped_in_the_middle_of_a_round_and_started_again_it_ends_that_round(url: str, database: Database) -> None:
    Gated.gate.clear()
    settings = settings_for(_GATED, model={"concurrency": 1})
    stop = threading.Event()
    with running(url, settings, HurriedClock(), stop=stop) as service:
        until(lambda: activity(database).startswith("learn/"))
        stopping = threading.Thread(target=service.stop)
        stopping.start()
        until(stop.is_set)
        Gated.gate.set()
        stopping.join()
        assert lease(database) is None
        before = episodes(database)
        assert ([row.status for row in rounds(database)], len(before)) == (["running"], 1)
        service.start()
        until(lambda: finished(database) >= 1)
    assert before.items() <= episodes(database).items()
    with database.read() as session:
        of_first = select(func.count()).select_from(Episode).where(Episode.round_number == 1, Episode.arm == "learn")
        assert session.exec(of_first).one() == 4


def simulated_answer(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the simulated model does, but for money."""
    quiet = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
    with httpx2.Client(transport=SimulatedTransport(quiet)) as client:
        answer = client.post("http://simulated/v1/chat/completions", json=body).json()
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


def test_at_the_budget_it_pauses_and_says_so_and_goes_on_when_there_is_more(url: str, database: Database) -> None:
    want(database, "run")
    with ModelServer(simulated_answer) as server:
        settings = settings_for(
            _DOORS,
            OPENAI_API_KEY="a-key",
            OPENAI_BASE_URL=server.base_url,
            budget={"total_usd": 0.00001},
            model={"concurrency": 1},  # calls under way when the limit is reached still finish, even a whole round
        )
        with running(url, settings):
            until(lambda: control(database).wanted == "pause")
            stopped, (row,) = control(database), rounds(database)
            assert (row.status, stopped.changed_by) == ("running", "system")
            assert stopped.reason.format(**stopped.reason_values).startswith(
                "The limit on spend in total, 0.00 USD, is reached"
            )
            with database.write() as session:
                session.add(
                    SettingOverride(name="budget.total_usd", value=50.0, changed_by="ada", changed_at=utc_now())
                )
            want(database, "run")
            until(lambda: finished(database) >= 1)
    assert rounds(database)[0].number == 1, "the same round went on"


def test_of_two_on_one_database_one_leads_and_the_other_takes_over_from_the_dead(url: str, database: Database) -> None:
    """The first one's clock stands still, as if its machine were suspended; time goes on for the second one."""
    want(database, "pause")
    first, second = MovableClock(), MovableClock()
    settings = settings_for(_DOORS, loop={"lease_ttl_s": 15})
    with running(url, settings, first, "first"):
        until(lambda: owner(database) == "first")
        with running(url, settings, second, "second"):
            asked = second.asked
            until(lambda: second.asked > asked + 3)
            assert owner(database) == "first"
            second.now += timedelta(seconds=15)
            asked = first.asked
            until(lambda: owner(database) == "second" and first.asked > asked + 3)
            want(database, "pause", steps=1)
            until(lambda: finished(database) == 1)
            assert owner(database) == "second", "the first one does not take back what it lost"
        first.now = second.now
        until(lambda: owner(database) == "first")
    assert len(rounds(database)) == 1, "two loops on one database never run the same round twice"
    assert lease(database) is None


def owner(database: Database) -> str | None:
    held = lease(database)
    return held.owner if held is not None else None
