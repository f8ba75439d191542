"""A real HTTP server that speaks /v1/chat/completions, fails on request or at a seeded rate, and counts.

    with ModelServer(answer) as server:
        settings = load_settings(OPENAI_API_KEY="k", OPENAI_BASE_URL=server.base_url)

``server.usage`` is exactly what all its responses together reported, so that a ledger can be compared with it
to the token.
"""

import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

from core.ids import derive_seed

FaultKind = Literal[
    "rate_limited",  # 429 with Retry-After
    "server_error",  # 500
    "overloaded",  # 503
    "request_timeout",  # 408
    "conflict",  # 409
    "hang",  # no response until the server stops, then the connection is closed
    "dropped",  # the connection is closed without a response
    "cut_body",  # 200, but the response's JSON ends in the middle, or the stream's connection breaks there
    "ended_stream",  # as cut_body, but a stream ends there in good order
    "stream_error",  # 200, but in the middle of a stream comes an error
    "stream_garbage",  # 200, but in the middle of a stream comes what is not JSON
    "cut_tail",  # 200, but the stream's connection breaks after the answer, before its usage
    "no_usage",  # 200, whole, but its usage is not reported
    "empty_choices",  # 200 without choices; usage is reported
    "empty_content",  # 200 with neither text nor tool calls; usage is reported
    "cut_content",  # the answer's text or tool arguments end at 60 %
    "wrong_schema",  # text that is JSON, but not of the schema asked for
    "bad_request",  # 400
    "unauthorized",  # 401
    "forbidden",  # 403
    "not_found",  # 404
    "no_response_format",  # 400 that names response_format
    "no_grammar",  # 400 of a local server that cannot turn the schema into a grammar, and names no parameter
    "no_max_tokens",  # 400 that names max_tokens
    "no_stream_options",  # 400 that names stream_options
]

STATUS: dict[str, int] = {
    "rate_limited": 429,
    "server_error": 500,
    "overloaded": 503,
    "request_timeout": 408,
    "conflict": 409,
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "no_response_format": 400,
    "no_grammar": 400,
    "no_max_tokens": 400,
    "no_stream_options": 400,
}

_IN_THE_MIDDLE = ("cut_body", "ended_stream", "stream_error", "stream_garbage")
"""Where a stream goes no further."""

Answer = Callable[[dict[str, Any]], "dict[str, Any] | str"]


def say_hello(_body: dict[str, Any]) -> str:
    return "hello"


@dataclass
class Usage:
    """Tokens that responses reported; ``input`` includes ``cached`` once, however the server reports it."""

    input: int = 0
    cached: int = 0
    output: int = 0


