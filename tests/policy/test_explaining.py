"""What the adapter learned, in words: the right group, the right action, the right episodes."""

import numpy as np
import pytest

from core.policy.adapter import Adapter, Decision
from core.policy.explaining import Learned, explain
from core.settings_experience import PolicySettings

SETTINGS = PolicySettings(hidden=16)
LOCKS = np.array([1, 0.1, 0, 0], dtype=np.float32)
DISK = np.array([0, 0, 1, 0.1], dtype=np.float32)


def learned(number: int, vector: np.ndarray, words: str, action: str, value: float) -> Learned:
    return Learned(f"e{number}", f"{words} on host {number}", action, value, vector)


DECISIONS = [
    *(learned(n, LOCKS, "ledger locks pile up", "mend()", 1.0 - n / 100) for n in range(6)),
    *(learned(n, LOCKS, "ledger locks pile up", "restart()", -1.0) for n in range(6, 8)),
    *(learned(n, DISK, "disk volume full", "trim()", 0.8) for n in range(8, 14)),
]


def adapter_taught(*lessons: tuple[np.ndarray, str, float]) -> Adapter:
    adapter = Adapter(4, SETTINGS, 1)
    actions = dict.fromkeys(("mend()", "restart()", "trim()"), 0.0)
    for _ in range(80):
        adapter.update([Decision(vector, action, actions, 1 / 3, value) for vector, action, value in lessons])
    return adapter


def test_it_tells_what_changed_where_and_since_which_episodes() -> None:
    taught = adapter_taught(
        (LOCKS, "mend()", 1.0), (LOCKS, "restart()", -1.0), (DISK, "trim()", 1.0), (DISK, "mend()", -1.0)
    )
    found = {one.action: one for one in explain(taught, None, DECISIONS, groups=2, seed=1)}
    assert set(found) == {"mend()", "trim()"} or set(found) == {"restart()", "trim()"}
    locks = next(one for action, one in found.items() if action != "trim()")
    assert {"ledger", "locks", "pile", "up"}.issuperset(locks.words)
    assert "locks" in locks.example
    assert (locks.after > 0) == (locks.action == "mend()")
    if locks.action == "mend()":
        assert (locks.n, locks.episodes) == (6, ("e0", "e1", "e2", "e3", "e4"))
        assert locks.mean_return == pytest.approx(0.975)
    assert found["trim()"].before == 0.0


def test_without_a_change_nothing_is_told() -> None:
    taught = adapter_taught((LOCKS, "mend()", 1.0), (LOCKS, "restart()", -1.0))
    same = Adapter.restored(taught.snapshot(), SETTINGS)
    assert explain(taught, same, DECISIONS, groups=2, seed=1) == []


def test_of_few_decisions_nothing_is_told() -> None:
    assert explain(adapter_taught((LOCKS, "mend()", 1.0)), None, DECISIONS[:4], groups=2, seed=1) == []
