"""Finding contradictions with real embeddings (design section 3)."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from core.rules.conflicts import suggest
from core.tables.rules import Rule, RuleContent
from tests.support.rule_pairs import LANGUAGES, conflict_rates, conflicts, figures, rule_pairs

JANUARY, FEBRUARY = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def rule(condition: str, action: str, exclusion: str = "") -> RuleContent:
    return RuleContent(name="A rule", condition=condition, action=action, exclusion=exclusion)


def test_the_pairs_are_many_balanced_and_misleading() -> None:
    pairs = rule_pairs()
    count = Counter((pair.relation, pair.language) for pair in pairs)
    assert len(pairs) >= 160
    assert min(count.values()) >= 10
    assert sum(pair.misleading for pair in pairs) >= len(pairs) / 3


def test_contradictions_are_found_and_little_else() -> None:
    rates = conflict_rates(rule_pairs())
    assert min(rates.recall / 0.9, rates.precision / 0.85) >= 1, figures()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_each_half_reaches_the_target(split: str) -> None:
    rates = conflict_rates([pair for pair in rule_pairs() if pair.split == split])
    assert min(rates.recall / 0.9, rates.precision / 0.85) >= 1, figures()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_comes_near_the_target(language: str) -> None:
    rates = conflict_rates([pair for pair in rule_pairs() if pair.language == language])
    assert min(rates.recall, rates.precision) >= 0.8, figures()


def test_misleading_pairs_are_told_apart() -> None:
    rates = conflict_rates([pair for pair in rule_pairs() if pair.misleading])
    assert min(rates.recall / 0.9, rates.precision / 0.85) >= 1, figures()


def test_the_order_of_a_pair_does_not_matter() -> None:
    for pair in rule_pairs():
        assert bool(conflicts(pair.a, pair.b)) == bool(conflicts(pair.b, pair.a)), (pair.a, pair.b)


def test_a_conflict_between_languages_is_left_to_the_model() -> None:
    found = conflicts(rule("the service fails", "restart the service"), rule("服务失败", "不要重启服务"))
    assert [finding.hard for finding in found] == [False]


def test_the_example_of_the_design_is_found_by_the_lexicon() -> None:
    same = "a remediation is about to run"
    found = conflicts(rule(same, "verify before running"), rule(same, "do not verify again"))
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