@dataclass(frozen=True)
class Request:
    """What came in; header names in lower case."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    fault: str | None


@dataclass
class ModelServer:
    """
    Args:
        answer: makes the healthy answer to a request's body: text, or a whole assistant message.
        rates: share of attempts by fault, drawn from seed, body and attempt header; the sum is at most 1.
        seed: of the draws.
        retry_after: the header of 429 and 503.
        cached_in_input: report cached tokens inside prompt_tokens, as OpenAI does, or beside them.
        model: the name that responses report; None: the one asked for.
        running_usage: each chunk of a stream reports the tokens so far, not the last one alone.
    """

    answer: Answer = say_hello
    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after: str = "0"
    cached_in_input: bool = True
    model: str | None = None
    running_usage: bool = False

    def __post_init__(self) -> None:
        self.requests: list[Request] = []
        self.usage = Usage()
        self._script: deque[str | None] = deque()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _HttpServer(("127.0.0.1", 0), _Handler)
        self._http.model_server = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def faults(self) -> Counter[str | None]:
        """How many requests met which fault; None: a healthy answer."""
        with self._lock:
            return Counter(request.fault for request in self.requests)

    def script(self, faults: Sequence[FaultKind | None]) -> None:
        """Queue faults for the next requests, None for a healthy answer; after them ``rates`` decide."""
        with self._lock:
            self._script.extend(faults)

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take(self, raw: bytes, headers: Mapping[str, str]) -> Request:
        """Log a request and decide what becomes of it."""
        attempt = headers.get("X-Rulewright-Attempt", "1")
        with self._lock:
            fault = self._script.popleft() if self._script else self._draw(raw, attempt)
            request = Request(json.loads(raw), {name.lower(): value for name, value in headers.items()}, fault)
            self.requests.append(request)
        return request

    def _draw(self, raw: bytes, attempt: str) -> str | None:
        draw = derive_seed(self.seed, raw, attempt) / 2**31
        for fault, rate in self.rates.items():
            if draw < rate:
                return fault
            draw -= rate
        return None

    def completion(self, request: Request) -> dict[str, Any]:
        """Make the response of status 200 and count what it reports."""
        message = self._message(request)
        used = _used(request, message)
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        completion: dict[str, Any] = {
            **self._about(request, "chat.completion"),
            "choices": [] if request.fault == "empty_choices" else choices,
        }
        if request.fault != "no_usage":
            completion["usage"] = self._reported(used)
            self._count(used)
        return completion

    def chunks(self, request: Request) -> Iterator[dict[str, Any]]:
        """Make a stream, as far as it gets, and count what it reported by then."""
        message, reported = self._message(request), Usage()
        used = _used(request, message)
        deltas = [] if request.fault == "empty_choices" else list(_deltas(message))
        told = request.fault not in ("no_usage", "cut_tail")
        if request.fault in _IN_THE_MIDDLE:
            deltas, told = deltas[: len(deltas) // 2], False
        for number, delta in enumerate(deltas, 1):
            finish = "stop" if number == len(deltas) and request.fault not in _IN_THE_MIDDLE else None
            chunk = {
                **self._about(request, "chat.completion.chunk"),
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
            if self.running_usage:
                reported = Usage(used.input, used.cached, min(number, used.output))
                chunk["usage"] = self._reported(reported)
            yield chunk
        if told and (request.body.get("stream_options") or {}).get("include_usage"):
            reported = used
            usage = self._reported(used)
            yield {**self._about(request, "chat.completion.chunk"), "choices": [], "usage": usage}
        self._count(reported)

    def _about(self, request: Request, kind: str) -> dict[str, Any]:
        return {"id": "cmpl-1", "object": kind, "created": 0, "model": self.model or request.body["model"]}

    def _reported(self, used: Usage) -> dict[str, Any]:
        prompt_tokens = used.input if self.cached_in_input else used.input - used.cached
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": used.output,
            "total_tokens": prompt_tokens + used.output,
            "prompt_tokens_details": {"cached_tokens": used.cached},
        }

    def _count(self, reported: Usage) -> None:
        with self._lock:
            self.usage.input += reported.input
            self.usage.cached += reported.cached
            self.usage.output += reported.output

    def _message(self, request: Request) -> dict[str, Any]:
        given = self.answer(request.body)
        message = {"role": "assistant", "content": given} if isinstance(given, str) else dict(given)
        if request.fault == "empty_content":
            return {"role": "assistant", "content": None}
        if request.fault == "wrong_schema":
            return {"role": "assistant", "content": '{"something": "else"}'}
        return _cut(message) if request.fault == "cut_content" else message

    def hang(self) -> None:
        self._stopping.wait()


def _cut(message: dict[str, Any]) -> dict[str, Any]:
    cut = json.loads(json.dumps(message))
    if cut.get("content"):
        cut["content"] = cut["content"][: max(1, int(len(cut["content"]) * 0.6))]
    for call in cut.get("tool_calls") or []:
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = arguments[: int(len(arguments) * 0.6)]
    return cut


def _used(request: Request, message: dict[str, Any]) -> Usage:
    prompt = 7 + len(json.dumps(request.body["messages"])) // 4
    return Usage(prompt, prompt // 3, 1 + len(json.dumps(message)) // 4)


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut a message into pieces, as models write it; tool calls take turns, so that each has to find its own."""
    yield {"role": "assistant", "content": ""}
    content = message.get("content") or ""
    yield from ({"content": content[start : start + 3]} for start in range(0, len(content), 3))
    calls = message.get("tool_calls") or []
    for place, call in enumerate(calls):
        head = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": place, "id": call["id"], "type": "function", "function": head}]}
    for start in range(0, max((len(call["function"]["arguments"]) for call in calls), default=0), 4):
        for place, call in enumerate(calls):
            piece = call["function"]["arguments"][start : start + 4]
            yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    model_server: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_POST(self) -> None:
        server = self.server.model_server
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        request = server.take(raw, self.headers)
        if request.fault in ("hang", "dropped"):
            if request.fault == "hang":
                server.hang()
            self.close_connection = True
        elif request.fault in STATUS:
            self._refuse(request.fault)
        elif request.body.get("stream"):
            self._stream(request)
        elif request.fault == "cut_body":
            self._send(200, b'{"id": "cmpl-1", "choices": [{"index": 0, "mess')
        else:
            self._send(200, json.dumps(server.completion(request)).encode())

    def _refuse(self, fault: str) -> None:
        parameter = {
            "no_response_format": "response_format",
            "no_max_tokens": "max_tokens",
            "no_stream_options": "stream_options",
        }.get(fault)
        about = f"Unsupported parameter: '{parameter}'" if parameter else f"scripted fault: {fault}"
        error = {"error": {"message": about, "type": "fault", "param": parameter, "code": fault}}
        waits = {"Retry-After": self.server.model_server.retry_after} if STATUS[fault] in (429, 503) else {}
        self._send(STATUS[fault], json.dumps(error).encode(), waits)

    def _stream(self, request: Request) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in self.server.model_server.chunks(request):
            self._event(json.dumps(chunk))
        if request.fault in ("cut_body", "cut_tail"):
            self.close_connection = True
            return
        if request.fault == "stream_error":
            self._event(json.dumps({"error": {"message": "scripted fault: stream_error", "code": "overloaded"}}))
        elif request.fault == "stream_garbage":
            self._event('{"choices": [{"del')
        elif request.fault != "ended_stream":
            self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        payload = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))

    def _send(self, status: int, payload: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""
