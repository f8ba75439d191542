"""The adapter: a small bandit learned, snapshots bit for bit, limits kept (design section 10)."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.policy.adapter import Adapter, Decision
from core.policy.sampling import Remembered, best, draw_batch, may_update
from core.settings_experience import PolicySettings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACTIONS = ("a", "b", "c")
SETTINGS = PolicySettings(hidden=16)
STATES = np.eye(4, 8, dtype=np.float32)


def decision(state: int, action: str, value: float) -> Decision:
    return Decision(STATES[state], action, dict.fromkeys(ACTIONS, 0.0), 1 / 3, value)


def taught(seed: int, updates: int) -> Adapter:
    """Return an adapter that saw 'a' succeed in state 0 and fail in state 1."""
    adapter = Adapter(8, SETTINGS, seed)
    for _ in range(updates):
        adapter.update([decision(0, "a", 1.0), decision(0, "b", -1.0), decision(1, "a", -1.0), decision(1, "c", 1.0)])
    return adapter


def test_it_prefers_what_succeeded_and_knows_nothing_of_what_it_never_met() -> None:
    adapter = taught(1, 60)
    first, second = adapter.bias(STATES[0], [*ACTIONS, "new"]), adapter.bias(STATES[1], ACTIONS)
    assert first["a"] > 1 > 0 > first["b"]
    assert second["c"] > 1 > 0 > second["a"]
    assert first["new"] == 0.0


def test_a_fresh_adapter_has_no_preference() -> None:
    assert Adapter(8, SETTINGS, 1).bias(STATES[0], ACTIONS) == dict.fromkeys(ACTIONS, 0.0)


ELSEWHERE = [decision(1, "b", 1.0), decision(2, "b", 1.0)]


@pytest.mark.parametrize(("value", "fades"), [(-1.0, True), (1.0, False)])
def test_biases_fade_where_hardly_anything_succeeds_and_only_there(value: float, fades: bool) -> None:
    found = {}
    for decay in (0.0, 0.3):
        adapter = Adapter(8, PolicySettings(hidden=16, hopeless_decay=decay), 1)
        for _ in range(150):
            adapter.update([decision(0, "a", value), decision(0, "b", value), *ELSEWHERE])
        found[decay] = max(map(abs, adapter.bias(STATES[0], ACTIONS).values()))
    assert found[0.0] > 1
    assert found[0.3] < 0.5 * found[0.0] if fades else found[0.3] == pytest.approx(found[0.0], rel=0.1)


def test_a_restored_adapter_goes_on_bit_for_bit() -> None:
    original = taught(1, 20)
    snapshot = original.snapshot()
    restored = Adapter.restored(snapshot, SETTINGS)
    assert restored.snapshot() == snapshot
    batch = [decision(2, "b", 1.0), decision(3, "c", -1.0)]
    original.update(batch)
    restored.update(batch)
    assert restored.snapshot() == original.snapshot()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(ACTIONS), st.floats(-1, 1)), min_size=1, max_size=8))
def test_no_step_is_longer_and_no_bias_larger_than_allowed(rows: list[tuple[int, str, float]]) -> None:
    tight = PolicySettings(hidden=16, max_step=0.05, max_bias=0.5)
    adapter = Adapter(8, tight, 1)
    for _ in range(5):
        assert adapter.update([decision(*row) for row in rows]) <= 0.05 + 1e-6
    assert all(abs(bias) <= 0.5 for bias in adapter.bias(STATES[0], ACTIONS).values())


def remembered(value: float, hours: float, *, hard: bool = False, lot: float = 0.5) -> Remembered:
    return Remembered(decision(0, "a", value), NOW - timedelta(hours=hours), hard, lot)


def test_a_batch_is_shared_out_as_designed() -> None:
    # Of 32: 30 % recent = 10, 40 % successes = 13 (half of them the best ever), 30 % hard = 9.
    recent, week, old, hard = (
        remembered(-0.5, 1),
        remembered(0.5, 100),
        remembered(0.9, 2_000),
        remembered(-1.0, 50, hard=True),
    )
    drawn = draw_batch([recent, week, old, hard], PolicySettings(replay=1), NOW, random.Random(1))
    values = Counter(one.value for one in drawn)
    assert values == {-0.5: 10, 0.5: 7, 0.9: 6, -1.0: 9}
    assert [one.value for one in drawn if one.replayed] == [0.9] * 6


def test_a_share_without_a_pool_goes_to_all() -> None:
    drawn = draw_batch([remembered(-1.0, 2_000)], SETTINGS, NOW, random.Random(1))
    assert len(drawn) == SETTINGS.batch


def test_the_best_are_kept_and_lots_decide_among_equals() -> None:
    rows = [remembered(0.5, 1, lot=0.1), remembered(1.0, 1, lot=0.9), remembered(1.0, 9, lot=0.2)]
    assert best(rows, 2) == [rows[2], rows[1]]


@pytest.mark.parametrize(
    ("episodes", "hours", "ready"), [(50, 24.0, True), (49, 24.0, False), (50, 23.99, False), (500, 0.0, False)]
)
def test_the_cold_start_ends_with_enough_episodes_and_time(episodes: int, hours: float, ready: bool) -> None:
    assert may_update(episodes, NOW - timedelta(hours=hours), PolicySettings(), NOW) is ready


def test_an_update_uses_one_thread_or_many_with_the_same_result() -> None:
    threads = torch.get_num_threads()
    first = taught(3, 5).snapshot()
    torch.set_num_threads(1)
    try:
        assert taught(3, 5).snapshot() == first
    finally:
        torch.set_num_threads(threads)
