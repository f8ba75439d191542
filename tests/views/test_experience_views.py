"""Memories, the policy and a typed state, as pages read them, against figures computed apart."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from core.db import Database, open_database
from core.episodes.memory.index import encode_states
from core.episodes.memory.store import next_tick
from core.errors import UserError
from core.experience_preview import ExperienceReader
from core.policy.adapter import Adapter, Decision
from core.policy.guardrail import Evaluation
from core.policy.snapshots import Occasion, add_snapshot, guard, log
from core.settings import Settings
from core.settings_experience import PolicySettings
from core.tables import Memory
from core.views.memory import MemoryFilter, memories, one_memory, remembering_environments, tiers
from core.views.policy import explanations, guardrail_state, phase_state, policy_log, snapshot_changes, snapshots
from tests.learning.rows import NOW, a_memory, an_episode
from tests.support.embedding import WordEmbedder

SETTINGS = Settings(_env_file=None)
OCCASION = Occasion("system", NOW, None)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Six memories of the desk, of which one is cold, and one of elsewhere."""
    with closing(open_database(f"sqlite:///{tmp_path}/t.db")) as opened:
        with opened.write() as session:
            for name in "abcdefx":
                session.add(an_episode(name))
            session.flush()
            rows = (
                ("a", "the queue grows", "drain", 1.0, "hot"),
                ("b", "the queue grows", "drain", 0.2, "hot"),
                ("c", "the queue grows", "drain", 1.0, "warm"),
                ("d", "the queue grows", "wait", -1.0, "hot"),
                ("e", "the disk is full", "wait", 1.0, "hot"),
                ("f", "the queue grows", "drain", -1.0, "cold"),
            )
            for place, (name, state, action, reward, tier) in enumerate(rows):
                at = NOW + timedelta(hours=place)
                session.add(
                    a_memory(name, state=state, action=action, reward=reward, value=reward, tier=tier, created_at=at)
                )
                session.flush()
            session.add(a_memory("x", environment="elsewhere", touched=1))
        yield opened


def test_tiers_are_counted_with_their_ends(database: Database) -> None:
    with database.read() as session:
        hot, warm, cold = tiers(session, "desk")
        assert remembering_environments(session) == ("desk", "elsewhere")
        assert [one.memories for one in tiers(session, "nowhere")] == [0, 0, 0]
    assert (hot.tier, hot.memories) == ("hot", 4)
    assert (hot.oldest, hot.newest) == (NOW, NOW + timedelta(hours=4))
    assert (warm.memories, cold.memories) == (1, 1)


@pytest.mark.parametrize(
    ("wanted", "episodes"),
    [
        ({}, "fedcba"),
        ({"tier": "hot"}, "edba"),
        ({"outcome": "success"}, "eca"),
        ({"outcome": "partial"}, "b"),
        ({"outcome": "failure", "tier": "hot"}, "d"),
        ({"text": " DISK "}, "e"),
        ({"text": "drain"}, "fcba"),
        ({"text": "%"}, ""),
    ],
)
def test_memories_are_listed_newest_first_by_what_was_asked(
    database: Database, wanted: dict[str, str], episodes: str
) -> None:
    with database.read() as session:
        found = memories(session, MemoryFilter("desk", **wanted))
        assert "".join(one.episode_id for one in found.items) == episodes
        assert found.total == len(episodes)
        page = memories(session, MemoryFilter("desk", **wanted), limit=2, offset=1)
        assert "".join(one.episode_id for one in page.items) == episodes[1:3]
        first = one_memory(session, 1)
        assert first is not None and first.episode_id == "a"
        assert one_memory(session, 99) is None


def reader(database: Database) -> ExperienceReader:
    return ExperienceReader(database, WordEmbedder())


def test_a_typed_state_is_judged_by_its_neighbours(database: Database) -> None:
    """The four nearest of "the queue grows" are a, b, c (drain: 1, 0.2, 1) and d (wait: -1); f is cold.

    V = 1.2 / 4 = 0.3; Q(drain) = 2.2 / 3 = 0.7333, A = 0.4333; Q(wait) = -1, A = -1.3. With beta 2 that is +0.8667
    and -2.6 logits.
    """
    settings = SETTINGS.model_copy(update={"policy": PolicySettings(neighbours=4)})
    found = reader(database).look(settings, "desk", "the queue grows")
    assert [one.memory.episode_id for one in found.near] == ["d", "c", "b", "a"]
    assert [round(one.similarity, 6) for one in found.near] == [1, 1, 1, 1]
    assert found.value == pytest.approx(0.3)
    wait, drain = found.actions
    assert (drain.action, drain.tried, drain.bias) == ("drain", 3, None)
    assert (drain.q, drain.advantage, drain.logit) == pytest.approx((0.7333, 0.4333, 0.8667), abs=1e-4)
    assert (wait.action, wait.q, wait.advantage, wait.logit) == ("wait", -1, pytest.approx(-1.3), pytest.approx(-2.6))
    assert found.updates is None


def trained(dim: int, action: str, times: int) -> Adapter:
    adapter = Adapter(dim, PolicySettings(), seed=2)
    state, other = np.eye(2, dim, dtype="f4")
    actions = dict.fromkeys(("drain", "wait", "call"), 0.0)
    for _ in range(times):
        adapter.update([Decision(state, action, actions, 1 / 3, 1.0), Decision(other, action, actions, 1 / 3, -1.0)])
    return adapter


