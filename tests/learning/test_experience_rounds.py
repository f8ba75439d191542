"""Whole rounds with experience: what is remembered, shown, credited, learned, and judged (design sections 9 and 10)."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlmodel import Session, col, func, select

from core import curation
from core.db import Database, open_database
from core.episodes.memory.store import learned_q
from core.learning.adapting import evaluate_policy, update_adapter
from core.learning.bench import Bench
from core.learning.benching import BenchMaker
from core.learning.remembering import remember_episodes
from core.learning.service import run_rounds
from core.policy.adapter import Decision
from core.policy.sampling import draw_batch
from core.policy.snapshots import Occasion, current_adapter, go_back
from core.settings import Settings, load_settings
from core.tables import Episode, EpisodeReward, Memory, MemoryUse, PolicyEvent, PolicySnapshot, Round

START = datetime(2026, 3, 1, tzinfo=UTC)
CUES = "tests.support.worlds:Cues"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as opened:
        yield opened


def settings_for(world: str, policy: Mapping[str, Any], **groups: Mapping[str, Any]) -> Settings:
    given: dict[str, Mapping[str, Any]] = {
        "environment": {"name": world},
        "round": {"tasks": 6},
        "gate": {"tasks": 12, "bootstrap_samples": 200},
        "agent": {"rollouts_per_task": 2},
        "simulation": {"malformed_rate": 0, "rate_limit_rate": 0, "timeout_rate": 0},
        "policy": {"cold_hours": 0, "cold_episodes": 6, **policy},
    }
    return load_settings(_env_file=None, **(given | groups))


def play(settings: Settings, database: Database, *numbers: int) -> None:
    """Play rounds an hour apart."""
    for number in numbers:
        run_rounds(settings, database, rounds=1, clock=lambda number=number: START + timedelta(hours=number))


def told(episode: Episode, mark: str) -> bool:
    return any(mark in str(message.get("content")) for message in episode.messages)


def held_out(session: Session, number: int) -> list[Episode]:
    query = select(Episode).where(Episode.round_number == number, Episode.split == "held_out", Episode.arm == "after")
    return list(session.exec(query))


def events(session: Session, kind: str) -> list[PolicyEvent]:
    return list(session.exec(select(PolicyEvent).where(PolicyEvent.kind == kind).order_by(col(PolicyEvent.id))))


def bench_at(settings: Settings, database: Database, hours: float) -> Bench:
    maker = BenchMaker(settings, database, lambda: START + timedelta(hours=hours), "later")
    return maker.make(maker.own_domain())


def say_that_it_failed(database: Database, row: EpisodeReward, hours: float) -> None:
    """Tell what a person found out about an episode afterwards."""
    curation.give_feedback(
        database, episode_id=row.episode_id, version=row.version, verdict="failure", reason="it came back",
        actor="mia", clock=lambda: START + timedelta(hours=hours),
    )  # fmt: skip


def test_what_was_done_in_training_is_remembered_shown_credited_and_learned_from(database: Database) -> None:
    play(settings_for(CUES, {"phase": "adapt"}), database, 1, 2)
    with database.read() as session:
        learned = {one.id: one for one in session.exec(select(Episode).where(Episode.arm == "learn"))}
        memories = session.exec(select(Memory)).all()
        assert {one.episode_id for one in memories} == set(learned), "one decision each, and none of a held-out task"
        assert all(one.value == (1.0 if learned[one.episode_id].grade == "pass" else -1.0) for one in memories)

        assert not any(told(one, "[M1]") for one in learned.values() if one.round_number == 1), "nothing was known yet"
        assert all(told(one, "[M1]") for one in (*held_out(session, 1), *held_out(session, 2)))

        uses = session.exec(select(MemoryUse).order_by(col(MemoryUse.id))).all()
        assert uses
        assert all(use.credited and use.reward == memories_reward(memories, use.episode_id) for use in uses)
        for memory in memories:
            shown = [(use.reward or 0.0, use.rate) for use in uses if use.memory_id == memory.id]
            assert memory.q == pytest.approx(learned_q(shown))

        updated = events(session, "updated")
        assert [one.round_number for one in updated] == [1, 2]
        assert updated[0].details == {"updates": 36, "episodes": 12, "decisions": 12}
        assert [one.round_number for one in events(session, "evaluated")] == [1, 2]
        (first, second) = session.exec(select(PolicySnapshot).order_by(col(PolicySnapshot.id))).all()
        assert (first.updates, second.updates) == (36, 72)
        passes = sum(one.grade == "pass" for one in held_out(session, 2))
        assert (second.success, second.tasks) == (passes / 12, 12)


def memories_reward(memories: Any, episode_id: str) -> float:
    return float(next(one.reward for one in memories if one.episode_id == episode_id))


def test_experience_helps_and_static_knows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the doors' names tells which is right: without experience it is a toss. No rules are written."""
    monkeypatch.setattr("core.learning.round.run_reflections", lambda *_: [])
    passed = {}
    for phase in ("static", "adapt"):
        with closing(open_database(f"sqlite:///{tmp_path}/{phase}.db")) as opened:
            play(settings_for(CUES, {"phase": phase}), opened, 1)
            with opened.read() as session:
                found = held_out(session, 1)
                passed[phase] = sum(one.grade == "pass" for one in found)
                assert any(told(one, mark) for one in found for mark in ("[M1]", "[H]")) == (phase == "adapt")
                assert bool(events(session, "updated")) == (phase == "adapt")
                assert session.exec(select(Memory)).first() is not None, "memories wait for the next phase"
    assert passed["adapt"] >= passed["static"] + 3


