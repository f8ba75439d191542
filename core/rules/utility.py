"""How useful a rule is, by its figures (design section 5)."""

import random
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Protocol

from core.ids import derive_seed
from core.settings import UtilitySettings


class Counted(Protocol):
    """What has been counted about a rule; ``avg_delta`` is in units of reward."""

    id: str
    n_used: int
    n_success: int
    avg_delta: float


@dataclass(frozen=True)
class Ucb:
    """Upper-confidence score; choose it for a deterministic order that still tries the little known."""

    settings: UtilitySettings
    exploration: float

    def score(self, rule: Counted, total_uses: int) -> float:
        """Return n_success/n_used + w*avg_delta + c*sqrt(ln(total+1)/n_used); infinite while unused."""
        if rule.n_used == 0:
            return inf
        mean = rule.n_success / rule.n_used
        bonus = self.exploration * sqrt(log(total_uses + 1) / rule.n_used)
        return mean + self.settings.delta_weight * rule.avg_delta + bonus


@dataclass(frozen=True)
class Thompson:
    """A draw from the Beta posterior; choose it when many rounds run and the order should vary.

    The draw hangs on the seed, the rule and its counts alone, so that every arm of a round and a round that is
    taken up again see the same one.
    """

    seed: int

    def score(self, rule: Counted, total_uses: int) -> float:
        """Return one draw from Beta(1 + successes, 1 + failures), in [0, 1]; infinite while unused."""
        del total_uses
        if rule.n_used == 0:
            return inf
        draws = random.Random(derive_seed(self.seed, rule.id, rule.n_used, rule.n_success))
        return draws.betavariate(1 + rule.n_success, 1 + rule.n_used - rule.n_success)


Scorer = Ucb | Thompson


def make_scorer(settings: UtilitySettings, exploration: float, seed: int) -> Scorer:
    """Return the scorer the settings ask for."""
    if settings.scorer == "thompson":
        return Thompson(seed)
    return Ucb(settings, exploration)


def adapt_exploration(settings: UtilitySettings, held_out_scores: list[float]) -> float:
    """Return c for the next round from the held-out scores so far, oldest first (design section 5).

    Two rises in a row: exploit more. No change beyond 0.01 for three rounds: explore more.
    """
    if len(held_out_scores) >= 3 and held_out_scores[-3] < held_out_scores[-2] < held_out_scores[-1]:
        return settings.exploration_rising
    recent = held_out_scores[-4:]
    if len(recent) == 4 and max(recent) - min(recent) <= 0.01:
        return settings.exploration_flat
    return settings.exploration
