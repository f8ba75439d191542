import json

import pytest

from core.llm.client import CallContext
from tests.llm.helpers import ACT, ASK, make_bench
from tests.support.model_server import ModelServer

TOOL = {
    "type": "function",
    "function": {"name": "restart", "parameters": {"type": "object", "properties": {}}},
}


def calling(arguments: object) -> dict[str, object]:
    function = {"name": "restart", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


@pytest.mark.parametrize("purpose", ["act", "digest", "reflect", "judge"])
def test_each_purpose_has_its_model(tmp_path, purpose) -> None:
    with ModelServer() as server:
        bench = make_bench(tmp_path, server.base_url, **{purpose: "special"})
        bench.client.chat(CallContext(purpose), ASK)
    assert server.requests[0].body["model"] == "special"
    assert [(row.purpose, row.model) for row in bench.rows()] == [(purpose, "special")]


def test_the_request_carries_what_was_asked_for(tmp_path) -> None:
    with ModelServer() as server:
        bench = make_bench(tmp_path, server.base_url, max_output_tokens=321)
        bench.client.chat(ACT, ASK, tools=[TOOL], temperature=0.8, seed=11)
        bench.client.chat(ACT, ASK)
    with_all, plain = (request.body for request in server.requests)
    assert with_all["messages"] == list(ASK)
    assert (with_all["temperature"], with_all["seed"], with_all["tools"]) == (0.8, 11, [TOOL])
    assert with_all["max_tokens"] == 321
    assert "seed" not in plain
    assert "tools" not in plain
    assert server.requests[0].headers["authorization"] == "Bearer test-key"


def test_the_row_says_who_asked(tmp_path) -> None:
    with ModelServer() as server:
        bench = make_bench(tmp_path, server.base_url)
        bench.client.chat(ACT, ASK)
    (row,) = bench.rows()
    assert (row.episode_id, row.round_number, row.simulated) == ("ep_1", 3, False)
    assert row.created_at == bench.clock.now


@pytest.mark.parametrize(
    ("written", "arguments", "malformed"),
    [
        ('{"service": "api"}', {"service": "api"}, False),
        ("", {}, False),
        ("{}", {}, False),
        ('{"service": "api"', {"service": "api"}, False),  # json-repair closes it
        ({"service": "api"}, {"service": "api"}, False),  # some endpoints send the object itself
        ("restart it", {}, True),
        ("[1, 2]", {}, True),
        ('{"service": "\\ud83d"}', {}, True),  # half a character can be neither stored nor sent
        ("[" * 4000, {}, True),
    ],
)
def test_arguments_of_a_tool_call(tmp_path, written, arguments, malformed) -> None:
    with ModelServer(lambda _body: calling(written)) as server:
        bench = make_bench(tmp_path, server.base_url)
        (call,) = bench.client.chat(ACT, ASK, tools=[TOOL]).tool_calls
    assert (call.id, call.name, call.arguments, call.malformed) == ("c1", "restart", arguments, malformed)
    assert call.raw_arguments == (written if isinstance(written, str) else json.dumps(written))


def test_the_reply_names_the_model_that_answered(tmp_path) -> None:
    with ModelServer(model="test-model-2026-05-01") as server:
        bench = make_bench(tmp_path, server.base_url)
        reply = bench.client.chat(ACT, ASK)
    assert (reply.model, reply.finish_reason) == ("test-model-2026-05-01", "stop")
    assert bench.rows()[0].model == "test-model", "the ledger names the model asked for"


def test_a_model_that_wants_another_limit_parameter_gets_it(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["no_max_tokens"])
        bench = make_bench(tmp_path, server.base_url, max_output_tokens=99)
        bench.client.chat(ACT, ASK)
        bench.client.chat(ACT, ASK)
    assert bench.outcomes() == ["bad_request", "ok", "ok"]
    assert [request.body.get("max_completion_tokens") for request in server.requests] == [None, 99, 99]
    assert "max_tokens" not in server.requests[2].body
