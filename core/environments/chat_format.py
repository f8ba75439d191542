"""Checks one conversation in OpenAI chat format; ``core.environments.recorded`` reads the file around it."""

from typing import Any, cast

_ROLES = ("system", "developer", "user", "assistant", "tool")


class UnusableLineError(Exception):
    """A line of recorded episodes cannot be used; becomes a problem where the line number is known.

    Args:
        field: what is wrong, e.g. ``messages[3].role``.
        template: English text that may use ``{line}``, ``{field}`` and the values.
        **values: what goes into the places.
    """

    def __init__(self, field: str, template: str, **values: object) -> None:
        super().__init__(template)
        self.field, self.template, self.values = field, template, values


def check_messages(value: Any) -> list[dict[str, Any]]:
    """Return the messages if they are a conversation: known roles, tool replies after their calls, a task.

    An id of a tool call may be used again by a later call. Extra keys are kept.

    Raises:
        UnusableLineError: the first thing that is wrong.
    """
    if not isinstance(value, list) or not value:
        raise UnusableLineError(
            "messages",
            "Line {line}: {field} is missing or empty. Give the conversation as a list of messages.",
        )
    called: set[str] = set()
    for index, message in enumerate(value):
        _check_message(f"messages[{index}]", message, called)
    _check_task(value)
    return cast(list[dict[str, Any]], value)


def _check_message(place: str, message: Any, called: set[str]) -> None:
    if not isinstance(message, dict):
        raise UnusableLineError(place, "Line {line}: {field} is not a JSON object with role and content.")
    role = message.get("role")
    if role not in _ROLES:
        raise UnusableLineError(
            f"{place}.role",
            "Line {line}: {field} is {role}. Known roles: {known}.",
            role=repr(role)[:60],
            known=", ".join(_ROLES),
        )
    _check_content(f"{place}.content", message.get("content"))
    if role == "assistant":
        called.update(_call_ids(f"{place}.tool_calls", message.get("tool_calls")))
    elif role == "tool":
        _check_reply(f"{place}.tool_call_id", message.get("tool_call_id"), called)


def _check_content(place: str, content: Any) -> None:
    if content is None or isinstance(content, str):
        return
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return
    raise UnusableLineError(place, "Line {line}: {field} is neither a text, null, nor a list of content parts.")


def _call_ids(place: str, calls: Any) -> list[str]:
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise UnusableLineError(place, "Line {line}: {field} is not a list of tool calls.")
    return [_call_id(f"{place}[{index}]", call) for index, call in enumerate(calls)]


def _call_id(place: str, call: Any) -> str:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        raise UnusableLineError(f"{place}.id", "Line {line}: {field} is missing. Give every tool call an id.")
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise UnusableLineError(f"{place}.function.name", "Line {line}: {field} is missing. Name the tool called.")
    if not isinstance(function.get("arguments"), str | dict | None):
        raise UnusableLineError(
            f"{place}.function.arguments", "Line {line}: {field} is neither a JSON text nor an object."
        )
    return str(call["id"])


def _check_reply(place: str, call_id: Any, called: set[str]) -> None:
    if not isinstance(call_id, str):
        raise UnusableLineError(
            place, "Line {line}: {field} is missing. Name the id of the call that the tool answers."
        )
    if call_id not in called:
        raise UnusableLineError(
            place,
            "Line {line}: {field} {id} answers no call made before. Put the assistant message with that tool "
            "call in front of it, or remove the reply.",
            id=call_id[:80],
        )


def _check_task(messages: list[dict[str, Any]]) -> None:
    for index, message in enumerate(messages):
        if message["role"] == "user":
            content = message.get("content")
            texts = [content] if isinstance(content, str) else [part.get("text") for part in content or ()]
            if any(isinstance(text, str) and text.strip() for text in texts):
                return
            raise UnusableLineError(
                f"messages[{index}].content",
                "Line {line}: {field}, the user's first message, has no text: no task.",
            )
    raise UnusableLineError("messages", "Line {line}: {field} has no message of a user, so there is no task.")
