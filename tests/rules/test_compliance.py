"""Was a rule followed? By checking names, else by a majority of the model's votes (design section 8)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.llm.client import CallContext
from core.rules.compliance import check_compliance, condition_share, judge_compliance
from tests.llm.helpers import Bench, make_bench
from tests.support.model_server import ModelServer

NAMES = frozenset({"flush_cache", "raise_pool_size", "orders"})
CONDITION = "misses spike every quarter hour"
MET, HALF_MET, NOT_MET = "Misses spike every quarter hour.", "Misses spike.", "Nothing much."


def episode(told: str, *calls: str, arguments: str = '{"service": "orders"}') -> list[dict[str, Any]]:
    """What the agent was told, then a call of each tool."""
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
        for name in calls
    ]
    return [{"role": "system", "content": CONDITION}, {"role": "user", "content": told}, *turns]


@pytest.mark.parametrize(
    ("action", "messages", "verdict"),
    [
        ("call flush_cache", episode(MET, "flush_cache"), "complied"),
        ("call flush_cache", episode(MET, "raise_pool_size"), "violated"),
        ("call flush_cache", episode(MET), "violated"),
        ("call flush_cache", episode(NOT_MET, "flush_cache"), "not_applicable"),
        ("call flush_cache", episode(HALF_MET, "flush_cache"), "complied"),
        ("call flush_cache", episode(HALF_MET), "unjudged"),
        ("never raise_pool_size", episode(MET, "flush_cache"), "complied"),
        ("never raise_pool_size", episode(MET, "raise_pool_size"), "violated"),
        ("call flush_cache for orders", episode(MET, "flush_cache"), "complied"),
        ("call flush_cache for orders", episode(MET, "flush_cache", arguments="{}"), "violated"),
        ("call flush_cache for orders", episode(MET, "flush_cache", arguments="{cut"), "violated"),
        ("wait for a minute", episode(MET, "flush_cache"), "unjudged"),
    ],
)
def test_what_names_tell(action: str, messages: list[dict[str, Any]], verdict: str) -> None:
    assert check_compliance(CONDITION, action, messages, NAMES) == verdict


def test_the_share_of_a_condition_counts_what_the_agent_was_told_and_not_its_own_words() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "quarter"},
        {"role": "user", "content": "misses"},
        {"role": "assistant", "content": "hour", "tool_calls": None},
        {"role": "tool", "content": "a SPIKE"},
    ]
    assert condition_share(CONDITION, messages) == pytest.approx(2 / 5)
    assert condition_share("", messages) == 0.0


class Votes:
    """Answers with a list of verdicts in turn; '' is no usable answer."""

    def __init__(self, *verdicts: str) -> None:
        self.verdicts = list(verdicts)

    def __call__(self, body: dict[str, Any]) -> str:
        verdict = self.verdicts.pop(0)
        return json.dumps({"reason": "seen", "verdict": verdict}) if verdict else "no idea"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def judged(tmp_path: Path, server: ModelServer, *verdicts: str) -> tuple[str, Bench]:
    server.answer = Votes(*verdicts)
    bench = make_bench(tmp_path, server.base_url)
    verdict = judge_compliance(bench.client, CallContext("judge"), "When x, do y.", "the digest", seed=10)
    return verdict, bench


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        (("complied", "complied"), "complied"),
        (("complied", "violated", "violated"), "violated"),
        (("not_applicable", "complied", "not_applicable"), "not_applicable"),
        (("complied", "violated", "not_applicable"), "unjudged"),
        (("", "", "complied", "complied"), "complied"),  # a vote is asked again once before it is lost
        (("", "", "", "", "", ""), "unjudged"),
    ],
)
def test_the_majority_of_three_decides(
    tmp_path: Path, server: ModelServer, votes: tuple[str, ...], verdict: str
) -> None:
    assert judged(tmp_path, server, *votes)[0] == verdict
    assert server.answer.verdicts == []  # type: ignore[attr-defined]


def test_the_judge_is_asked_at_temperature_0_with_a_seed_for_each_vote(tmp_path: Path, server: ModelServer) -> None:
    judged(tmp_path, server, "complied", "violated", "complied")
    bodies = [request.body for request in server.requests]
    assert [(body["temperature"], body["seed"]) for body in bodies] == [(0.0, 10), (0.0, 11), (0.0, 12)]
    assert len({json.dumps(body["messages"]) for body in bodies}) == 1
