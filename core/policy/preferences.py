"""What experience says about the actions at hand, from both sources, in one scale: logits (design section 10).

Advantages come from remembered returns (JitRL), biases from the adapter (MemRL); each may be absent.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.policy.adapter import Adapter
from core.policy.advantage import Estimate, Tried, bent, estimate
from core.settings_experience import PolicySettings

_HINTED = 3
"""Actions a hint favours, and advises against, at most."""


@dataclass(frozen=True)
class Preference:
    """What experience says about one action.

    Attributes:
        action: its name.
        advantage: A(s, a); 0 where nothing is known.
        tried: neighbours that took it.
        bias: of the adapter, in logits; 0 where it knows nothing.
        logit: both together, as added to the model's log-probability.
    """

    action: str
    advantage: float
    tried: int
    bias: float
    logit: float


class Preferences:
    """A policy frozen for one phase; safe to share between threads.

    Args:
        settings: strength of advantages, bonus of untried actions.
        advantage: advantages count.
        adapter: its biases count; None for none.
    """

    def __init__(self, settings: PolicySettings, *, advantage: bool, adapter: Adapter | None) -> None:
        self._settings = settings
        self._advantage = advantage
        self._adapter = adapter

    def of(
        self, vector: np.ndarray, near: Sequence[Tried], candidates: Sequence[str], rng: random.Random
    ) -> list[Preference]:
        """Say what experience says of each candidate, in the order given.

        Args:
            vector: of the state, shape (dim,).
            near: the neighbourhood N(s).
            candidates: the actions at hand.
            rng: decides which untried action gets its bonus.
        """
        found = estimate(near if self._advantage else (), candidates, self._settings, rng)
        biases = self._adapter.bias(vector, candidates) if self._adapter is not None else {}
        return [self._preference(action, found, biases.get(action, 0.0)) for action in candidates]

    def bent(self, logits: Mapping[str, float], preferences: Sequence[Preference]) -> dict[str, float]:
        """Add preferences to the model's log-probabilities."""
        return bent(logits, {one.action: one.logit for one in preferences}, 1.0)

    def known_actions(self, near: Sequence[Tried]) -> list[str]:
        """Return the actions experience can say something of, where nobody lists those at hand."""
        found = [one.action for one in near] if self._advantage else []
        return list(dict.fromkeys([*found, *(self._adapter.actions if self._adapter is not None else ())]))

    def _preference(self, action: str, found: Estimate, bias: float) -> Preference:
        advantage = found.advantage(action)
        return Preference(action, advantage, found.tried.get(action, 0), bias, self._settings.beta * advantage + bias)


def hint(preferences: Sequence[Preference], settings: PolicySettings) -> str:
    """Put preferences into a short line for the prompt, '' where they say too little.

    For endpoints without log-probabilities. Figures are in the scale of advantages, so that those of the adapter and
    those from memory compare.
    """
    scale = settings.beta or 1.0
    worth = {one.action: one.logit / scale for one in preferences if abs(one.logit) / scale >= settings.hint_margin}
    ranked = sorted(worth, key=lambda action: (-worth[action], action))
    good = [action for action in ranked if worth[action] > 0][:_HINTED]
    bad = [action for action in reversed(ranked) if worth[action] < 0][:_HINTED]
    parts = [
        f"{label} {', '.join(f'{action} {worth[action]:+.2f}' for action in actions)}"
        for label, actions in (("rather", good), ("rather not", bad))
        if actions
    ]
    return f"[H] Experience in situations like this: {'; '.join(parts)}" if parts else ""
