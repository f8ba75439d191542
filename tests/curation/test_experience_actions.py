"""A memory comes back, a policy bit for bit, and a phase only when it is ready; each can be taken back."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from core import curation
from core.audit import first_broken_link
from core.control import current_settings
from core.db import Database, open_database
from core.errors import ConcurrentChangeError, UserError
from core.policy.snapshots import newest_snapshot
from core.settings import Settings
from core.tables import AuditEntry, EpisodeReward, Memory, MemoryUse, PolicyEvent, PolicySnapshot
from core.tables.memory import Tier
from tests.learning.rows import a_memory, a_snapshot, an_episode

NOW = datetime(2026, 3, 9, tzinfo=UTC)
SETTINGS = Settings(_env_file=None)
WHO: dict[str, Any] = {"actor": "ada", "clock": lambda: NOW}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as opened:
        yield opened


def snapshots(database: Database, *states: bytes) -> None:
    with database.write() as session:
        for place, state in enumerate(states, 1):
            session.add(a_snapshot(state=state, updates=place, good=place == 1, success=0.5, turns=4.0))
            session.flush()


def in_force(database: Database) -> tuple[int, bytes, int]:
    with database.read() as session:
        newest = newest_snapshot(session, "desk")
        assert newest is not None
        return newest.id or 0, newest.state, newest.updates


def restore_snapshot(database: Database, snapshot_id: int, seen: int) -> None:
    curation.restore_snapshot(database, snapshot_id=snapshot_id, in_force=seen, reason="worse since", **WHO)


def last_entry(database: Database) -> int:
    with database.read() as session:
        return session.exec(select(AuditEntry.id).order_by(col(AuditEntry.id).desc()).limit(1)).one() or 0


def undo(database: Database) -> None:
    curation.undo(database, entry_id=last_entry(database), **WHO)


def test_a_snapshot_comes_back_bit_for_bit_and_goes_again_when_undone(database: Database) -> None:
    snapshots(database, b"\x80first", b"\xffsecond")
    restore_snapshot(database, 1, seen=2)
    assert in_force(database) == (3, b"\x80first", 1)
    undo(database)
    assert in_force(database) == (4, b"\xffsecond", 2)
    undo(database)
    assert in_force(database) == (5, b"\x80first", 1)
    with database.read() as session:
        assert [one.state for one in session.exec(select(PolicySnapshot).limit(2))] == [b"\x80first", b"\xffsecond"]
        events = session.exec(select(PolicyEvent.kind, PolicyEvent.actor)).all()
        assert events == [("restored", "ada")] * 3
        assert first_broken_link(session) is None


def test_who_saw_another_policy_in_force_restores_nothing(database: Database) -> None:
    snapshots(database, b"1", b"2", b"3")
    with pytest.raises(ConcurrentChangeError, match="snapshot 3"):
        restore_snapshot(database, 1, seen=2)
    with pytest.raises(UserError, match="no snapshot 9"):
        restore_snapshot(database, 9, seen=3)
    assert in_force(database)[0] == 3


def test_a_restore_is_not_undone_over_a_later_update(database: Database) -> None:
    snapshots(database, b"1", b"2")
    restore_snapshot(database, 1, seen=2)
    entry = last_entry(database)
    snapshots(database, b"later")
    with pytest.raises(ConcurrentChangeError, match="cannot be undone"):
        curation.undo(database, entry_id=entry, **WHO)
    assert in_force(database)[1] == b"later"


def test_a_restored_memory_is_seen_by_readers_and_so_is_its_undo(database: Database) -> None:
    with database.write() as session:
        session.add(an_episode("e"))
        session.flush()
        session.add(a_memory("e", id=1, tier="cold", covered_by=5, touched=4))

    def row() -> tuple[str, int | None, bool, int]:
        with database.read() as session:
            memory = session.get_one(Memory, 1)
            return memory.tier, memory.covered_by, memory.restored, memory.touched

    curation.restore_memory(database, memory_id=1, **WHO)
    assert row() == ("warm", None, True, 5)
    with database.write() as session:
        session.get_one(Memory, 1).q = 0.3  # what the loop counts meanwhile stays
    undo(database)
    assert row() == ("cold", 5, False, 6)
    with database.read() as session:
        assert session.get_one(Memory, 1).q == 0.3
    with pytest.raises(UserError, match="no memory 8"):
        curation.restore_memory(database, memory_id=8, **WHO)


def experience(database: Database, episodes: int, *, decisions: int, shown: int = 0, hours: float = 0) -> None:
    """Put remembered episodes with rewards into it, half of them failures; the first ended some hours ago."""
    with database.write() as session:
        for number in range(episodes):
            session.add(an_episode(f"e{number}"))
            session.flush()
            reward = 1.0 if number % 2 else -1.0
            session.add(
                EpisodeReward(
                    episode_id=f"e{number}", rules="high", tools="high", judge="high", judged_by="preset",
                    recorded_reward=1.0, recorded_grade="pass", value=reward, updated_at=NOW,
                )
            )  # fmt: skip
            since = NOW - timedelta(hours=hours)
            for step in range(decisions):
                session.add(a_memory(f"e{number}", step, reward=reward, tier=Tier.HOT.value, created_at=since))
        session.flush()
        for number in range(shown):
            session.add(MemoryUse(episode_id=f"e{number}", memory_id=1, step=0, similarity=1, score=1, credited=True))


def choose(database: Database, phase: str) -> str:
    curation.choose_phase(database, phase=phase, environment="desk", settings=SETTINGS, **WHO)
    with database.read() as session:
        return current_settings(session, SETTINGS).policy.phase


def test_a_phase_waits_for_what_it_needs_and_says_what_that_is(database: Database) -> None:
    experience(database, 19, decisions=2)
    with pytest.raises(UserError) as refused:
        choose(database, "recall")
    assert "Remembered decisions: 38, needed 50. Remembered episodes: 19, needed 20." in str(refused.value)
    assert "Successful" not in str(refused.value), "that is there"
    assert choose(database, "static") == "static"


def test_phases_are_unlocked_one_after_the_other(database: Database) -> None:
    experience(database, 50, decisions=2, shown=9, hours=23.9)
    with pytest.raises(UserError, match="shown memories: 9, needed 10"):
        choose(database, "reward")
    assert choose(database, "recall") == "recall"
    with database.write() as session:
        session.add(MemoryUse(episode_id="e9", memory_id=1, step=0, similarity=1, score=1, credited=True))
    assert choose(database, "reward") == "reward"
    with pytest.raises(UserError, match="Hours since the first remembered episode: 23, needed 24"):
        choose(database, "adapt")
    with pytest.raises(UserError, match="no phase soon"):
        choose(database, "soon")
    assert choose(database, "static") == "static", "the way back is always open"


def test_all_that_is_needed_unlocks_the_adapter(database: Database) -> None:
    experience(database, 50, decisions=2, shown=10, hours=24)
    assert choose(database, "adapt") == "adapt"
    undo(database)
    with database.read() as session:
        assert current_settings(session, SETTINGS).policy.phase == "static"


def test_the_page_loop_is_no_way_past_the_checks(database: Database) -> None:
    with pytest.raises(UserError, match="Memory and policy"):
        curation.change_setting(database, name="policy.phase", value="adapt", settings=SETTINGS, **WHO)
