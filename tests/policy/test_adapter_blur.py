"""States that are met once are not learned by heart: what they have in common is."""

import random

import numpy as np

from core.policy.adapter import Adapter, Decision
from core.settings_experience import PolicySettings

DIM, KINDS = 64, 2
ACTIONS = ("a", "b", "c")


def a_state(kind: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a state of a kind; two of the same kind have a cosine of about 0.3."""
    own = rng.normal(size=DIM) / np.sqrt(DIM)
    own[kind] += 0.7
    return np.asarray(own / np.linalg.norm(own), dtype=np.float32)


def right_share(noise: float, seed: int) -> float:
    """Return in what share of fresh states the right action is the likeliest, after 60 states with one action each.

    In the first kind "a" is right, in the second "b"; one reward in five is the wrong way round.
    """
    rng, lots = np.random.default_rng(seed), random.Random(seed)
    met = []
    for number in range(60):
        action = lots.choice(ACTIONS)
        good = (action == ACTIONS[number % KINDS]) != (lots.random() < 0.2)
        state = a_state(number % KINDS, rng)
        met.append(Decision(state, action, dict.fromkeys(ACTIONS, 0.0), 1 / 3, 1.0 if good else -1.0))
    adapter = Adapter(DIM, PolicySettings(state_noise=noise), seed)
    for _ in range(250):
        adapter.update(lots.choices(met, k=32))
    fresh = [(number % KINDS, adapter.bias(a_state(number % KINDS, rng), ACTIONS)) for number in range(200)]
    return sum(max(bias, key=lambda action: bias[action]) == ACTIONS[kind] for kind, bias in fresh) / len(fresh)


def test_blurred_states_teach_what_holds_for_others_like_them() -> None:
    by_heart, blurred = (
        [right_share(noise, seed) for seed in (1, 2, 3)] for noise in (0.0, PolicySettings().state_noise)
    )
    assert min(blurred) > 0.85
    assert sum(blurred) > sum(by_heart) + 0.3
