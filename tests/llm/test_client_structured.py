"""Design section 2: schema, validation, one re-ask that quotes the error, json-repair, recorded failure."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from core.errors import ModelCallError
from core.llm.structured import strict_schema
from tests.llm.helpers import ACT, ASK, make_bench
from tests.support.model_server import ModelServer


class MoodJudgement(BaseModel):
    mood: Literal["good", "bad"]
    title: str = "untitled"
    score: float = Field(ge=0, le=1)
    notes: list[str] = []


VALID = {"mood": "good", "title": "t", "score": 0.5, "notes": ["a"]}
BROKEN = '{"mood": "good", "title": "t", "score": 0.5, "notes": ["a"'  # json-repair closes it
WRONG = '{"mood": "fine", "title": "t", "score": 0.5, "notes": []}'  # no repair makes it valid


class Answers:
    """Gives its answers in turn."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def __call__(self, _body: dict[str, Any]) -> str:
        return self.texts.pop(0)


@pytest.mark.parametrize(
    ("answers", "outcomes"),
    [
        ([json.dumps(VALID)], ["valid"]),
        (["```json\n" + json.dumps(VALID) + "\n```"], ["valid"]),
        ([WRONG, json.dumps(VALID)], ["invalid", "reask"]),
        ([BROKEN, json.dumps(VALID)], ["invalid", "reask"]),
        ([WRONG, BROKEN], ["invalid", "repaired"]),
        ([BROKEN, "I am sorry."], ["invalid", "repaired"]),
    ],
)
def test_a_usable_answer(tmp_path, answers, outcomes) -> None:
    with ModelServer(Answers(*answers)) as server:
        bench = make_bench(tmp_path, server.base_url)
        assert bench.client.structured(ACT, ASK, MoodJudgement) == MoodJudgement(**VALID)
    assert bench.outcomes() == outcomes
    assert len({row.request_id for row in bench.rows()}) == 1
    assert [row.attempt for row in bench.rows()] == list(range(1, len(outcomes) + 1))


@pytest.mark.parametrize("answers", [[WRONG, WRONG], ["no", "no"], ["[" * 4000, "[" * 4000]])
def test_an_unusable_answer_is_a_recorded_failure(tmp_path, answers) -> None:
    with ModelServer(Answers(*answers)) as server:
        bench = make_bench(tmp_path, server.base_url)
        with pytest.raises(ModelCallError, match="no usable answer"):
            bench.client.structured(ACT, ASK, MoodJudgement)
    assert bench.outcomes() == ["invalid", "unusable"]


def test_the_reask_quotes_answer_and_error(tmp_path) -> None:
    with ModelServer(Answers(WRONG, json.dumps(VALID))) as server:
        bench = make_bench(tmp_path, server.base_url)
        bench.client.structured(ACT, ASK, MoodJudgement)
    first, second = (request.body["messages"] for request in server.requests)
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": WRONG}
    assert "mood" in second[-1]["content"]
    assert "'good' or 'bad'" in second[-1]["content"]


def test_a_reask_without_answer_still_repairs_the_first(tmp_path) -> None:
    with ModelServer(Answers(BROKEN)) as server:
        server.script([None, "server_error", "server_error"])
        bench = make_bench(tmp_path, server.base_url, attempts=2)
        assert bench.client.structured(ACT, ASK, MoodJudgement) == MoodJudgement(**VALID)
    assert bench.outcomes() == ["invalid", "server_error", "server_error"]


def test_faults_on_the_way_do_not_use_up_the_reask(tmp_path) -> None:
    with ModelServer(Answers(WRONG, json.dumps(VALID))) as server:
        server.script(["server_error", None, "rate_limited", None])
        bench = make_bench(tmp_path, server.base_url)
        bench.client.structured(ACT, ASK, MoodJudgement)
    assert bench.outcomes() == ["server_error", "invalid", "rate_limited", "reask"]
    assert [row.attempt for row in bench.rows()] == [1, 2, 3, 4]


def test_the_schema_is_sent_strict(tmp_path) -> None:
    with ModelServer(Answers(json.dumps(VALID))) as server:
        make_bench(tmp_path, server.base_url).client.structured(ACT, ASK, MoodJudgement)
    sent = server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["name"] == "mood_judgement"
    assert sent["json_schema"]["strict"] is True
    schema = sent["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert sorted(schema["required"]) == ["mood", "notes", "score", "title"]
    assert "default" not in schema["properties"]["title"]


def test_nested_models_are_strict_too() -> None:
    class Outer(BaseModel):
        inner: list[MoodJudgement]

    nested = strict_schema(Outer)["$defs"]["MoodJudgement"]
    assert nested["additionalProperties"] is False
    assert "title" in nested["properties"], "a property that is called title is no annotation"


@pytest.mark.parametrize("refusal", ["no_response_format", "no_grammar"])
def test_an_endpoint_without_schemas_gets_it_in_the_prompt_from_then_on(tmp_path, refusal) -> None:
    with ModelServer(lambda _body: json.dumps(VALID)) as server:
        server.script([refusal])
        bench = make_bench(tmp_path, server.base_url)
        bench.client.structured(ACT, ASK, MoodJudgement)
        bench.client.structured(ACT, ASK, MoodJudgement)
    assert bench.outcomes() == ["bad_request", "valid", "valid"]
    for request in server.requests[1:]:
        assert "response_format" not in request.body
        assert '"mood"' in request.body["messages"][-1]["content"]
    assert ASK[-1]["content"] == "Say hello.", "the caller's messages were changed"


def test_the_setting_puts_the_schema_into_the_prompt_at_once(tmp_path) -> None:
    with ModelServer(Answers(WRONG, json.dumps(VALID))) as server:
        bench = make_bench(tmp_path, server.base_url, json_schema=False)
        bench.client.structured(ACT, ASK, MoodJudgement)
    assert all("response_format" not in request.body for request in server.requests)
    assert '"mood"' in server.requests[1].body["messages"][-1]["content"]


def test_a_refusal_for_another_reason_is_final(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["bad_request"])
        bench = make_bench(tmp_path, server.base_url)
        with pytest.raises(ModelCallError):
            bench.client.structured(ACT, ASK, MoodJudgement)
    assert bench.outcomes() == ["bad_request"]
