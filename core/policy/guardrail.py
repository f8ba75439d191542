"""When a policy gets worse: back to the last good snapshot (design section 10).

Decides only; taking and restoring snapshots is the caller's matter.
"""

from dataclasses import dataclass, replace
from typing import Literal

Verdict = Literal["better", "same", "worse", "restore"]


@dataclass(frozen=True)
class Evaluation:
    """How a policy did on held-out tasks: success rate in [0, 1] and mean turns."""

    success: float
    turns: float

    def worse_than(self, other: "Evaluation") -> bool:
        """Success fell, or turns rose at a success no higher."""
        if self.success != other.success:
            return self.success < other.success
        return self.turns > other.turns


@dataclass(frozen=True)
class Guardrail:
    """What the guardrail remembers between evaluations.

    Attributes:
        good: evaluation of the last good snapshot; None before the first.
        worse: evaluations in a row that were worse than it.
    """

    good: Evaluation | None = None
    worse: int = 0

    def judge(self, evaluation: Evaluation, patience: int) -> tuple[Verdict, "Guardrail"]:
        """Judge an evaluation against the last good snapshot.

        Args:
            evaluation: the newest.
            patience: worse evaluations in a row that restore the snapshot, at least 1.

        Returns:
            "better" (take a snapshot, it is the good one now), "same", "worse" (wait), or "restore"; and what to
            remember for the next evaluation.
        """
        if self.good is None or self.good.worse_than(evaluation):
            return "better", Guardrail(evaluation)
        if not evaluation.worse_than(self.good):
            return "same", replace(self, worse=0)
        if self.worse + 1 >= patience:
            return "restore", replace(self, worse=0)
        return "worse", replace(self, worse=self.worse + 1)
