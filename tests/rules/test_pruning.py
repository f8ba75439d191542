"""Which rules have to go: over capacity, and the lowest share (design section 6)."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from core.rules.pruning import rules_to_retire, with_diversity
from core.settings import LifecycleSettings
from core.tables import Rule

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def make_rule(rule_id: str, **columns: Any) -> Rule:
    given: dict[str, Any] = {"condition": "c", "action": "a", "state": "active", "n_used": 50}
    return Rule(id=rule_id, name=rule_id, origin="human", created_at=NOW, **given | columns)


def retired(rules: dict[str, tuple[float, dict[str, Any]]], **settings: Any) -> list[str]:
    """Rules by id, each with its utility and columns."""
    rows = [make_rule(name, **columns) for name, (_, columns) in rules.items()]
    utilities = {name: utility for name, (utility, _) in rules.items()}
    return [rule.id for rule in rules_to_retire(rows, utilities, LifecycleSettings(**settings))]


def test_the_lowest_utility_goes_first_when_there_are_too_many() -> None:
    rules: dict[str, tuple[float, dict[str, Any]]] = {"a": (0.9, {}), "b": (0.1, {}), "c": (0.5, {}), "d": (inf, {})}
    assert retired(rules, capacity=2, prune_share=0.0) == ["b", "c"]
    assert retired(rules, capacity=4, prune_share=0.0) == []


def test_of_equal_utility_the_longest_unused_goes_first() -> None:
    rules: dict[str, tuple[float, dict[str, Any]]] = {
        "a": (0.5, {"last_retrieved_round": 7}),
        "b": (0.5, {"last_retrieved_round": 2}),
        "c": (0.5, {"last_retrieved_round": None}),
    }
    assert retired(rules, capacity=1, prune_share=0.0) == ["c", "b"]


@pytest.mark.parametrize(("count", "gone"), [(19, 0), (20, 1), (39, 1), (40, 2), (100, 5)])
def test_five_percent_go_even_if_their_figures_look_fine(count: int, gone: int) -> None:
    rules: dict[str, tuple[float, dict[str, Any]]] = {f"r{i:03}": (2 + i, {}) for i in range(count)}
    assert retired(rules) == [f"r{i:03}" for i in range(gone)]


@pytest.mark.parametrize("columns", [{"n_used": 19}, {"state": "candidate"}])
def test_the_share_spares_candidates_and_what_has_hardly_been_used(columns: dict[str, Any]) -> None:
    rules: dict[str, tuple[float, dict[str, Any]]] = {f"r{i}": (2 + i, {}) for i in range(20)}
    rules["young"] = (0.0, columns)
    assert retired(rules) == ["r0"]


def test_what_nobody_else_knows_is_worth_a_bonus() -> None:
    rules = [
        make_rule("twin_1", condition="the queue grows while consumers idle"),
        make_rule("twin_2", condition="the queue grows while consumers idle"),
        make_rule("half", condition="the queue grows while brokers restart"),
        make_rule("alone", condition="certificates expire at midnight"),
    ]
    utilities = dict.fromkeys(("twin_1", "twin_2", "half", "alone"), 1.0)
    found = with_diversity(rules, utilities, 0.1)
    assert (found["twin_1"], found["twin_2"], found["alone"]) == (1.0, 1.0, pytest.approx(1.1))
    assert 1.0 < found["half"] < 1.1


def test_a_rule_of_its_own_is_spared_before_one_of_many() -> None:
    rules = [make_rule(f"r{i}", condition="the queue grows while consumers idle") for i in range(20)]
    rules.append(make_rule("alone", condition="certificates expire at midnight"))
    utilities = {rule.id: 1.0 + (rule.id != "alone") * 0.05 for rule in rules}
    settings = LifecycleSettings()
    assert [rule.id for rule in rules_to_retire(rules, utilities, settings)] == ["alone"]
    kept = with_diversity(rules, utilities, settings.diversity_bonus)
    assert "alone" not in [rule.id for rule in rules_to_retire(rules, kept, settings)]


def test_what_a_person_pinned_stays_and_takes_up_its_room() -> None:
    rules = [make_rule(f"r{i}") for i in range(5)]
    utilities = {rule.id: float(i) for i, rule in enumerate(rules)}

    def gone(*pinned: str, **settings: Any) -> list[str]:
        return [rule.id for rule in rules_to_retire(rules, utilities, LifecycleSettings(**settings), pinned)]

    assert gone(capacity=3, prune_share=0.0) == ["r0", "r1"]
    assert gone("r0", capacity=3, prune_share=0.0) == ["r1", "r2"]
    assert gone("r0", "r1", "r2", "r3", capacity=3, prune_share=0.0) == ["r4"]
    assert gone("r0", capacity=5, prune_share=0.25) == ["r1"]
