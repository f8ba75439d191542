"""Answers that come as a stream: put together like whole ones, with their usage, also when the stream breaks off."""

import pytest

from core.db import open_database
from core.errors import ModelCallError
from core.llm.build import build_client
from core.llm.client import CallContext
from core.llm.streaming import gather
from tests.llm.helpers import ACT, ASK, Bench, make_bench, rows, settings_for
from tests.llm.test_client_chat import TOOL, calling
from tests.support.model_server import ModelServer


def streaming(tmp_path, server: ModelServer, **model: object) -> Bench:
    return make_bench(tmp_path, server.base_url, stream=True, **model)


def used(bench: Bench) -> list[tuple[int, int, int, bool]]:
    return [(row.input_tokens, row.cached_tokens, row.output_tokens, row.cost_usd is None) for row in bench.rows()]


LONG = "Restart the pool of the service that leaks, 连接池, not the database. " * 20


def test_a_streamed_answer_reads_like_a_whole_one(tmp_path) -> None:
    with ModelServer(lambda _body: LONG, model="test-model-2") as server:
        streamed = streaming(tmp_path, server).client.chat(ACT, ASK)
        whole = make_bench(tmp_path, server.base_url).client.chat(ACT, ASK)
    assert streamed == whole
    first, second = server.requests
    assert (first.body["stream"], first.body["stream_options"]) == (True, {"include_usage": True})
    assert "stream" not in second.body


def test_its_usage_is_that_of_the_last_event(tmp_path) -> None:
    with ModelServer() as server:
        bench = streaming(tmp_path, server)
        bench.client.chat(ACT, ASK)
    assert used(bench) == [(server.usage.input, server.usage.cached, server.usage.output, False)]
    assert server.usage.output > 0


def test_tool_calls_are_put_together_each_from_its_own_pieces(tmp_path) -> None:
    message = calling('{"service": "api", "wait_s": 5}')
    second = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"at": "logs"}'}}
    message["tool_calls"].append(second)  # type: ignore[attr-defined]
    with ModelServer(lambda _body: message) as server:
        reply = streaming(tmp_path, server).client.chat(ACT, ASK, tools=[TOOL])
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("c1", "restart", {"service": "api", "wait_s": 5}),
        ("c2", "look", {"at": "logs"}),
    ]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("cut_body", "connection_error"),
        ("ended_stream", "empty"),
        ("stream_error", "server_error"),
        ("stream_garbage", "empty"),
    ],
)
@pytest.mark.parametrize("running", [True, False])
def test_a_stream_that_breaks_off_is_tried_again_and_keeps_what_it_reported(tmp_path, fault, outcome, running) -> None:
    with ModelServer(lambda _body: LONG, running_usage=running) as server:
        server.script([fault])
        bench = streaming(tmp_path, server)
        assert bench.client.chat(ACT, ASK).content == LONG
    assert bench.outcomes() == [outcome, "ok"]
    broken, whole = used(bench)
    if running:
        assert broken[0] == whole[0]
        assert 100 < broken[2] < whole[2]
        assert not broken[3]
    else:
        assert broken == (0, 0, 0, True)  # what it cost is unknown, which is not the same as nothing
    assert broken[0] + whole[0] == server.usage.input
    assert broken[2] + whole[2] == server.usage.output


def test_an_answer_that_is_whole_counts_though_its_usage_got_lost(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["cut_tail"])
        bench = streaming(tmp_path, server)
        assert bench.client.chat(ACT, ASK).content == "hello"
    assert bench.outcomes() == ["ok"]
    assert used(bench) == [(0, 0, 0, True)]


@pytest.mark.parametrize("stream", [True, False])
def test_usage_that_is_not_reported_is_unknown(tmp_path, stream) -> None:
    with ModelServer() as server:
        server.script(["no_usage"])
        bench = make_bench(tmp_path, server.base_url, stream=stream)
        assert bench.client.chat(ACT, ASK).content == "hello"
    assert used(bench) == [(0, 0, 0, True)]


def test_a_refusal_before_the_stream_is_the_same_as_ever(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["rate_limited", "server_error", "dropped", "unauthorized"])
        bench = streaming(tmp_path, server)
        with pytest.raises(ModelCallError):
            bench.client.chat(ACT, ASK)
    assert bench.outcomes() == ["rate_limited", "server_error", "connection_error", "unauthorized"]
    assert used(bench) == [(0, 0, 0, False)] * 4


def test_an_endpoint_that_knows_no_stream_options_is_asked_without(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["no_stream_options"])
        bench = streaming(tmp_path, server)
        bench.client.chat(ACT, ASK)
        bench.client.chat(ACT, ASK)
    assert bench.outcomes() == ["bad_request", "ok", "ok"]
    assert [used[3] for used in used(bench)] == [False, True, True]
    assert [sorted({"stream", "stream_options"} & set(request.body)) for request in server.requests] == [
        ["stream", "stream_options"], ["stream"], ["stream"],
    ]  # fmt: skip


def test_the_stand_in_answers_all_the_same(tmp_path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    client = build_client(settings_for(None, stream=True), database)
    assert client.chat(CallContext("digest"), ASK).content
    client.close()
    (row,) = [row for row in rows(database) if row.outcome == "ok"]
    assert row.input_tokens > 0
    database.close()


def a_chunk(**delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "model": "m"}


def a_call(arguments: object, **known: object) -> dict[str, object]:
    return a_chunk(tool_calls=[{**known, "function": {"arguments": arguments}}])


@pytest.mark.parametrize(
    "chunks",
    [
        [a_call('{"a": ', index=0, id="x"), a_call("1}", index=0), a_call('{"b": 2}', index=0, id="y")],
        [a_call('{"a": ', id="x"), a_call("1}", id="x"), a_call('{"b": 2}', id="y")],
        [a_call('{"a": ', id="x"), a_call("1}"), a_call('{"b"', id="y"), a_call(": 2}")],
        [a_call({"a": 1}, index=0, id="x"), a_call({"b": 2}, index=1, id="y")],
    ],
    ids=["all in one place", "no places", "no places, ids said once", "objects"],
)
def test_calls_are_told_apart_where_endpoints_number_them_badly(chunks) -> None:
    completion = gather([*chunks, END], cached_in_input=True)
    calls = completion["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["arguments"].replace(" ", "")) for call in calls] == [
        ("x", '{"a":1}'), ("y", '{"b":2}'),
    ]  # fmt: skip


@pytest.mark.parametrize("senseless", [None, 3, [], {"choices": None}, {"choices": [7]}, a_chunk(content=None), {}])
def test_events_without_sense_are_passed_over(senseless) -> None:
    completion = gather([a_chunk(content="he"), senseless, a_chunk(content="llo"), END], cached_in_input=True)
    assert completion["choices"][0]["message"]["content"] == "hello"
    assert completion["model"] == "m"
