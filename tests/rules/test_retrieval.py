"""Which rules come up, in which order, and why the others do not (design section 6)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any

import numpy as np
import pytest

from core.rules.retrieval import Retrieval, RuleIndex, mutex_groups
from core.settings import RetrievalSettings
from core.tables import Rule

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUERY = "alpha"
QUERY_VECTOR = np.array([1.0, 0.0], dtype=np.float32)
BY_COSINE: dict[str, Any] = {"cosine_share": 1.0, "semantic_weight": 1.0}


def make_rule(rule_id: str, **columns: Any) -> Rule:
    given: dict[str, Any] = {"condition": "beta", "action": "act", "state": "active"}
    return Rule(id=rule_id, name=rule_id, origin="human", created_at=NOW, **given | columns)


def retrieve(
    cosines: Mapping[str, float],
    *,
    query: str = QUERY,
    utilities: Mapping[str, float] | None = None,
    mutex: Mapping[str, str] | None = None,
    rules: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> Retrieval:
    """Retrieve from rules whose vectors have the given cosine with the query's."""
    given = [make_rule(name, **(rules or {}).get(name, {})) for name in cosines]
    vectors = np.array([[c, (1 - c * c) ** 0.5] for c in cosines.values()], dtype=np.float32)
    index = RuleIndex(
        given,
        vectors,
        utilities or dict.fromkeys(cosines, 0.5),
        mutex or {},
        RetrievalSettings(**settings),
    )
    return index.retrieve(query, QUERY_VECTOR)


def hits(retrieval: Retrieval) -> list[str]:
    return [hit.rule.id for hit in retrieval.hits]


def reasons(retrieval: Retrieval) -> dict[str, str]:
    return {left.rule.id: left.reason for left in retrieval.left_out}


def test_an_empty_library_gives_nothing() -> None:
    index = RuleIndex([], np.empty((0, 0)), {}, {}, RetrievalSettings())
    assert index.retrieve(QUERY, QUERY_VECTOR) == Retrieval(())


def test_meaning_weighs_07_and_utility_03() -> None:
    found = retrieve(
        {"near": 1.0, "far": 0.0, "middle": 0.5},
        utilities={"near": 0.0, "far": 2.0, "middle": 1.0},
        cosine_share=1.0,
    )
    assert {hit.rule.id: hit.score for hit in found.hits} == pytest.approx(
        {"near": 0.7, "far": 0.3, "middle": 0.7 * 0.5 + 0.3 * 0.5}, abs=1e-6
    )


def test_cosine_and_words_share_the_meaning() -> None:
    words = {"near": {"condition": "beta"}, "named": {"condition": "alpha"}}
    found = retrieve({"near": 1.0, "named": 0.0}, rules=words, semantic_weight=1.0)
    assert {hit.rule.id: (hit.cosine, hit.lexical, hit.semantic) for hit in found.hits} == {
        "near": (1.0, 0.0, 0.5),
        "named": (0.0, 1.0, 0.5),
    }


def test_words_are_looked_up_in_conditions_and_tags_not_in_actions() -> None:
    words: dict[str, dict[str, Any]] = {"tag": {"tags": ["alpha"]}, "action": {"action": "alpha"}, "none": {}}
    found = retrieve({"tag": 0.5, "action": 0.5, "none": 0.5}, rules=words)
    assert {hit.rule.id: hit.lexical for hit in found.hits} == {"tag": 1.0, "action": 0.0, "none": 0.0}


def test_infinite_utility_counts_as_the_highest() -> None:
    found = retrieve(
        {"new": 0.5, "best": 0.5, "worst": 0.5},
        utilities={"new": inf, "best": 1.7, "worst": 0.2},
        semantic_weight=0.0,
    )
    assert {hit.rule.id: hit.score for hit in found.hits} == {"new": 1.0, "best": 1.0, "worst": 0.0}


def test_probation_counts_half() -> None:
    found = retrieve({"on": 1.0, "off": 0.9, "low": 0.0}, rules={"on": {"state": "probation"}}, **BY_COSINE)
    scores = {hit.rule.id: hit.score for hit in found.hits}
    assert scores["on"] == pytest.approx(0.5)
    assert hits(found) == ["off", "on", "low"]


def test_archived_rules_never_come_up() -> None:
    found = retrieve({"old": 1.0, "live": 0.1}, rules={"old": {"state": "archived"}})
    assert (hits(found), reasons(found)) == (["live"], {"old": "state"})


@pytest.mark.parametrize(
    ("query", "reason"),
    [("alpha in staging cluster", "exclusion"), ("alpha in staging", None), ("alpha", None)],
)
def test_an_exclusion_that_the_query_meets_keeps_the_rule_out(query: str, reason: str | None) -> None:
    found = retrieve({"a": 0.5}, query=query, rules={"a": {"exclusion": "staging cluster"}})
    assert reasons(found).get("a") == reason


