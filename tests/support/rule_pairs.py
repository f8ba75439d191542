"""The labelled pairs of rules, and how far the detectors agree with the labels.

The pairs marked ``dev`` were there for tuning word lists and thresholds, those marked ``test`` for figures.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from core.rules.conflicts import ConflictFinding, find_conflicts
from core.rules.duplicates import propose_duplicates
from core.rules.wording import condition_text, rule_text
from core.tables.rules import RuleContent
from core.text import has_cjk
from tests.support.embedding import packaged_embedder

_FILE = Path(__file__).resolve().parents[1] / "data" / "rule_pairs.jsonl"
LANGUAGES = ("en", "zh", "mixed")
DETECTORS = ("lexicon", "polarity")


@dataclass(frozen=True)
class RulePair:
    """Two rules and how a careful person would relate them."""

    relation: Literal["conflict", "duplicate", "compatible", "unrelated"]
    split: Literal["dev", "test"]
    misleading: bool
    a: RuleContent
    b: RuleContent

    @property
    def language(self) -> str:
        """``en``, ``zh``, or ``mixed`` when each rule is in another language."""
        sides = {has_cjk(rule_text(self.a)), has_cjk(rule_text(self.b))}
        return "mixed" if len(sides) == 2 else "zh" if sides == {True} else "en"


@cache
def rule_pairs() -> tuple[RulePair, ...]:
    """Read the pairs."""
    return tuple(_pair(json.loads(line)) for line in _FILE.read_text("utf-8").splitlines())


def conflicts(a: RuleContent, b: RuleContent) -> list[ConflictFinding]:
    """Compare two rules for conflicts."""
    embedder = packaged_embedder()
    vectors = embedder.encode([condition_text(a), condition_text(b)])
    return find_conflicts(a, [("b", b)], vectors[0], vectors[1:], embedder.thresholds())


def is_proposed(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether stage one proposes two rules as duplicates."""
    embedder = packaged_embedder()
    vectors = embedder.encode([rule_text(a), rule_text(b)])
    return bool(propose_duplicates(a, [("b", b)], vectors[0], vectors[1:], embedder.thresholds()))


@dataclass(frozen=True)
class Rates:
    """How well a detector finds the pairs of one relation; rates in [0, 1]."""

    n: int
    recall: float
    precision: float


def conflict_rates(pairs: Sequence[RulePair], detectors: Sequence[str] = DETECTORS) -> Rates:
    """Measure how well the detectors find contradictions."""
    found = [pair for pair in pairs if any(finding.detector in detectors for finding in conflicts(pair.a, pair.b))]
    return _rates(pairs, found, "conflict")


def duplicate_rates(pairs: Sequence[RulePair]) -> Rates:
    """Measure how well stage one finds equivalents."""
    return _rates(pairs, [pair for pair in pairs if is_proposed(pair.a, pair.b)], "duplicate")


def figures() -> str:
    """Write all figures as a table: by detector, language and split."""
    return "\n".join(["split  language  detector    n  recall  precision", *_lines()])


def _lines() -> Iterator[str]:
    for split in ("dev", "test", "whole"):
        for language in (*LANGUAGES, "all"):
            chosen = [
                pair for pair in rule_pairs() if split in (pair.split, "whole") and language in (pair.language, "all")
            ]
            rows = {name: conflict_rates(chosen, [name]) for name in DETECTORS}
            rows |= {"conflicts": conflict_rates(chosen), "duplicates": duplicate_rates(chosen)}
            for name, rates in rows.items():
                yield f"{split:6} {language:9} {name:10} {rates.n:3}  {rates.recall:6.2f}  {rates.precision:9.2f}"


def _rates(pairs: Sequence[RulePair], found: Sequence[RulePair], relation: str) -> Rates:
    n = sum(pair.relation == relation for pair in pairs)
    hits = sum(pair.relation == relation for pair in found)
    return Rates(n, hits / n if n else 0.0, hits / len(found) if found else 1.0)


def _pair(line: dict[str, object]) -> RulePair:
    a, b = (RuleContent(name="A rule", **line.pop(side)) for side in "ab")  # type: ignore[arg-type]
    return RulePair(misleading=bool(line.pop("misleading", False)), a=a, b=b, **line)  # type: ignore[arg-type]
