"""The gate's verdict from paired held-out results (design section 8). Pure arithmetic on outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from core.settings import GateSettings
from core.statistics import mcnemar_exact, paired_bootstrap, without_dust


class Verdict(StrEnum):
    """What the held-out tasks say about a change of the library."""

    IMPROVED = "improved"  # the interval of the mean difference lies above 0
    PROBABLY_BETTER = "probably_better"  # the mean is above 0, but too few tasks to tell
    NOT_BETTER = "not_better"
    WORSE = "worse"  # the interval lies below 0
    TOO_FEW = "too_few"  # too few held-out tasks for any verdict
    NO_CHANGE = "no_change"  # the round changed nothing in the library
    UNTESTED = "untested"  # episodes of this environment cannot be rolled out


@dataclass(frozen=True)
class Outcome:
    """One held-out task under one arm."""

    task_id: str
    task_type: str
    reward: float
    passed: bool


@dataclass(frozen=True)
class Comparison:
    """Two arms on the same tasks and seeds. ``value`` is the mean paired difference in reward, after minus before."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    repaired: int
    regressed: int
    mcnemar_p: float
    success_before: float | None
    success_after: float | None
    by_type: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return it for storage."""
        return asdict(self)


def compare(before: Sequence[Outcome], after: Sequence[Outcome], *, seed: int, samples: int) -> Comparison:
    """Compare arms over the tasks both of them finished."""
    first = {outcome.task_id: outcome for outcome in before}
    second = {outcome.task_id: outcome for outcome in after}
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return Comparison(None, None, None, 0, 0, 0, 1.0, None, None, {})
    old, new = [first[key] for key in shared], [second[key] for key in shared]
    interval = paired_bootstrap([o.reward for o in old], [o.reward for o in new], seed=seed, samples=samples)
    repaired = sum(b.passed and not a.passed for a, b in zip(old, new, strict=True))
    regressed = sum(a.passed and not b.passed for a, b in zip(old, new, strict=True))
    return Comparison(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        n=len(shared),
        repaired=repaired,
        regressed=regressed,
        mcnemar_p=mcnemar_exact(repaired, regressed),
        success_before=sum(o.passed for o in old) / len(old),
        success_after=sum(o.passed for o in new) / len(new),
        by_type=_by_type(old, new),
    )


def judge(comparison: Comparison, settings: GateSettings) -> Verdict:
    """Say what the comparison shows."""
    value, low, high = comparison.value, comparison.low, comparison.high
    if comparison.n < settings.min_tasks or value is None or low is None or high is None:
        return Verdict.TOO_FEW
    if low > 0:
        return Verdict.IMPROVED
    if value > 0:
        return Verdict.PROBABLY_BETTER
    return Verdict.WORSE if high < 0 else Verdict.NOT_BETTER


def commits(verdict: Verdict, comparison: Comparison, settings: GateSettings) -> bool:
    """Say whether the round's changes stay.

    The default keeps a positive mean; ``strict`` only an interval above 0. At a perfect score, where nothing
    can become better, not worse is enough. ``no_type_worse`` refuses a change that lowers any task type.
    With too few tasks for a verdict new candidates stay for people to decide on: none goes live by itself then.
    """
    if verdict in (Verdict.NO_CHANGE, Verdict.TOO_FEW):
        return True
    if settings.no_type_worse and any(difference < 0 for difference in comparison.by_type.values()):
        return False
    if comparison.success_before == 1.0 and comparison.value is not None and comparison.value >= 0:
        return True
    good = {Verdict.IMPROVED} if settings.mode == "strict" else {Verdict.IMPROVED, Verdict.PROBABLY_BETTER}
    return verdict in good


def _by_type(before: Sequence[Outcome], after: Sequence[Outcome]) -> dict[str, float]:
    sums: dict[str, list[float]] = {}
    for old, new in zip(before, after, strict=True):
        sums.setdefault(old.task_type, []).append(new.reward - old.reward)
    return {kind: without_dust(sum(values) / len(values)) for kind, values in sorted(sums.items())}
