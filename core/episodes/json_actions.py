"""Actions as JSON, for models too small or endpoints too plain for native tool calls.

The reason comes first: a small model that has to say why picks the right action far more often. An
enumeration of tools and argument values makes every valid answer a legal action.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, create_model

from core.environments.protocol import ToolSpec
from core.llm.client import CallContext, ModelClient, ToolCall


def decide_as_json(
    client: ModelClient,
    context: CallContext,
    messages: Sequence[Mapping[str, Any]],
    tools: tuple[ToolSpec, ...],
    sampling: Mapping[str, Any],
    turn: int,
) -> ToolCall:
    """Ask for the next action as JSON and return it in the form of a tool call.

    Raises:
        ModelCallError: no usable answer came, even after a re-ask and repair.
    """
    schema = _action_schema(tuple((tool.name, json.dumps(dict(tool.parameters))) for tool in tools))
    answer: Any = client.structured(context, messages, schema, **sampling)
    tool = next(tool for tool in tools if tool.name == answer.tool)
    given = answer.arguments.model_dump(exclude_none=True)
    wanted = tool.parameters.get("properties", {})
    arguments = {name: value for name, value in given.items() if name in wanted}
    raw = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=f"call_{turn}", name=tool.name, arguments=arguments, raw_arguments=raw)


def as_json_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rewrite stored messages for an endpoint that knows no tools: calls as JSON, results as user turns."""
    wire = []
    for message in messages:
        if message["role"] == "tool":
            wire.append({"role": "user", "content": f"Result: {message['content']}"})
        elif message.get("tool_calls"):
            function = message["tool_calls"][0]["function"]
            action = {"tool": function["name"], "arguments": json.loads(function["arguments"])}
            wire.append({"role": "assistant", "content": json.dumps(action, ensure_ascii=False)})
        else:
            wire.append({"role": message["role"], "content": message.get("content") or ""})
    return wire


@lru_cache(maxsize=32)
def _action_schema(tools: tuple[tuple[str, str], ...]) -> type[BaseModel]:
    """Build the answer's model: a reason, one of the tools, and any of the tools' arguments."""
    merged: dict[str, Any] = {}
    for _, parameters in tools:
        for name, spec in json.loads(parameters).get("properties", {}).items():
            kind = Literal[tuple(spec["enum"])] if spec.get("enum") else _TYPES.get(spec.get("type"), str)
            merged[name] = kind if merged.get(name, kind) == kind else str
    fields: dict[str, Any] = {name: (kind | None, None) for name, kind in merged.items()}
    arguments = create_model("ActionArguments", **fields)
    answer: dict[str, Any] = {
        "reason": (str, ...),
        "tool": (Literal[tuple(name for name, _ in tools)], ...),
        "arguments": (arguments, ...),
    }
    return create_model("AgentAction", **answer)


_TYPES: dict[str | None, Any] = {"integer": int, "number": float, "boolean": bool}
