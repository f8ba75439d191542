"""Who is to blame for a change of a metric between two groups of episodes. Pure arithmetic.

Bayesian linear regression (Gelman et al. 2013, Bayesian Data Analysis, ch. 14) of each episode's outcome on the
rules its prompt carried, on its task type, and on a drift that no rule explains, with normal priors around 0: what
the data does not tell stays near 0 instead of running wild. A rule's share of the change is its effect times the
change in how many prompts carried it. Rules are told apart by episodes that had one without the other: by what
retrieval chose, and by the coin that leaves rules out. Where there are hardly any, they are judged as one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_TOGETHER = 0.9
_APART = 10
"""Fewer episodes than this with only one of two rules do not tell them apart."""
_RULE_PRIOR, _DRIFT_PRIOR, _TYPE_PRIOR = 0.3, 0.1, 10.0
"""Standard deviations of the priors, in standard deviations of the outcome."""
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Episodes:
    """The episodes of both groups; all arrays have one entry an episode.

    Attributes:
        outcome: what the metric averages, in its unit.
        weight: how much it counts, at least 0: 1 for a share of episodes, tool calls for a share of calls.
        side: -1 for the earlier group, 1 for the later one; 0 for further episodes, which only help to tell effects.
        kinds: its task type.
        carried: rule id -> whether the prompt carried it.
    """

    outcome: np.ndarray
    weight: np.ndarray
    side: np.ndarray
    kinds: Sequence[str]
    carried: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Share:
    """What rules did to the change.

    Attributes:
        rules: one, or several that cannot be told apart.
        effect: of carrying them, in the metric's unit.
        before: share of earlier prompts that carried them.
        after: of later ones.
        value: part of the change that is owed to them, in the metric's unit.
        low: lower end of its 95 % interval.
        high: upper end.
    """

    rules: tuple[str, ...]
    effect: float
    before: float
    after: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Attribution:
    """A change taken apart: ``change`` = sum of all ``shares`` + ``mix`` of task types + ``rest``.

    Attributes:
        change: of the metric, later minus earlier.
        mix: part owed to other task types.
        rest: part that neither rules nor types explain.
        shares: those of the rules in question, most in the direction of the change first.
        others: sum of the shares of all other rules.
        n_before: earlier episodes that count.
        n_after: later ones.
    """

    change: float
    mix: float
    rest: float
    shares: tuple[Share, ...]
    others: float
    n_before: int
    n_after: int


def attribute(episodes: Episodes, suspects: Sequence[str]) -> Attribution | None:
    """Take a change apart; None if one of the groups is empty or nothing varies.

    Args:
        episodes: of both groups.
        suspects: the rules in question; all others are accounted for, but not listed.
    """
    counted = episodes.weight > 0
    later, earlier = counted & (episodes.side > 0), counted & (episodes.side < 0)
    if not later.any() or not earlier.any():
        return None
    change = _mean(episodes, later) - _mean(episodes, earlier)
    groups = _inseparable({rule: column for rule, column in episodes.carried.items() if column[counted].any()})
    kinds = sorted(set(episodes.kinds))
    told = np.array(episodes.kinds)
    columns = [told == one for one in kinds]
    columns += [np.logical_or.reduce([episodes.carried[rule] for rule in group]) for group in groups]
    columns.append(episodes.side > 0)
    design = np.array(columns, dtype=float).T
    fitted = _fit(design[counted], episodes.outcome[counted], episodes.weight[counted], len(kinds))
    if fitted is None:
        return None
    mean, variance = fitted
    before, after = (_shares_of_weight(design, episodes.weight, side) for side in (earlier, later))
    moved = after - before
    shares = [
        _share(group, mean[place], variance[place], before[place], after[place])
        for place, group in enumerate(groups, len(kinds))
    ]
    listed = [share for share in shares if set(share.rules) & set(suspects)]
    direction = 1.0 if change >= 0 else -1.0
    mix = float(mean[: len(kinds)] @ moved[: len(kinds)])
    explained = sum(share.value for share in shares)
    return Attribution(
        change=change,
        mix=mix,
        rest=change - mix - explained,
        shares=tuple(sorted(listed, key=lambda share: -direction * share.value)),
        others=explained - sum(share.value for share in listed),
        n_before=int(earlier.sum()),
        n_after=int(later.sum()),
    )


def _mean(episodes: Episodes, side: np.ndarray) -> float:
    return float(np.average(episodes.outcome[side], weights=episodes.weight[side]))


def _shares_of_weight(design: np.ndarray, weight: np.ndarray, side: np.ndarray) -> np.ndarray:
    return np.average(design[side], axis=0, weights=weight[side])


def _inseparable(carried: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Group rules that stand in the same prompts nearly always; each group in the order of the rules."""
    if not carried:
        return []
    rules, rows = list(carried), np.array(list(carried.values()), dtype=np.float32)  # counts stay exact
    both = rows @ rows.T
    either = np.add.outer(both.diagonal(), both.diagonal()) - both
    together = (both >= _TOGETHER * either) & (either - both < _APART)
    groups: dict[int, list[int]] = {}
    for rule in range(len(rules)):
        home = next((first for first in np.flatnonzero(together[:rule, rule]).tolist() if first in groups), rule)
        groups.setdefault(home, []).append(rule)
    return [tuple(rules[rule] for rule in group) for group in groups.values()]


def _fit(
    design: np.ndarray, outcome: np.ndarray, weight: np.ndarray, kinds: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return posterior means and variances; None if the outcome does not vary."""
    weight = weight / weight.mean()
    spread = float(np.sqrt(np.average((outcome - np.average(outcome, weights=weight)) ** 2, weights=weight)))
    if spread == 0.0:
        return None
    prior = np.full(design.shape[1], _RULE_PRIOR * spread)
    prior[:kinds], prior[-1] = _TYPE_PRIOR * spread, _DRIFT_PRIOR * spread
    precision = (design * weight[:, None]).T @ design / spread**2 + np.diag(1 / prior**2)
    covariance = np.linalg.inv(precision)
    return covariance @ (design.T @ (weight * outcome)) / spread**2, np.diag(covariance)


def _share(group: tuple[str, ...], effect: float, variance: float, before: float, after: float) -> Share:
    moved = float(after - before)
    value, half = float(effect) * moved, _Z95 * float(np.sqrt(variance)) * abs(moved)
    return Share(group, float(effect), float(before), float(after), value, value - half, value + half)
