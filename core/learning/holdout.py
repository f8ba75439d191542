"""Leaving rules out by chance, so that effects can be told from correlations (design section 5)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from core.rules.retrieval import Hit
from core.settings import UtilitySettings


@dataclass(frozen=True)
class Holdout:
    """What is served and what is not, each with its probability.

    Attributes:
        served: hits that stay.
        left_out: hits taken out, one by one or all together.
        library_left_out: the whole library was taken out.
        library_propensity: probability of what happened to the library.
        rule_propensity: probability of a rule's staying, given that the library stayed.
    """

    served: tuple[Hit, ...]
    left_out: tuple[Hit, ...]
    library_left_out: bool
    library_propensity: float
    rule_propensity: float

    @property
    def left_out_propensity(self) -> float:
        """Probability with which a rule that was left out was left out in this way."""
        return self.library_propensity if self.library_left_out else 1 - self.rule_propensity


def draw_holdout(hits: Sequence[Hit], settings: UtilitySettings, seed: int) -> Holdout:
    """Draw for one learning episode."""
    generator = random.Random(seed)
    if generator.random() < settings.library_holdout:
        return Holdout((), tuple(hits), True, settings.library_holdout, 1 - settings.rule_holdout)
    keep = [generator.random() >= settings.rule_holdout for _ in hits]
    return Holdout(
        served=tuple(hit for hit, kept in zip(hits, keep, strict=True) if kept),
        left_out=tuple(hit for hit, kept in zip(hits, keep, strict=True) if not kept),
        library_left_out=False,
        library_propensity=1 - settings.library_holdout,
        rule_propensity=1 - settings.rule_holdout,
    )


def no_holdout(hits: Sequence[Hit]) -> Holdout:
    """Serve everything; for evaluation."""
    return Holdout(tuple(hits), (), False, 1.0, 1.0)
