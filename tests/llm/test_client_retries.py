"""Design section 2: retries of time-outs, 429 (Retry-After), 5xx and connection errors; never 400/401."""

import pytest

from core.errors import ModelCallError
from tests.llm.helpers import ACT, ASK, make_bench
from tests.support.model_server import ModelServer


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("rate_limited", "rate_limited"),
        ("server_error", "server_error"),
        ("overloaded", "server_error"),
        ("conflict", "server_error"),
        ("request_timeout", "timeout"),
        ("dropped", "connection_error"),
        ("cut_body", "empty"),
        ("empty_choices", "empty"),
        ("empty_content", "empty"),
    ],
)
def test_a_passing_fault_is_tried_again(tmp_path, fault, outcome) -> None:
    with ModelServer() as server:
        server.script([fault, fault, None])
        bench = make_bench(tmp_path, server.base_url)
        assert bench.client.chat(ACT, ASK).content == "hello"
    assert bench.outcomes() == [outcome, outcome, "ok"]
    assert [row.attempt for row in bench.rows()] == [1, 2, 3]
    assert len({row.request_id for row in bench.rows()}) == 1
    assert [request.headers["x-rulewright-attempt"] for request in server.requests] == ["1", "2", "3"]


def test_a_hanging_endpoint_is_given_up_and_tried_again(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["hang"])
        bench = make_bench(tmp_path, server.base_url, timeout_s=0.2)
        assert bench.client.chat(ACT, ASK).content == "hello"
    assert bench.outcomes() == ["timeout", "ok"]
    assert bench.rows()[0].input_tokens == 0


def test_an_endpoint_that_is_not_there_is_a_connection_error(tmp_path) -> None:
    with ModelServer() as server:
        gone = server.base_url
    bench = make_bench(tmp_path, gone, attempts=2)
    with pytest.raises(ModelCallError):
        bench.client.chat(ACT, ASK)
    assert bench.outcomes() == ["connection_error"] * 2


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("bad_request", "bad_request"),
        ("not_found", "bad_request"),
        ("unauthorized", "unauthorized"),
        ("forbidden", "unauthorized"),
    ],
)
def test_a_refusal_is_never_tried_again(tmp_path, fault, outcome) -> None:
    with ModelServer() as server:
        server.script([fault])
        bench = make_bench(tmp_path, server.base_url)
        with pytest.raises(ModelCallError):
            bench.client.chat(ACT, ASK)
    assert bench.outcomes() == [outcome]
    assert bench.waits == []


def test_attempts_end(tmp_path) -> None:
    with ModelServer(rates={"server_error": 1.0}) as server:
        bench = make_bench(tmp_path, server.base_url, attempts=4)
        with pytest.raises(ModelCallError, match="500"):
            bench.client.chat(ACT, ASK)
    assert bench.outcomes() == ["server_error"] * 4
    assert len(bench.waits) == 3


def test_waits_double_with_jitter_up_to_the_longest(tmp_path) -> None:
    with ModelServer(rates={"server_error": 1.0}) as server:
        bench = make_bench(tmp_path, server.base_url, attempts=6, backoff_initial_s=0.5, backoff_max_s=3)
        with pytest.raises(ModelCallError):
            bench.client.chat(ACT, ASK)
    for wait, low in zip(bench.waits, [0.5, 1.0, 2.0, 3.0, 3.0], strict=True):
        assert low <= wait <= min(3.0, low + 0.5)
    assert bench.waits[:3] != [0.5, 1.0, 2.0], "no jitter"


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("45", 45.0),  # longer than the longest backoff: honoured all the same
        ("3600", 60.0),  # nobody waits an hour inside a call
        ("Mon, 04 May 2026 12:00:09 GMT", 9.0),
        ("Mon, 04 May 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_honoured(tmp_path, header, wait) -> None:
    with ModelServer(retry_after=header) as server:
        server.script(["rate_limited", "overloaded"])
        bench = make_bench(tmp_path, server.base_url, backoff_max_s=20)
        bench.client.chat(ACT, ASK)
    assert bench.waits == [wait, wait]


@pytest.mark.parametrize("header", ["soon", "nan", "inf", ""])
def test_a_senseless_retry_after_falls_back_to_backoff(tmp_path, header) -> None:
    with ModelServer(retry_after=header) as server:
        server.script(["rate_limited"])
        bench = make_bench(tmp_path, server.base_url, backoff_initial_s=0.5)
        bench.client.chat(ACT, ASK)
    assert 0.5 <= bench.waits[0] <= 1.0


def test_the_key_never_shows_in_an_error(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["unauthorized"])
        bench = make_bench(tmp_path, server.base_url)
        with pytest.raises(ModelCallError) as raised:
            bench.client.chat(ACT, ASK)
    assert "test-key" not in str(raised.value)
    assert "OPENAI_API_KEY" in str(raised.value)
