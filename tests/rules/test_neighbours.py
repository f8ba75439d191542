"""What a draft meets in the library: near duplicates, contradictions, or nothing."""

from datetime import UTC, datetime

from core.rules.neighbours import Neighbours, compare_with
from core.tables import Rule
from core.tables.rules import RuleContent
from tests.support.embedding import WordEmbedder, packaged_embedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FULL = ("the log volume is nearly full", "rotate the logs and delete archives older than a week")


def make_rule(rule_id: str, condition: str, action: str) -> Rule:
    return Rule(id=rule_id, name=rule_id, condition=condition, action=action, origin="human", created_at=NOW)


def draft(condition: str, action: str) -> RuleContent:
    return RuleContent(name="A draft", condition=condition, action=action)


def test_an_empty_library_has_no_neighbours() -> None:
    assert compare_with(draft(*FULL), [], WordEmbedder()) == Neighbours([], [])


def test_the_same_words_are_a_duplicate_with_cosine_1_and_others_are_not() -> None:
    rules = [make_rule("other", "a certificate expires", "renew the whole chain"), make_rule("same", *FULL)]
    found = compare_with(draft(*FULL), rules, WordEmbedder())
    assert [(near.other_id, round(near.cosine, 4)) for near in found.duplicates] == [("same", 1.0)]
    assert found.conflicts == []


def test_the_opposite_in_the_same_case_is_a_conflict_and_no_duplicate() -> None:
    rules = [make_rule("opposite", FULL[0], "do not rotate the logs and do not delete archives")]
    found = compare_with(draft(*FULL), rules, packaged_embedder())
    assert [conflict.other_id for conflict in found.conflicts] == ["opposite"]
    assert found.duplicates == []


def test_a_paraphrase_is_near_by_meaning() -> None:
    rules = [
        make_rule("paraphrase", "the log disk is almost full", "delete archives older than a week and rotate the logs"),
        make_rule("other", "older clients fail the handshake", "renew the intermediate certificate"),
    ]
    found = compare_with(draft(*FULL), rules, packaged_embedder())
    assert [near.other_id for near in found.duplicates] == ["paraphrase"]
