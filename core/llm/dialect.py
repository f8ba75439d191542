"""What an endpoint does not take, learned from its refusals, and what to send it instead.

OpenAI-compatible endpoints differ in a few parameters: plain ones know no JSON schemas, reasoning models take
no temperature and another limit on output. What a refusal taught holds as long as the client lives.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

from core.llm.faults import Fault
from core.tables.ledger import Outcome

_log = logging.getLogger(__name__)

_REPLACEABLE = ("response_format", "max_tokens", "temperature", "seed", "stream_options")
_WORDS_ABOUT_SCHEMAS = ("response_format", "schema", "grammar")  # local servers name no parameter
_SCHEMA_REQUEST = "Answer with one JSON object and nothing else. It must match this JSON schema:\n"


class Dialect:
    """The parameters that the models of one endpoint take; safe to share between threads.

    Args:
        json_schema: False if the endpoint is known not to honour JSON schemas.
    """

    def __init__(self, json_schema: bool) -> None:
        self._json_schema = json_schema
        self._refused: set[tuple[str, str]] = set()

    def adapt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request as this endpoint takes it; the given one stays as it is."""
        adapted = dict(body)
        for name in _REPLACEABLE:
            if name in adapted and self._refuses(adapted["model"], name):
                _replace(adapted, name)
        return adapted

    def learn(self, sent: Mapping[str, Any], fault: Fault) -> bool:
        """Learn from a refusal; True if the request can be sent again without what was refused."""
        if fault.outcome is not Outcome.BAD_REQUEST:
            return False
        about_schema = any(word in fault.problem.lower() for word in _WORDS_ABOUT_SCHEMAS)
        name = "response_format" if about_schema else fault.parameter
        if name not in _REPLACEABLE or name not in sent:
            return False
        self._refused.add((sent["model"], name))
        _log.warning("%s does not take %s: going on without it (%s)", sent["model"], name, fault.problem)
        return True

    def _refuses(self, model: str, name: str) -> bool:
        return (model, name) in self._refused or (name == "response_format" and not self._json_schema)


def _replace(body: dict[str, Any], name: str) -> None:
    value = body.pop(name)
    if name == "max_tokens":
        body["max_completion_tokens"] = value
    elif name == "response_format" and value.get("type") == "json_schema":
        body["messages"] = _with_schema(body["messages"], value["json_schema"]["schema"])


def _with_schema(messages: list[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Put the schema into the last message if it is the user's: some endpoints insist on turns."""
    request = _SCHEMA_REQUEST + json.dumps(schema, ensure_ascii=False)
    if messages and messages[-1]["role"] == "user":
        return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n\n{request}"}]
    return [*messages, {"role": "user", "content": request}]