def test_a_phase_that_is_done_again_learns_nothing_twice(database: Database) -> None:
    """As where a round goes on after its process was killed."""
    settings = settings_for(CUES, {"phase": "adapt"})
    play(settings, database, 1)
    bench = bench_at(settings, database, 2)
    again = remember_episodes(bench)
    assert (again.episodes, again.decisions, again.credited) == (0, 0, 0)
    bench.memories.follow()
    assert update_adapter(bench, bench.memories, 1, fresh=12) == 0
    assert evaluate_policy(bench, 1, "after") is None


def test_without_enough_hours_of_experience_there_is_no_update(database: Database) -> None:
    settings = settings_for(CUES, {"phase": "adapt"})
    play(settings, database, 1)
    with database.read() as session:
        before = session.exec(select(func.count()).select_from(Memory)).one()
    play(settings_for(CUES, {"phase": "adapt", "cold_hours": 24}), database, 2)
    with database.read() as session:
        assert len(events(session, "updated")) == 1, "the cold start is not over"
        assert session.exec(select(func.count()).select_from(Memory)).one() == before + 12


def test_what_led_away_from_a_snapshot_that_a_person_went_back_to_is_not_learned_from_again(
    database: Database,
) -> None:
    settings = settings_for(CUES, {"phase": "adapt"})
    play(settings, database, 1, 2)
    with database.write() as session:
        first = session.exec(select(PolicySnapshot).order_by(col(PolicySnapshot.id))).first()
        assert first is not None
        go_back(session, first, Occasion("mia", START + timedelta(hours=2.5)))
    play(settings, database, 3)
    with database.read() as session:
        last = events(session, "updated")[-1]
        assert (last.round_number, last.details["decisions"]) == (3, 24), "those of round 2 are left out"
        newest = session.exec(select(PolicySnapshot).order_by(col(PolicySnapshot.id).desc())).first()
        assert newest is not None
        assert newest.updates == 72, "it went on from the first one"


