"""Reads chat completions as endpoints really send them, with fields missing, null or of the wrong kind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import json_repair
from pydantic_core import from_json

from core.llm.prices import UNREPORTED, TokenUsage


@dataclass(frozen=True)
class ToolCall:
    """A tool call of the model.

    Attributes:
        id: as the endpoint gave it.
        name: of the tool; not checked against the tools there are.
        arguments: a JSON object; put right by json-repair if need be, empty if ``malformed``.
        raw_arguments: as the model wrote them.
        malformed: not even json-repair made an object of the arguments.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    raw_arguments: str
    malformed: bool = False


@dataclass(frozen=True)
class Reply:
    """What the model answered: text, tool calls or both.

    Attributes:
        content: the text.
        tool_calls: in order.
        model: name that the endpoint reports.
        finish_reason: as the endpoint gave it.
        logprobs: log-probability of each token that could have been the first one; empty if none were given.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    model: str
    finish_reason: str
    logprobs: Mapping[str, float] = field(default_factory=dict)


def read_usage(data: Any, *, cached_in_input: bool) -> TokenUsage:
    """Return the tokens a response reports, 0 for what it does not; a response without usage has none reported.

    Args:
        data: the decoded response, of any kind.
        cached_in_input: ``prompt_tokens`` holds the cached tokens; if not, they are added.
    """
    usage = mapping(mapping(data).get("usage"))
    if not usage:
        return UNREPORTED
    given = _count(usage.get("prompt_tokens"))
    cached = _count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    output = _count(usage.get("completion_tokens"))
    if cached_in_input:
        return TokenUsage(given, min(cached, given), output)
    return TokenUsage(given + cached, cached, output)


def read_reply(data: Any) -> Reply | None:
    """Return the first choice as a reply; None if there is none, or it has neither text nor tool calls."""
    choices = mapping(data).get("choices")
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = mapping(choice.get("message"))
    content = message.get("content") or message.get("refusal")
    text = _clean(content) if isinstance(content, str) else ""
    calls = message.get("tool_calls")
    tool_calls = tuple(_tool_call(n, mapping(call)) for n, call in enumerate(calls)) if isinstance(calls, list) else ()
    if not text.strip() and not tool_calls:
        return None
    return Reply(
        text,
        tool_calls,
        str(mapping(data).get("model") or ""),
        str(choice.get("finish_reason") or ""),
        _first_logprobs(choice),
    )


def _first_logprobs(choice: Mapping[str, Any]) -> dict[str, float]:
    tokens = mapping(choice.get("logprobs")).get("content")
    first = mapping(tokens[0]) if isinstance(tokens, list) and tokens else {}
    listed = first.get("top_logprobs")
    rows = [mapping(row) for row in listed] if isinstance(listed, list) else []
    return {str(row.get("token")): float(row["logprob"]) for row in rows if isinstance(row.get("logprob"), int | float)}


def _tool_call(position: int, call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    given = function.get("arguments")
    raw = _clean(given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False))
    arguments = _arguments(raw)
    return ToolCall(
        id=str(call.get("id") or f"call_{position}"),
        name=str(function.get("name") or ""),
        arguments=arguments or {},
        raw_arguments=raw,
        malformed=arguments is None,
    )


def _arguments(raw: str) -> dict[str, Any] | None:
    if not raw.strip():
        return {}
    for decode in (from_json, _repaired):
        try:
            value = decode(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def _repaired(raw: str) -> Any:
    return from_json(json.dumps(json_repair.loads(raw)))


def _clean(text: str) -> str:
    """Replace lone surrogates, which neither the database nor the next request could hold."""
    return text.encode("utf-8", "replace").decode()


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a decoded object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) else 0
