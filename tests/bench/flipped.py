"""What the guardrail is worth: rewards turn round in the middle of a life. ``python -m tests.bench.flipped``.

The bandits of ``tests.bench.bandits``: 500 episodes with right rewards, then 600 in which every reward is the wrong way
round. Every 50 episodes the policy is evaluated as it would be on held-out tasks. Three worse evaluations in a row
restore the last good snapshot and set aside what was remembered since, or nothing does. A share of the optimum is by
the right rewards.
"""

import argparse
from dataclasses import dataclass, field
from statistics import fmean

from core.policy.adapter import Adapter
from core.policy.guardrail import Evaluation, Guardrail
from core.settings_experience import PolicySettings
from tests.bench.bandits import ACTIONS, Life, World, born, share
from tests.bench.machine import machine

BEFORE, AFTER, EVERY = 500, 600, 50


@dataclass
class Guarded:
    """A life that is watched."""

    life: Life
    world: World
    guarded: bool
    rail: Guardrail = field(default_factory=Guardrail)
    good: bytes = b""
    learned_by_then: int = 0
    restored: list[int] = field(default_factory=list)

    def evaluate(self, number: int) -> float:
        """Judge the policy, and go back to the good one at the third worse evaluation in a row."""
        found = share(self.life.adapter, self.world)
        patience = self.life.settings.guardrail_evaluations
        verdict, self.rail = self.rail.judge(Evaluation(found, 1.0), patience)
        if verdict == "better":
            self.good, self.learned_by_then = self.life.adapter.snapshot(), len(self.life.remembered)
        if verdict == "restore" and self.guarded:
            self.life.adapter = Adapter.restored(self.good, self.life.settings)
            del self.life.remembered[self.learned_by_then :]
            self.restored.append(number)
        return found


def run(seed: int, *, guarded: bool) -> tuple[float, list[float], list[int]]:
    """Return the share before the turn, those at each evaluation after it, and where the policy was restored."""
    life, right, _ = born(seed, PolicySettings())
    watched = Guarded(life, right, guarded)
    life.live(right, BEFORE)
    before = watched.evaluate(0)
    shares = []
    for number in range(1, AFTER // EVERY + 1):
        life.live(right, EVERY, turned=True)
        shares.append(watched.evaluate(number))
    return before, shares, watched.restored


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    given = parser.parse_args()
    print(machine())
    print(f"chance alone: about {1 / len(ACTIONS):.1f}")
    for seed in given.seeds:
        for guarded in (True, False):
            before, shares, restored = run(seed, guarded=guarded)
            print(
                f"seed {seed}, {'with' if guarded else 'without'} the guardrail: {before:.2f}, then "
                f"{' '.join(f'{one:.2f}' for one in shares)} (mean {fmean(shares):.2f}); restored after {restored}",
                flush=True,
            )


if __name__ == "__main__":
    main()