def test_what_a_person_says_afterwards_reaches_the_adapter_once(database: Database) -> None:
    settings = settings_for(CUES, {"phase": "adapt"})
    play(settings, database, 1)
    bench = bench_at(settings, database, 5)
    with database.write() as session:
        for number in (2, 3):
            session.add(Round(number=number, environment=bench.domain, seed=1, trigger="manual", started_at=START))
    bench.memories.follow()
    assert update_adapter(bench, bench.memories, 2, fresh=0) == 0, "nothing is new"
    with database.read() as session:
        query = select(Memory, EpisodeReward).where(EpisodeReward.episode_id == Memory.episode_id, Memory.reward > 0)
        found = session.exec(query.order_by(col(Memory.id).desc()).limit(2)).all()
        memory = found[0][0]
    state, bias = np.frombuffer(memory.vector or b"", dtype="<f4"), []
    for spoken in (False, True):
        if spoken:
            for _, row in found:
                say_that_it_failed(database, row, 4)
            bench.memories.follow()
            assert update_adapter(bench, bench.memories, 2, fresh=0) == 2 * settings.policy.updates_per_episode
        with database.read() as session:
            adapter = current_adapter(session, bench.domain, settings.policy)
        assert adapter is not None
        bias.append(adapter.bias(state, [memory.action])[memory.action])
    assert bias[1] < bias[0]
    assert update_adapter(bench, bench.memories, 3, fresh=0) == 0, "it was learned from"


def test_what_a_person_says_about_an_old_episode_is_drawn_as_if_made_now(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(CUES, {"phase": "adapt"})
    week_later = 8 * 24
    play(settings, database, 1, week_later)
    with database.write() as session:
        query = select(Memory, EpisodeReward).where(EpisodeReward.episode_id == Memory.episode_id, Memory.reward > 0)
        memory, row = session.exec(query.order_by(col(Memory.id))).first() or pytest.fail("nothing passed")
        session.add(Round(number=week_later + 1, environment="cues", seed=1, trigger="manual", started_at=START))
    bench = bench_at(settings, database, week_later + 2)
    say_that_it_failed(database, row, week_later + 1)
    drawn: list[Decision] = []

    def recorded(*arguments: Any) -> list[Decision]:
        drawn.extend(draw_batch(*arguments))
        return drawn[-settings.policy.batch :]

    monkeypatch.setattr("core.learning.adapting.draw_batch", recorded)
    bench.memories.follow()
    assert update_adapter(bench, bench.memories, week_later + 1, fresh=0) == settings.policy.updates_per_episode
    told_otherwise = [one for one in drawn if one.state.tobytes() == memory.vector and one.value == -1.0]
    assert len(told_otherwise) > 0


def test_what_a_person_says_about_an_episode_that_is_yet_to_be_learned_from_counts_once(database: Database) -> None:
    settings = settings_for(CUES, {"phase": "adapt"})
    play(settings, database, 1)
    with database.write() as session:
        query = select(Memory, EpisodeReward).where(EpisodeReward.episode_id == Memory.episode_id)
        memory, row = session.exec(query.order_by(col(Memory.id))).first() or pytest.fail("nothing is remembered")
        memory.created_at = START + timedelta(hours=3)
        session.add(memory)
        session.add(Round(number=2, environment="cues", seed=1, trigger="manual", started_at=START))
    bench = bench_at(settings, database, 5)
    say_that_it_failed(database, row, 4)
    bench.memories.follow()
    assert update_adapter(bench, bench.memories, 2, fresh=1) == settings.policy.updates_per_episode


def test_log_probabilities_are_bent_by_what_was_learned(database: Database) -> None:
    settings = settings_for(
        "incidents_lettered",
        {"phase": "adapt", "way": "logit"},
        model={"action_mode": "letters"},
        round={"tasks": 3},
        gate={"tasks": 4, "bootstrap_samples": 200},
    )
    play(settings, database, 1)
    with database.read() as session:
        chosen = [
            message["choice"]
            for episode in held_out(session, 1)
            for message in episode.messages
            if message.get("choice")
        ]
        assert chosen
        assert all(0 < one["probability"] <= 1 for one in chosen)
        own = [max(one["logprobs"], key=one["logprobs"].get) for one in chosen]
        assert any(one["action"] != best for one, best in zip(chosen, own, strict=True)), "experience turned a choice"
        assert not any(told(one, "[H]") for one in held_out(session, 1)), "nothing is said that is added already"
