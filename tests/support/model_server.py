"""A real HTTP server that speaks /v1/chat/completions, fails on request or at a seeded rate, and counts.

    with ModelServer(answer) as server:
        settings = load_settings(OPENAI_API_KEY="k", OPENAI_BASE_URL=server.base_url)

``server.usage`` is exactly what all its responses together reported, so that a ledger can be compared with it
to the token.
"""

import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
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
    "cut_body",  # 200, but the response's JSON ends in the middle
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
}

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
    """

    answer: Answer = say_hello
    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after: str = "0"
    cached_in_input: bool = True
    model: str | None = None

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
        prompt = 7 + len(json.dumps(request.body["messages"])) // 4
        used = Usage(prompt, prompt // 3, 1 + len(json.dumps(message)) // 4)
        with self._lock:
            self.usage.input += used.input
            self.usage.cached += used.cached
            self.usage.output += used.output
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        prompt_tokens = used.input if self.cached_in_input else used.input - used.cached
        return {
            "id": "cmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": self.model or request.body["model"],
            "choices": [] if request.fault == "empty_choices" else choices,
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": used.output,
                "total_tokens": prompt_tokens + used.output,
                "prompt_tokens_details": {"cached_tokens": used.cached},
            },
        }

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
        elif request.fault == "cut_body":
            self._send(200, b'{"id": "cmpl-1", "choices": [{"index": 0, "mess')
        else:
            self._send(200, json.dumps(server.completion(request)).encode())

    def _refuse(self, fault: str) -> None:
        parameter = {"no_response_format": "response_format", "no_max_tokens": "max_tokens"}.get(fault)
        about = f"Unsupported parameter: '{parameter}'" if parameter else f"scripted fault: {fault}"
        error = {"error": {"message": about, "type": "fault", "param": parameter, "code": fault}}
        waits = {"Retry-After": self.server.model_server.retry_after} if STATUS[fault] in (429, 503) else {}
        self._send(STATUS[fault], json.dumps(error).encode(), waits)

    def _send(self, status: int, payload: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""
