"""Finds rules that may say the same, and adds up the statistics of merged ones (design section 3).

Stage one: near in meaning and not contradicting. Stage two, the model's judgement of a proposed pair, is
``core.rules.judging``. The merge itself, and its undoing, are the library's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.calibration import Thresholds
from core.rules.conflicts import contradict
from core.rules.wording import rule_text
from core.tables.rules import RuleContent
from core.text import has_cjk

_MOST_READ = 64
"""Near rules whose words are read for contradictions; each proposal costs a judgement, so more is no use."""


@dataclass(frozen=True)
class DuplicateProposal:
    """A rule that may say the same as the new one; ``cosine`` in [-1, 1]."""

    other_id: str
    cosine: float


@dataclass(frozen=True)
class Statistics:
    """What a rule has counted so far; ``avg_delta`` in units of reward."""

    n_used: int
    n_success: int
    avg_delta: float
    verified: int = 0


def propose_duplicates(
    new: RuleContent,
    others: Sequence[tuple[str, RuleContent]],
    new_vector: np.ndarray,
    vectors: np.ndarray,
    thresholds: Thresholds,
) -> list[DuplicateProposal]:
    """Propose the rules that may say the same as a new one, nearest first.

    A pair that contradicts each other is never proposed, however near it is. The 64 nearest are looked at.

    Args:
        new: the rule that comes in.
        others: id and content of those already there; not the new one itself.
        new_vector: embedding of ``rule_text(new)``, unit length, shape (dim,).
        vectors: embeddings of the others' ``rule_text``, row by row, unit length, shape (len(others), dim).
        thresholds: of the model that the vectors come from.
    """
    if not others:
        return []
    cosines = vectors @ new_vector
    near = np.flatnonzero(cosines >= min(thresholds.duplicate, thresholds.duplicate_mixed))
    new_is_cjk = has_cjk(rule_text(new))
    proposals = []
    for at in near[np.argsort(-cosines[near], kind="stable")][:_MOST_READ]:
        other_id, other = others[at]
        mixed = has_cjk(rule_text(other)) != new_is_cjk
        if cosines[at] < (thresholds.duplicate_mixed if mixed else thresholds.duplicate):
            continue
        if not contradict(new, other):
            proposals.append(DuplicateProposal(other_id, float(cosines[at])))
    return proposals


def merged_statistics(a: Statistics, b: Statistics) -> Statistics:
    """Add up the statistics of two rules that become one.

    Counts add; ``avg_delta`` is the mean weighted by uses. (10, 7, 0.2) and (30, 12, -0.1) give
    (40, 19, -0.025).
    """
    used = a.n_used + b.n_used
    delta = (a.n_used * a.avg_delta + b.n_used * b.avg_delta) / used if used else 0.0
    return Statistics(used, a.n_success + b.n_success, delta, a.verified + b.verified)
