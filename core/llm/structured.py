"""Structured answers: schema, validation, the words of the re-ask, repair (design section 2)."""

import json
import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import json_repair
import openai
from pydantic import BaseModel, ValidationError

from core.llm.completion import Reply
from core.tables.ledger import Outcome

T = TypeVar("T", bound=BaseModel)

_QUOTED_PROBLEMS = 10
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_LEFT_OUT = ("default", "title")


class Judge(Generic[T]):
    """Judges the answers to one request in their order: the first one, then the one to the re-ask.

    Attributes:
        value: the valid answer, once there is one.
        problem: why the last answer is not valid.
        answer: the last answer's text.
    """

    def __init__(self, schema: type[T]) -> None:
        self._schema = schema
        self._first = ""
        self.value: T | None = None
        self.problem = ""
        self.answer = ""

    def first(self, reply: Reply) -> Outcome:
        """Validate the first answer."""
        self._first = reply.content
        return Outcome.VALID if self._validate(reply.content) else Outcome.INVALID

    def second(self, reply: Reply) -> Outcome:
        """Validate the answer to the re-ask; failing that, repair it, failing that, the first one."""
        if self._validate(reply.content):
            return Outcome.REASK
        return Outcome.REPAIRED if self._repair(reply.content) or self.repair_first() else Outcome.UNUSABLE

    def repair_first(self) -> bool:
        """Repair the first answer; True if ``value`` is there."""
        return self._repair(self._first)

    def reask(self) -> list[dict[str, str]]:
        """Return the messages to append: the bad answer, and what is wrong with it."""
        request = (
            f"Your answer is not valid:\n{self.problem}\n"
            "Answer again in full: one JSON object that matches the schema, and nothing else."
        )
        return [{"role": "assistant", "content": self.answer}, {"role": "user", "content": request}]

    def _validate(self, text: str) -> bool:
        self.answer = text
        fenced = _FENCE.match(text)
        try:
            self.value = self._schema.model_validate_json(fenced.group(1) if fenced else text)
        except ValidationError as error:
            self.problem = _describe(error)
        return self.value is not None

    def _repair(self, text: str) -> bool:
        try:
            self.value = self._schema.model_validate_json(json.dumps(json_repair.loads(text)))
        except (ValidationError, ValueError, RecursionError):
            return False
        return True


def response_format(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the request's ``response_format``: strict, named after the class in snake_case."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", schema.__name__).lower()
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": strict_schema(schema)},
    }


def strict_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema as OpenAI's strict mode wants it.

    All properties are required, none may be added, and there are no defaults; titles only cost tokens.
    """
    parameters = openai.pydantic_function_tool(schema)["function"]["parameters"]
    return _without_annotations(parameters)


def _without_annotations(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _inner(key, value) for key, value in schema.items() if key not in _LEFT_OUT}


def _inner(key: str, value: Any) -> Any:
    if key in ("properties", "$defs"):  # here the keys are names, and a name may well be "title"
        return {name: _without_annotations(schema) for name, schema in value.items()}
    if isinstance(value, Mapping):
        return _without_annotations(value)
    if isinstance(value, list):
        return [_without_annotations(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"- {'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in problems]
    return "\n".join(lines[:_QUOTED_PROBLEMS])