def test_at_most_one_rule_of_a_mutex_group_the_best() -> None:
    found = retrieve({"a": 0.9, "b": 0.8, "c": 0.7}, mutex={"a": "a", "b": "a"}, **BY_COSINE)
    assert (hits(found), reasons(found)) == (["a", "c"], {"b": "mutex"})


def test_what_is_excluded_does_not_speak_for_its_group() -> None:
    found = retrieve(
        {"a": 0.9, "b": 0.8},
        query="alpha in staging cluster",
        mutex={"a": "a", "b": "a"},
        rules={"a": {"exclusion": "staging cluster"}},
        **BY_COSINE,
    )
    assert (hits(found), reasons(found)) == (["b"], {"a": "exclusion"})


def test_a_candidate_does_not_silence_a_live_rule_that_it_contradicts() -> None:
    candidate: dict[str, dict[str, Any]] = {"new": {"state": "candidate"}}
    found = retrieve({"new": 0.9, "live": 0.3, "c": 0.7}, mutex={"new": "g", "live": "g"}, rules=candidate, **BY_COSINE)
    assert (hits(found), reasons(found)) == (["c", "live"], {"new": "mutex"})


def test_a_candidate_speaks_where_the_live_rule_says_it_does_not_apply() -> None:
    found = retrieve(
        {"new": 0.9, "live": 0.3},
        query="alpha in staging cluster",
        mutex={"new": "g", "live": "g"},
        rules={"new": {"state": "candidate"}, "live": {"exclusion": "staging cluster"}},
        **BY_COSINE,
    )
    assert (hits(found), reasons(found)) == (["new"], {"live": "exclusion"})


def test_what_the_cap_keeps_out_does_not_speak_for_its_group() -> None:
    states = {name: {"state": "candidate"} for name in ("c0", "c1", "c2", "c3")} | {"old": {"state": "probation"}}
    found = retrieve(
        {"c0": 0.99, "c1": 0.98, "c2": 0.97, "c3": 0.96, "old": 0.9},
        mutex={"c3": "g", "old": "g"},
        rules=states,
        **BY_COSINE,
    )
    assert hits(found) == ["c0", "c1", "c2", "old"]


def library(active: int, candidates: int, *, candidates_first: bool) -> Retrieval:
    """Rank ``active`` rules a0, a1 ... and candidates c0, c1 ...; one kind above the other."""
    cosines = np.linspace(0.99, 0.6, active + candidates).tolist()
    names = [f"a{i}" for i in range(active)], [f"c{i}" for i in range(candidates)]
    ordered = names[1] + names[0] if candidates_first else names[0] + names[1]
    states = {name: {"state": "candidate"} for name in names[1]}
    return retrieve(dict(zip(ordered, cosines, strict=True)), rules=states, **BY_COSINE)


def test_twelve_rules_at_most() -> None:
    found = library(15, 0, candidates_first=False)
    assert hits(found) == [f"a{i}" for i in range(12)]
    assert reasons(found) == {"a12": "rank", "a13": "rank", "a14": "rank"}


def test_three_candidates_at_most() -> None:
    found = library(2, 6, candidates_first=True)
    assert hits(found) == ["c0", "c1", "c2", "a0", "a1"]
    assert reasons(found) == {"c3": "candidates", "c4": "candidates", "c5": "candidates"}


def test_one_candidate_at_least_takes_the_last_place_with_its_figures() -> None:
    found = library(14, 2, candidates_first=False)
    assert hits(found) == [*[f"a{i}" for i in range(11)], "c0"]
    assert reasons(found) == {"a11": "rank", "a12": "rank", "a13": "rank", "c1": "rank"}
    raised = found.hits[-1]
    assert raised.cosine == raised.semantic == pytest.approx(raised.score)
    assert raised.score > 0


def test_a_candidate_within_the_first_twelve_displaces_nobody() -> None:
    found = library(9, 1, candidates_first=False)
    assert (len(found.hits), found.left_out) == (10, ())


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        ([], {}),
        ([("b", "a")], {"a": "a", "b": "a"}),
        ([("a", "b"), ("c", "d")], {"a": "a", "b": "a", "c": "c", "d": "c"}),
        ([("b", "c"), ("d", "e"), ("c", "d"), ("e", "a")], dict.fromkeys("abcde", "a")),
    ],
)
def test_mutex_groups_are_what_conflicts_connect(pairs: list[tuple[str, str]], groups: dict[str, str]) -> None:
    assert mutex_groups(pairs) == groups
