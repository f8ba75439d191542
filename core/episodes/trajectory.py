"""Typed reading of conversations in OpenAI chat format, as episodes keep them.

It reads and never judges: whether a recorded conversation is well-formed is checked by
``core.environments.recorded``, what an episode is worth by ``core.episodes.grading``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Messages = Sequence[Mapping[str, Any]]

_SEEN = "\nLast seen: "
_ERROR_TEXT = re.compile(r"\s*error\b", re.IGNORECASE)


@dataclass(frozen=True)
class ToolCall:
    """One tool call and what came of it.

    Attributes:
        name: the tool.
        arguments: parsed if they are a JSON object, else the text as it was sent.
        result: text of the tool's reply; None if none was recorded.
        failed: the call itself failed (see ``tool_failed``).
    """

    name: str
    arguments: dict[str, Any] | str
    result: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Step:
    """One assistant message with what followed it, up to the next one.

    Attributes:
        index: place of the assistant message in the conversation, from 0.
        text: what the assistant said ('' if it only called tools).
        calls: its tool calls in order; empty for a plain utterance.
        reply: what the user answered, '' if nothing.
    """

    index: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    reply: str = ""


def count_turns(messages: Messages) -> int:
    """Count assistant messages."""
    return sum(message.get("role") == "assistant" for message in messages)


def count_tool_calls(messages: Messages) -> int:
    """Count tool calls, several in one assistant message each for itself."""
    return sum(len(message.get("tool_calls") or ()) for message in messages if message.get("role") == "assistant")


def count_tool_errors(messages: Messages) -> int:
    """Count tool calls that failed; never more than ``count_tool_calls``."""
    return sum(call.failed for step in steps(messages) for call in step.calls)


def tool_failed(message: Mapping[str, Any]) -> bool:
    """Tell whether a tool message reports a failed call. The one place for that fact.

    Our own rollouts write the extra key ``failed``, which decides. Without it (recorded conversations) the
    content decides: it begins with the word "Error", or is a JSON object with a non-empty ``error``.
    """
    if isinstance(message.get("failed"), bool):
        return bool(message["failed"])
    text = message_text(message)
    if _ERROR_TEXT.match(text):
        return True
    parsed = parse_json(text) if text.lstrip().startswith("{") else None
    return isinstance(parsed, dict) and bool(parsed.get("error"))


def message_text(message: Mapping[str, Any]) -> str:
    """Return a message's text: its content, or its text parts joined by newlines; '' without any."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def first_user_text(messages: Messages) -> str:
    """Return what the user said first ('' if nothing): the task of a recorded conversation."""
    return next((message_text(message) for message in messages if message.get("role") == "user"), "")


def parse_json(text: str) -> Any:
    """Return the parsed text, or None for what is not JSON (or nested too deeply to parse)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def state_at_hand(messages: Messages) -> str:
    """Return the task and what a tool said last: what the next decision hangs on. See ``parts_of_state``."""
    seen = next((message_text(message) for message in reversed(messages) if message.get("role") == "tool"), "")
    task = first_user_text(messages)
    return f"{task}{_SEEN}{seen}" if seen else task


def parts_of_state(state: str) -> tuple[str, str]:
    """Return the task of a state, and what was seen last ('' if nothing)."""
    task, _, seen = state.rpartition(_SEEN) if _SEEN in state else (state, "", "")
    return task, seen


@dataclass
class _Draft:
    index: int
    text: str
    calls: list[ToolCall]
    replies: list[str] = field(default_factory=list)


def steps(messages: Messages) -> list[Step]:
    """Cut a conversation into steps, one per assistant message, in order.

    A tool's reply belongs to the latest call with its ``tool_call_id``; recorded conversations use an id
    again for later calls. Replies to calls that nobody made are left out.
    """
    drafts: list[_Draft] = []
    waiting: dict[str, list[tuple[_Draft, int]]] = {}
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "assistant":
            draft = _Draft(index, message_text(message), [_call(raw) for raw in message.get("tool_calls") or ()])
            drafts.append(draft)
            waiting.update(_slots(draft, message))
        elif role == "tool":
            _answer(waiting.get(str(message.get("tool_call_id")), []), message)
        elif role == "user" and drafts:
            drafts[-1].replies.append(message_text(message))
    return [Step(draft.index, draft.text, tuple(draft.calls), "\n".join(draft.replies)) for draft in drafts]


def _slots(draft: _Draft, message: Mapping[str, Any]) -> dict[str, list[tuple[_Draft, int]]]:
    slots: dict[str, list[tuple[_Draft, int]]] = {}
    for position, raw in enumerate(message.get("tool_calls") or ()):
        slots.setdefault(str(raw.get("id")), []).append((draft, position))
    return slots


def _answer(slots: list[tuple[_Draft, int]], message: Mapping[str, Any]) -> None:
    if slots:
        draft, position = slots.pop(0)
        call = draft.calls[position]
        draft.calls[position] = ToolCall(call.name, call.arguments, message_text(message), tool_failed(message))


def _call(raw: Mapping[str, Any]) -> ToolCall:
    function = raw.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        parsed = parse_json(arguments)
        return ToolCall(str(function.get("name", "")), parsed if isinstance(parsed, dict) else arguments)
    return ToolCall(str(function.get("name", "")), dict(arguments or {}))
