"""Proposing duplicates with real embeddings; merging statistics (design section 3)."""

import pytest

from core.rules.duplicates import Statistics, merged_statistics, propose_duplicates
from core.rules.wording import rule_text
from tests.support.embedding import packaged_embedder
from tests.support.rule_pairs import duplicate_rates, figures, is_proposed, rule_pairs


def test_duplicates_are_proposed() -> None:
    assert duplicate_rates(rule_pairs()).recall >= 0.85, figures()


def test_contradictions_are_never_proposed() -> None:
    merged = [pair for pair in rule_pairs() if pair.relation == "conflict" and is_proposed(pair.a, pair.b)]
    assert merged == []


def test_unrelated_rules_are_hardly_ever_proposed() -> None:
    unrelated = [pair for pair in rule_pairs() if pair.relation == "unrelated"]
    assert sum(is_proposed(pair.a, pair.b) for pair in unrelated) <= 0.1 * len(unrelated)


def test_nothing_to_compare_with() -> None:
    new = rule_pairs()[0].a
    embedder = packaged_embedder()
    vectors = embedder.encode([rule_text(new)])
    assert propose_duplicates(new, [], vectors[0], vectors[:0], embedder.thresholds()) == []


def test_merged_statistics_of_the_design() -> None:
    merged = merged_statistics(Statistics(10, 7, 0.2, 3), Statistics(30, 12, -0.1, 2))
    assert (merged.n_used, merged.n_success, merged.verified) == (40, 19, 5)
    assert merged.avg_delta == pytest.approx(-0.025)


def test_merged_statistics_of_unused_rules() -> None:
    assert merged_statistics(Statistics(0, 0, 0.0), Statistics(0, 0, 0.0)) == Statistics(0, 0, 0.0)