def test_the_adapters_bias_is_shown_for_actions_that_nobody_tried_too(database: Database) -> None:
    adapter = trained(1024, "call", 20)
    with database.write() as session:
        add_snapshot(session, "desk", adapter, OCCASION)
    looking = ExperienceReader(database, embedder := WordEmbedder())
    found = looking.look(SETTINGS, "desk", "the queue grows")
    call = next(one for one in found.actions if one.action == "call")
    vector = encode_states(embedder, ["the queue grows"])[0]
    assert found.updates == 20
    assert [one.tried > 0 for one in found.actions] == [True, True, False], "what was tried comes first"
    assert (call.q, call.advantage, call.tried) == (None, None, 0)
    assert call.bias == call.logit == pytest.approx(adapter.bias(vector, ["call"])["call"])


def test_an_adapter_of_another_embedding_model_says_nothing(database: Database) -> None:
    with database.write() as session:
        add_snapshot(session, "desk", trained(3, "call", 2), OCCASION)
    found = reader(database).look(SETTINGS, "desk", "the queue grows")
    assert found.updates is None
    assert {one.action for one in found.actions} == {"drain", "wait"}


def test_what_changed_meanwhile_is_seen(database: Database) -> None:
    looking = reader(database)
    assert len(looking.look(SETTINGS, "desk", "the queue grows").near) == 5
    with database.write() as session:
        session.add(an_episode("g"))
        session.flush()
        tick = next_tick(session, "desk")
        session.add(a_memory("g", touched=tick))
        gone = session.get_one(Memory, 1)
        gone.tier, gone.touched = "cold", tick
    near = looking.look(SETTINGS, "desk", "the queue grows").near
    assert {one.memory.episode_id for one in near} == set("bcdeg")


def test_a_state_is_needed(database: Database) -> None:
    with pytest.raises(UserError, match="Type a state first"):
        reader(database).look(SETTINGS, "desk", "  ")


def test_advice_follows_the_phase(database: Database) -> None:
    def told(phase: str, way: str = "hint") -> tuple[int, bool, bool] | None:
        settings = SETTINGS.model_copy(update={"policy": PolicySettings(phase=phase, way=way, untried_chance=0)})
        advice = reader(database).advice(settings, "desk", "the queue grows")
        return None if advice is None else (len(advice.told), "[H]" in advice.text, advice.bends)

    assert told("static") is None
    assert told("recall") == (5, False, False)
    assert told("reward") == (5, True, False)
    assert told("reward", "logit") == (5, False, True)


def test_snapshots_guardrail_and_log(database: Database) -> None:
    with database.write() as session:
        for success, turns in ((0.6, 5.0), (0.8, 4.0), (0.7, 4.0), (0.5, 4.0)):
            add_snapshot(session, "desk", trained(3, "call", 1), OCCASION)
            guard(session, "desk", Evaluation(success, turns), 10, PolicySettings(), OCCASION)
        last = add_snapshot(session, "desk", trained(3, "call", 1), OCCASION)
        told = {"words": ["queue"], "action": "drain", "before": 0.1, "after": -0.4, "n": 7, "episodes": ["a", "b"]}
        log(session, last, "explained", OCCASION, told | {"example": "the queue grows"})
    with database.read() as session:
        found = snapshots(session, "desk", limit=2)
        rail = guardrail_state(session, "desk", SETTINGS)
        events = policy_log(session, "desk", limit=3)
        (explained,) = explanations(session, "desk").items
        assert snapshots(session, "elsewhere").total == 0
    assert found.total == 5
    assert [(one.id, one.in_force, one.good, one.success.n) for one in found.items] == [
        (5, True, False, 0), (4, False, False, 10)
    ]  # fmt: skip
    assert (found.items[1].success.value, found.items[1].turns) == (0.5, 4.0)
    assert (rail.worse, rail.patience, rail.success, rail.turns, rail.good_id) == (2, 3, 0.8, 4.0, 2)
    assert [one.kind for one in events.items] == ["evaluated"] * 3, "explanations are listed apart"
    assert events.total == 4
    assert (explained.words, explained.after, explained.episodes) == (("queue",), -0.4, ("a", "b"))


def test_what_a_restore_changes_is_told_by_the_latest_states(database: Database) -> None:
    state = np.array([1, 0, 0], dtype="<f4")
    drains, calls = trained(3, "drain", 30), trained(3, "call", 30)
    with database.write() as session:
        for number in (1, 2):
            session.get_one(Memory, number).vector = state.tobytes()
        for adapter in (drains, calls):
            add_snapshot(session, "desk", adapter, OCCASION)
        add_snapshot(session, "elsewhere", trained(2, "call", 1), OCCASION)
    actions = ["drain", "wait", "call"]
    now, then = calls.bias(state, actions), drains.bias(state, actions)
    with database.read() as session:
        found = snapshot_changes(session, "desk", 1, SETTINGS)
        with pytest.raises(UserError, match="no snapshot 3"):
            snapshot_changes(session, "desk", 3, SETTINGS)
        same = snapshot_changes(session, "desk", 2, SETTINGS)
    assert (found.states, found.other_choice, found.unknown) == (2, 2, False)
    expected = {one: (pytest.approx(now[one]), pytest.approx(then[one])) for one in actions if now[one] != then[one]}
    assert {one.action: (one.now, one.then) for one in found.shifted} == expected
    changes = [abs(one.now - one.then) for one in found.shifted]
    assert changes == sorted(changes, reverse=True)
    assert (same.other_choice, same.shifted) == (0, ())


def test_the_phases_are_checked_for_the_environment_asked_for(database: Database) -> None:
    with database.read() as session:
        state = phase_state(session, "desk", SETTINGS, datetime(2026, 3, 2, tzinfo=UTC))
    assert [one.phase for one in state.readiness] == ["recall", "reward", "adapt"]
    assert "Remembered decisions: 6, needed 50." in [
        check.template.format(**check.values) for check in state.readiness[0].missing
    ]
