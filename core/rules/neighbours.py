"""What a new rule meets in the library: near duplicates, conflicts, and rules a person has refused."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.embeddings import COMPARISON, Embedder
from core.rules.conflicts import ConflictFinding, find_conflicts
from core.rules.duplicates import DuplicateProposal, propose_duplicates
from core.rules.wording import condition_text, rule_text
from core.tables import Rule
from core.tables.rules import RuleContent


@dataclass(frozen=True)
class Neighbours:
    """A draft held against a set of rules."""

    duplicates: list[DuplicateProposal]
    conflicts: list[ConflictFinding]


def compare_with(draft: RuleContent, rules: Sequence[Rule], embedder: Embedder) -> Neighbours:
    """Compare a draft with rules; no model call, no session. Not to be called inside a write."""
    if not rules:
        return Neighbours([], [])
    others: list[tuple[str, RuleContent]] = [(rule.id, rule) for rule in rules]
    thresholds = embedder.thresholds()
    texts, text = _vectors([rule_text(rule) for rule in rules], rule_text(draft), embedder)
    conditions, condition = _vectors([condition_text(rule) for rule in rules], condition_text(draft), embedder)
    return Neighbours(
        duplicates=propose_duplicates(draft, others, text, texts, thresholds),
        conflicts=find_conflicts(draft, others, condition, conditions, thresholds),
    )


def _vectors(texts: Sequence[str], new: str, embedder: Embedder) -> tuple[np.ndarray, np.ndarray]:
    vectors = embedder.encode([*texts, new], COMPARISON)
    return vectors[:-1], vectors[-1]
