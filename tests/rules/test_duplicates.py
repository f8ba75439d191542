"""Proposing duplicates with real embeddings; merging statistics (design section 3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.embeddings import Embedder
from core.rules.duplicates import Statistics, merged_statistics, propose_duplicates
from core.rules.wording import rule_text
from core.settings import EmbeddingSettings
from core.tables.rules import RuleContent

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[1] / "data" / "rule_pairs.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(EmbeddingSettings())


def rule(fields: dict[str, str]) -> RuleContent:
    return RuleContent(name="A rule", **fields)


def is_proposed(embedder: Embedder, pair: dict[str, Any]) -> bool:
    a, b = rule(pair["a"]), rule(pair["b"])
    vectors = embedder.encode([rule_text(a), rule_text(b)])
    return bool(propose_duplicates(a, [("b", b)], vectors[0], vectors[1:], embedder.thresholds()))


def share(embedder: Embedder, relation: str) -> float:
    chosen = [pair for pair in PAIRS if pair["relation"] == relation]
    return sum(is_proposed(embedder, pair) for pair in chosen) / len(chosen)


def test_duplicates_are_proposed(embedder: Embedder) -> None:
    assert share(embedder, "duplicate") >= 0.9


def test_contradictions_are_never_proposed(embedder: Embedder) -> None:
    assert share(embedder, "conflict") == 0


def test_unrelated_rules_are_not_proposed(embedder: Embedder) -> None:
    assert share(embedder, "unrelated") == 0


def test_nothing_to_compare_with(embedder: Embedder) -> None:
    new = rule(PAIRS[0]["a"])
    vectors = embedder.encode([rule_text(new)])
    assert propose_duplicates(new, [], vectors[0], vectors[:0], embedder.thresholds()) == []


def test_merged_statistics_of_the_design() -> None:
    merged = merged_statistics(Statistics(10, 7, 0.2, 3), Statistics(30, 12, -0.1, 2))
    assert (merged.n_used, merged.n_success, merged.verified) == (40, 19, 5)
    assert merged.avg_delta == pytest.approx(-0.025)


def test_merged_statistics_of_unused_rules() -> None:
    assert merged_statistics(Statistics(0, 0, 0.0), Statistics(0, 0, 0.0)) == Statistics(0, 0, 0.0)
