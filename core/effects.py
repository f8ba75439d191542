"""Effects from randomised hold-outs (design section 5). Pure arithmetic on sums over episodes.

A rule that was retrieved is left out of a prompt by a coin whose probability is recorded. Weighting every
episode by one over the probability of what happened to it makes those with and those without the rule alike in
all else, whatever decided that the rule was retrieved; their difference is then the rule's effect, which a raw
"with against without" is not.

Estimator: difference of two weighted ratios (Hájek 1971), variance by linearisation (Särndal, Swensson and
Wretman 1992, ch. 5), degrees of freedom after Welch (1947). For shares, two pseudo-observations an arm (Agresti
and Caffo 2000) keep the interval honest where all or none succeeded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scipy import stats


class Finding(StrEnum):
    """What an effect says."""

    ABOVE = "above"  # the interval lies above 0
    BELOW = "below"  # the interval lies below 0
    UNCLEAR = "unclear"  # the interval holds 0
    TOO_FEW = "too_few"  # fewer episodes on one side than any statement needs


@dataclass(frozen=True)
class Sums:
    """Episodes that were assigned alike, added up.

    A metric is the ratio of ``x`` to ``d``: passes to episodes, turns to episodes, failed calls to calls.

    Attributes:
        kept: the rule was left in the prompt (the coin's side, whatever the token budget did afterwards).
        propensity: probability of that side, in (0, 1].
        n: episodes.
        x: sum of the numerators.
        d: sum of the denominators.
        xx: sum of their squares.
        dd: likewise.
        xd: sum of their products.
    """

    kept: bool
    propensity: float
    n: float
    x: float
    d: float
    xx: float
    dd: float
    xd: float


@dataclass(frozen=True)
class Effect:
    """The metric with a rule minus without it.

    Attributes:
        value: the difference, in the metric's unit; None if one side has no episodes.
        low: lower end of the 95 % interval; None if that cannot be told.
        high: upper end.
        n_with: episodes that kept the rule.
        n_without: episodes that left it out.
        finding: what it says.
    """

    value: float | None
    low: float | None
    high: float | None
    n_with: int
    n_without: int
    finding: Finding


@dataclass(frozen=True)
class _Side:
    n: float
    value: float
    variance: float


def effect(sums: Iterable[Sums], *, share: bool, min_n: int) -> Effect:
    """Estimate the effect of keeping a rule.

    Args:
        sums: of all episodes that retrieved it, grouped by side and propensity.
        share: the metric is a share in [0, 1].
        min_n: episodes needed on each side before it says anything.
    """
    listed = list(sums)
    with_it = [one for one in listed if one.kept and one.n]
    without = [one for one in listed if not one.kept and one.n]
    n_with, n_without = (int(sum(one.n for one in side)) for side in (with_it, without))
    if not _measured(with_it) or not _measured(without):
        return Effect(None, None, None, n_with, n_without, Finding.TOO_FEW)
    value = _ratio(with_it) - _ratio(without)
    low, high = _interval(_side(with_it, share=share), _side(without, share=share))
    low, high = min(low, value), max(high, value)
    enough = min(n_with, n_without) >= min_n
    finding = Finding.ABOVE if low > 0 else Finding.BELOW if high < 0 else Finding.UNCLEAR
    return Effect(value, low, high, n_with, n_without, finding if enough else Finding.TOO_FEW)


def _measured(side: Sequence[Sums]) -> bool:
    return sum(one.n for one in side) >= 2 and sum(one.d for one in side) > 0


def _ratio(side: Sequence[Sums]) -> float:
    return sum(one.x / one.propensity for one in side) / sum(one.d / one.propensity for one in side)


def _side(side: Sequence[Sums], *, share: bool) -> _Side:
    """Return the number of episodes, the ratio and its variance."""
    seen = [*side, *(_pseudo(side) if share else ())]
    n = sum(one.n for one in seen)
    total = sum(one.d / one.propensity for one in seen)
    ratio = _ratio(seen)
    squares = sum((one.xx - 2 * ratio * one.xd + ratio**2 * one.dd) / one.propensity**2 for one in seen)
    return _Side(n, ratio, n / (n - 1) * max(squares, 0.0) / total**2)


def _pseudo(side: Sequence[Sums]) -> tuple[Sums, Sums]:
    """Return one success and one failure of average weight."""
    propensity = sum(one.n for one in side) / sum(one.n / one.propensity for one in side)
    return Sums(side[0].kept, propensity, 1, 1, 1, 1, 1, 1), Sums(side[0].kept, propensity, 1, 0, 1, 0, 1, 0)


def _interval(first: _Side, second: _Side) -> tuple[float, float]:
    difference, variance = first.value - second.value, first.variance + second.variance
    if variance == 0.0:
        return difference, difference
    freedom = variance**2 / (first.variance**2 / (first.n - 1) + second.variance**2 / (second.n - 1))
    half = float(stats.t.ppf(0.975, freedom)) * variance**0.5
    return difference - half, difference + half
