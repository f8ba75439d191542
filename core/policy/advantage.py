"""The advantage of each action, estimated from remembered decisions (design section 10; JitRL, arXiv 2601.18510).

Reads a neighbourhood of remembered decisions and knows nothing of where it comes from. Its result is added to
the model's log-probabilities, or said in words; both is done elsewhere.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from core.settings_experience import PolicySettings


@dataclass(frozen=True)
class Tried:
    """One remembered decision near the state at hand: what was done, and the return G it led to."""

    action: str
    value: float


@dataclass(frozen=True)
class Estimate:
    """What a neighbourhood says about the actions at hand.

    Attributes:
        value: V(s), the mean return of the neighbourhood; None where nothing is near.
        q: Q(s, a) of each candidate; empty where nothing is near.
        tried: how many neighbours took each candidate.
    """

    value: float | None
    q: Mapping[str, float]
    tried: Mapping[str, int]

    def advantage(self, action: str) -> float:
        """A(s, a) = Q(s, a) - V(s); 0 where nothing is known."""
        return 0.0 if self.value is None else self.q[action] - self.value


def estimate(
    neighbours: Sequence[Tried], candidates: Sequence[str], settings: PolicySettings, rng: random.Random
) -> Estimate:
    """Estimate V and Q. An action that no neighbour took gets V, and now and then a bonus for being unknown.

    Args:
        neighbours: N(s), the remembered decisions near the state at hand.
        candidates: the actions at hand.
        settings: ``alpha`` of the bonus alpha/|N(s)|, and the chance of it.
        rng: decides who gets the bonus.
    """
    tried = {action: [near.value for near in neighbours if near.action == action] for action in candidates}
    counts = {action: len(values) for action, values in tried.items()}
    if not neighbours:
        return Estimate(None, {}, counts)
    value = fmean(near.value for near in neighbours)
    bonus = settings.untried_bonus / len(neighbours)
    q = {
        action: fmean(values) if values else value + (bonus if rng.random() < settings.untried_chance else 0.0)
        for action, values in tried.items()
    }
    return Estimate(value, q, counts)


def bent(logits: Mapping[str, float], preferences: Mapping[str, float], strength: float) -> dict[str, float]:
    """Return z'(s, a) = z(s, a) + beta A(s, a), the closed form of KL-limited policy improvement.

    Args:
        logits: z, the model's log-probabilities of the candidates.
        preferences: A, or an adapter's bias; missing ones count as 0.
        strength: beta, at least 0.
    """
    return {action: logit + strength * preferences.get(action, 0.0) for action, logit in logits.items()}
