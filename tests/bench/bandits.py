"""The adapter on contextual bandits with a known optimum: ``python -m tests.bench.bandits``.

8 states x 5 actions; the right action pays 1, the others -1, and one reward in ten is the wrong way round. States are
vectors like those of the packaged embedding model: unrelated ones have a cosine of about 0.8. First world A for 500
episodes, then world B, in other states, for 700: what is left of A, with the replay of the best decisions and without.
A share of the optimum is what the policy earns, over what knowing the optimum earns.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter

import numpy as np

from core.policy.adapter import Adapter, Decision
from core.policy.sampling import Remembered, draw_batch
from core.settings_experience import PolicySettings
from tests.bench.machine import machine

ACTIONS = tuple(f"action_{number}" for number in range(5))
STATES, DIM, NOISE, NEAR = 8, 384, 0.1, 0.6
_START = datetime(2026, 1, 1, tzinfo=UTC)
_EVERY = timedelta(minutes=30)
_ALIKE = 2.0  # length of what all states share, against 1 of their own


@dataclass(frozen=True)
class World:
    """States, shape (states, dim), and the right action in each."""

    states: np.ndarray
    right: tuple[str, ...]


@dataclass
class Life:
    """An adapter that lives through episodes one by one."""

    adapter: Adapter
    settings: PolicySettings
    rng: random.Random
    now: datetime = _START
    remembered: list[Remembered] = field(default_factory=list)
    update_ms: list[float] = field(default_factory=list)

    def live(self, world: World, episodes: int, *, turned: bool = False) -> None:
        """Choose, be paid (the wrong way round if ``turned``), remember, learn."""
        for _ in range(episodes):
            state = self.rng.randrange(len(world.states))
            chances = policy(self.adapter, world.states[state])
            action = self.rng.choices(ACTIONS, chances)[0]
            slip = self.rng.random() < NOISE
            paid = (action == world.right[state]) ^ slip ^ turned
            self.now += _EVERY
            self._remember(world.states[state], action, chances[ACTIONS.index(action)], paid=paid)
            if len(self.remembered) >= self.settings.cold_episodes:
                self._learn()

    def _remember(self, state: np.ndarray, action: str, probability: float, *, paid: bool) -> None:
        value = 1.0 if paid else -1.0
        alike = (one for one in self.remembered[-100:] if float(one.decision.state @ state) > 0.99)
        hard = any(one.decision.value != value for one in alike)
        candidates = dict.fromkeys(ACTIONS, 0.0)
        decision = Decision(state, action, candidates, probability, value)
        self.remembered.append(Remembered(decision, self.now, hard, self.rng.random()))

    def _learn(self) -> None:
        for _ in range(self.settings.updates_per_episode):
            start = perf_counter()
            self.adapter.update(draw_batch(self.remembered, self.settings, self.now, self.rng))
            self.update_ms.append(1000 * (perf_counter() - start))


def make_world(rng: np.random.Generator, shared: np.ndarray, like: np.ndarray | None = None) -> World:
    """Draw a world whose states share a direction; ``like``: each of them is near one of these."""
    own = rng.normal(size=(STATES, DIM))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    if like is not None:
        apart = like - shared * (like @ shared)[:, None]
        own = NEAR * apart / np.linalg.norm(apart, axis=1, keepdims=True) + (1 - NEAR**2) ** 0.5 * own
    states = own + _ALIKE * shared
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return World(states.astype(np.float32), tuple(ACTIONS[n] for n in rng.integers(len(ACTIONS), size=STATES)))


def policy(adapter: Adapter, state: np.ndarray) -> list[float]:
    """Return the chance of each action."""
    biases = adapter.bias(state, ACTIONS)
    weights = np.exp([biases[action] for action in ACTIONS])
    return [float(one) for one in weights / weights.sum()]


def share(adapter: Adapter, world: World) -> float:
    """Return the share of the optimum: expected pay in [0, 1] over that of always choosing right."""
    right = [policy(adapter, x)[ACTIONS.index(a)] for x, a in zip(world.states, world.right, strict=True)]
    chance = float(np.mean(right))
    return ((1 - NOISE) * chance + NOISE * (1 - chance)) / (1 - NOISE)


def born(seed: int, settings: PolicySettings) -> tuple[Life, World, World]:
    """Return a life before its first episode, a world, and one whose states are near those of the first."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=DIM)
    shared /= np.linalg.norm(shared)
    first = make_world(rng, shared)
    life = Life(Adapter(DIM, settings, seed), settings, random.Random(seed))
    return life, first, make_world(rng, shared, first.states)


def lifetime(seed: int, replay: int, episodes: Sequence[int]) -> tuple[list[float], Life]:
    """Live in A, then in B; return the share of A after A, of B after B, of A after B."""
    life, first, second = born(seed, PolicySettings(replay=replay))
    life.live(first, episodes[0])
    found = [share(life.adapter, first)]
    if len(episodes) > 1:
        life.live(second, episodes[1])
        found += [share(life.adapter, second), share(life.adapter, first)]
    return found, life


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--replays", type=int, nargs="+", default=[PolicySettings().replay, 0])
    given = parser.parse_args()
    print(machine())
    for replay in given.replays:
        for seed in given.seeds:
            (a, b, kept), life = lifetime(seed, replay, (500, 700))
            print(
                f"replay {replay:3}, seed {seed}: A after A {a:.3f}, B after B {b:.3f}, A after B {kept:.3f} "
                f"({kept / a:.2f} of it kept); an update {median(life.update_ms):.1f} ms", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
