"""Finding contradictions with real embeddings (design section 3)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.embeddings import Embedder
from core.rules.conflicts import ConflictFinding, find_conflicts, suggest
from core.rules.wording import condition_text
from core.settings import EmbeddingSettings
from core.tables.rules import Rule, RuleContent

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[1] / "data" / "rule_pairs.jsonl").read_text("utf-8").splitlines()
]
JANUARY, FEBRUARY = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(EmbeddingSettings())


def rule(fields: dict[str, str]) -> RuleContent:
    return RuleContent(name="A rule", **fields)


def conflicts(embedder: Embedder, a: dict[str, str], b: dict[str, str]) -> list[ConflictFinding]:
    new, other = rule(a), rule(b)
    vectors = embedder.encode([condition_text(new), condition_text(other)])
    return find_conflicts(new, [("b", other)], vectors[0], vectors[1:], embedder.thresholds())


def share(embedder: Embedder, relation: str) -> float:
    chosen = [pair for pair in PAIRS if pair["relation"] == relation]
    return sum(bool(conflicts(embedder, pair["a"], pair["b"])) for pair in chosen) / len(chosen)


def test_contradictions_are_found(embedder: Embedder) -> None:
    assert share(embedder, "conflict") >= 0.9


@pytest.mark.parametrize("relation", ["duplicate", "compatible", "unrelated"])
def test_what_goes_together_is_left_alone(embedder: Embedder, relation: str) -> None:
    assert share(embedder, relation) <= 0.1


def test_the_order_of_a_pair_does_not_matter(embedder: Embedder) -> None:
    for pair in PAIRS:
        assert bool(conflicts(embedder, pair["a"], pair["b"])) == bool(conflicts(embedder, pair["b"], pair["a"]))


def test_the_example_of_the_design_is_found_by_the_lexicon(embedder: Embedder) -> None:
    same = "a remediation is about to run"
    found = conflicts(
        embedder,
        {"condition": same, "action": "verify before running"},
        {"condition": same, "action": "do not verify again"},
    )
    assert [(finding.detector, finding.hard) for finding in found] == [("lexicon", True)]
    assert "do not verify again" in found[0].evidence


def stored(id: str, condition: str, verified: datetime | None) -> Rule:
    return Rule(
        id=id,
        name=id,
        condition=condition,
        action="act",
        origin="human",
        created_at=JANUARY,
        last_verified_at=verified,
    )


@pytest.mark.parametrize(
    ("a", "b", "keep", "words"),
    [
        (
            ("errors rise", JANUARY),
            ("errors rise after a deploy of a cache", FEBRUARY),
            "b",
            "more recent verified",
        ),
        (("errors rise", FEBRUARY), ("errors rise after a deploy of a cache", None), "b", "although"),
        (("errors rise", JANUARY), ("errors rise", None), "a", "more recent verified"),
        (("errors rise", None), ("errors rise", None), "a", "older"),
    ],
)
def test_suggestion(a: tuple[str, Any], b: tuple[str, Any], keep: str, words: str) -> None:
    suggestion = suggest(stored("a", *a), stored("b", *b))
    assert suggestion.keep_id == keep
    assert words in str(suggestion)
