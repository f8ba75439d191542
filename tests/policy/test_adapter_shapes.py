"""An adapter outlives a change of its size and of the embedding model."""

import numpy as np
import pytest

from core.policy.adapter import Adapter, Decision
from core.settings_experience import PolicySettings


def batch(*actions: str) -> list[Decision]:
    """Return a success of the first action, and a failure of the last one in another state."""
    candidates = dict.fromkeys(actions, 0.0)
    other = np.array([1, 0, 0], dtype="f4")
    return [
        Decision(np.ones(3, dtype="f4"), actions[0], candidates, 1 / len(actions), 1.0),
        Decision(other, actions[-1], candidates, 1 / len(actions), -0.5),
    ]


def test_a_restored_adapter_meets_new_actions_whatever_the_setting_says_of_its_size() -> None:
    adapter = Adapter(3, PolicySettings(hidden=8), seed=1)
    adapter.update(batch("a", "b"))
    restored = Adapter.restored(adapter.snapshot(), PolicySettings(hidden=16))
    before = restored.bias(np.ones(3, dtype="f4"), ["a"])["a"]
    restored.update(batch("c", "a"))
    assert restored.actions == ("a", "b", "c")
    assert before != 0


@pytest.mark.parametrize("dim", [2, 4])
def test_of_another_models_states_it_knows_nothing(dim: int) -> None:
    adapter = Adapter(3, PolicySettings(), seed=1)
    for _ in range(5):
        adapter.update(batch("a", "b"))
    assert adapter.dim == 3
    assert adapter.bias(np.ones(3, dtype="f4"), ["a"])["a"] != 0
    assert adapter.bias(np.ones(dim, dtype="f4"), ["a", "b"]) == {"a": 0.0, "b": 0.0}
