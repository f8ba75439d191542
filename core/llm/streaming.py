"""Puts a streamed answer together, as endpoints really send it; what comes out reads like one sent whole.

The stream itself, with its events and broken connections, is the openai client's.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import openai

from core.llm.completion import mapping, read_usage
from core.llm.faults import Fault, fault_of
from core.tables.ledger import Outcome

AS_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
"""What a request holds so that its answer comes in pieces, and says at the end what it came to."""


def gather(chunks: Iterable[object], *, cached_in_input: bool) -> dict[str, Any]:
    """Read a stream to its end and return the chat completion that it makes up.

    An answer that is whole counts although the stream breaks off after it; its usage is then unreported.

    Args:
        chunks: decoded events; may end in an error of the openai client or of JSON.
        cached_in_input: as for ``read_usage``.

    Raises:
        Fault: the stream ended before the answer was whole; ``usage`` is what had been reported by then.
    """
    answer = _Answer()
    try:
        for chunk in chunks:
            answer.add(mapping(chunk))
        fault = Fault(Outcome.EMPTY, "the stream ended before the answer was whole")
    except openai.APIError as error:
        fault = fault_of(error)
    except (ValueError, RecursionError) as error:
        fault = Fault(Outcome.EMPTY, f"the stream holds what is not JSON: {error}")
    completion = answer.as_completion()
    if not answer.finish_reason:
        fault.usage = read_usage(completion, cached_in_input=cached_in_input)
        raise fault
    return completion


@dataclass
class _Call:
    """A tool call so far. ``index`` is its place, None where the endpoint does not say."""

    index: Any
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


@dataclass
class _Answer:
    """The first choice so far, and the usage last reported: some endpoints report a running total in each chunk."""

    content: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    finish_reason: str = ""
    model: str = ""
    usage: Any = None

    def add(self, chunk: Any) -> None:
        self.model = str(chunk.get("model") or self.model)
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        self.finish_reason = str(choice.get("finish_reason") or self.finish_reason)
        delta = mapping(choice.get("delta"))
        for name in ("content", "refusal"):
            if isinstance(piece := delta.get(name), str):
                getattr(self, name).append(piece)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            self._add_call(mapping(call))

    def _add_call(self, delta: Any) -> None:
        function, given = mapping(delta.get("function")), str(delta.get("id") or "")
        call = next((one for one in reversed(self.calls) if one.index == delta.get("index")), None)
        # Some endpoints give every call the same place, or none: another id is another call.
        if call is None or (given and call.id and given != call.id):
            call = _Call(delta.get("index"))
            self.calls.append(call)
        call.id = call.id or given
        call.name = call.name or str(function.get("name") or "")
        piece = function.get("arguments")
        if piece:
            call.arguments.append(piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False))

    def as_completion(self) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": "".join(self.content),
            "refusal": "".join(self.refusal),
            "tool_calls": [call.as_json() for call in self.calls],
        }
        choices = [{"index": 0, "message": message, "finish_reason": self.finish_reason}]
        return {"model": self.model, "choices": choices, "usage": self.usage}
