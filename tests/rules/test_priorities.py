"""Ranked pairs in retrieval: never both, and the second one wherever the first is not."""

from datetime import UTC, datetime

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.rules.retrieval import Retrieval, RuleIndex
from core.settings import RetrievalSettings
from core.tables import Rule

NAMES = "abcdef"


def retrieve(ranked: list[tuple[str, str]], cosines: list[float], top_k: int = 12) -> Retrieval:
    rules = [
        Rule(
            id=name,
            name=name,
            condition="c",
            action="act",
            state="active",
            origin="human",
            created_at=datetime(2026, 3, 1, tzinfo=UTC),
        )
        for name in NAMES[: len(cosines)]
    ]
    vectors = np.array([[c, (1 - c * c) ** 0.5] for c in cosines], dtype=np.float32)
    limits = RetrievalSettings(cosine_share=1.0, semantic_weight=1.0, top_k=top_k)
    utilities = dict.fromkeys(NAMES, 0.5)
    return RuleIndex(rules, vectors, utilities, {}, limits, ranked).retrieve("q", np.array([1.0, 0.0]))


def ids(retrieval: Retrieval) -> list[str]:
    return [hit.rule.id for hit in retrieval.hits]


def test_the_first_is_served_even_where_the_second_fits_better() -> None:
    found = retrieve([("b", "a")], [0.9, 0.2])
    assert (ids(found), [(one.rule.id, one.reason) for one in found.left_out]) == (["b"], [("a", "priority")])


def test_the_second_is_served_where_the_first_does_not_come_in() -> None:
    assert ids(retrieve([("b", "a")], [0.9, 0.2, 0.8], top_k=2)) == ["a", "c"]


def test_the_place_goes_to_the_next_rule() -> None:
    assert ids(retrieve([("b", "a")], [0.9, 0.8, 0.2], top_k=2)) == ["b", "c"]


def test_in_a_chain_the_last_stays_once_the_middle_one_is_out() -> None:
    assert ids(retrieve([("a", "b"), ("b", "c")], [0.9, 0.8, 0.7])) == ["a", "c"]


pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda p: p[0] != p[1]), max_size=8)


@settings(deadline=None, max_examples=40)
@given(
    pairs,
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.integers(1, 7),
)
def test_never_both_and_nobody_yields_to_what_is_not_there(
    ranked: list[tuple[str, str]], cosines: list[float], top_k: int
) -> None:
    found = retrieve(ranked, cosines, top_k)
    served = set(ids(found))
    assert not [pair for pair in ranked if served.issuperset(pair)]
    acyclic = [(min(pair), max(pair)) for pair in ranked]
    found = retrieve(acyclic, cosines, 12)
    for one in found.left_out:
        if one.reason == "priority":
            assert any(second == one.rule.id and first in ids(found) for first, second in acyclic)
