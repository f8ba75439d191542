"""What the model is shown and asked, and how its labels become ids (design section 8)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import ModelCallError
from core.learning.contrast import Batch
from core.learning.reflection import Labels, Operation, reflect, request_text, system_prompt
from core.llm.client import CallContext
from tests.learning.rows import a_rule, an_episode
from tests.llm.helpers import make_bench
from tests.support.model_server import ModelServer

BATCH = Batch(passing=(an_episode("e-pass-1"), an_episode("e-pass-2")), failing=(an_episode("e-fail-1", grade="fail"),))
RULES = [a_rule("rule_a"), a_rule("rule_b")]
DIFFERENCE = {"task": "t", "decision_point": "d", "passing_did": "p", "failing_did": "f", "why": "w"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def asked(tmp_path: Path, server: ModelServer, answer: Any, *, max_operations: int = 8) -> Any:
    server.answer = lambda _body: answer if isinstance(answer, str) else json.dumps(answer)
    client = make_bench(tmp_path, server.base_url).client
    return reflect(client, CallContext("reflect"), "the request", system="the system", max_operations=max_operations)


def test_the_request_shows_known_rules_and_digests_under_their_labels() -> None:
    digests = {"e-pass-1": "closed the leak", "e-pass-2": "drained", "e-fail-1": "raised the pool"}
    text = request_text(BATCH, RULES, digests)
    order = ["[K1] When the queue of rule_a", "[K2] When the queue of rule_b", "### P1\nclosed the leak"]
    order += ["### P2\ndrained", "## Failing episodes\n### F1\nraised the pool"]
    places = [text.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)


def test_an_empty_pool_is_shown_as_such() -> None:
    text = request_text(BATCH, [], dict.fromkeys(["e-pass-1", "e-pass-2", "e-fail-1"], "x"))
    assert text.startswith("## Rules that were in the prompts\nnone\n")


def test_the_system_prompt_says_the_limits_and_how_episodes_are_scored() -> None:
    text = system_prompt("1 for a restored service", 8, 40)
    assert all(part in text for part in ("at most 8 operations", "at most 40 words", "1 for a restored service"))
    assert all(op in text for op in ("ADD", "EDIT", "UPVOTE", "DOWNVOTE", "MERGE"))


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ({"target": "K1", "other": "K2"}, {"target": "rule_a", "other": "rule_b"}),
        ({"target": "[K2]"}, {"target": "rule_b", "other": ""}),
        ({"target": "K3", "other": "rule_a"}, {"target": "", "other": ""}),
        ({"evidence": ["P2", "[F1]", "P9", "K1", ""]}, {"evidence": ["e-pass-2", "e-fail-1"]}),
    ],
)
def test_labels_become_ids_and_what_stands_for_nothing_is_dropped(
    given: dict[str, Any], resolved: dict[str, Any]
) -> None:
    operation = Labels(BATCH, RULES).resolve(Operation(op="MERGE", **given))
    assert operation.model_dump(include=set(resolved)) == resolved


def test_a_draft_is_trimmed_named_and_brought_into_range() -> None:
    operation = Operation(
        op="ADD", condition=" a queue grows ", action=" drain it ", tags=["x", " ", "y"], priority=7, confidence=-1
    )
    draft = operation.draft("desk")
    assert (draft.name, draft.condition, draft.action, draft.domain) == (
        "drain it",
        "a queue grows",
        "drain it",
        "desk",
    )
    assert (draft.tags, draft.priority, draft.confidence) == (["x", "y"], 1.0, 0.0)


def test_no_more_operations_are_taken_than_allowed(tmp_path: Path, server: ModelServer) -> None:
    operations = [{"op": "ADD", "name": str(number)} for number in range(12)]
    answer = asked(tmp_path, server, {"differences": [DIFFERENCE], "operations": operations}, max_operations=8)
    assert [operation.name for operation in answer.operations] == [str(number) for number in range(8)]
    assert answer.differences[0].decision_point == "d"


def test_it_is_asked_once_at_temperature_0(tmp_path: Path, server: ModelServer) -> None:
    asked(tmp_path, server, {"differences": [], "operations": []})
    (request,) = server.requests
    assert request.body["temperature"] == 0.0
    assert [message["content"] for message in request.body["messages"]] == ["the system", "the request"]
    schema = request.body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["differences", "operations"], (
        "the comparison comes before what follows from it"
    )


@pytest.mark.parametrize(
    "answer",
    [
        "I think the agent should be more careful.",
        {"differences": []},
        {"differences": [], "operations": [{"op": "BURN"}]},
    ],
)
def test_an_answer_that_cannot_be_used_is_a_failed_call(tmp_path: Path, server: ModelServer, answer: Any) -> None:
    with pytest.raises(ModelCallError):
        asked(tmp_path, server, answer)
