"""Tool arguments and tool results in few words, for digests (design section 7).

Nothing is cut blindly: of a JSON result the fields are ordered by what they tell (errors, states, numbers,
short texts, long texts), long identifiers are left out, and the caller cuts from the end.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from core.episodes.trajectory import ToolCall, parse_json
from core.text import clip

_MAX_CHARS = 2000
_MAX_FIELDS = 60
_MAX_DEPTH = 5
_LIST_HEAD = 3
_LONG_ID_CHARS = 12
_SHORT_TEXT_CHARS = 24

_SIMPLE = re.compile(r"[\w./:@+#%-]{1,60}")
_ERROR_PREFIX = re.compile(r"\s*error\s*[:\-]?\s*", re.IGNORECASE)
_ERROR_KEYS = {"error", "errors", "message", "reason", "detail", "warning"}
_STATE_KEYS = {
    "status", "state", "result", "success", "ok", "outcome", "code", "phase", "health", "verdict",
    "available", "resolved", "closed", "total", "reward", "score",
}  # fmt: skip


def argument_texts(arguments: dict[str, Any] | str) -> list[str]:
    """Return ``name=value`` for each argument; texts that are not one plain word are quoted."""
    if isinstance(arguments, str):
        return [clip(arguments, _MAX_CHARS)] if arguments.strip() else []
    return [f"{_word(name)}={clip(_value(value, 0), _MAX_CHARS)}" for name, value in arguments.items()]


def result_text(call: ToolCall) -> str:
    """Return the key fields of a call's result, ``ERROR`` and the whole message if the call failed."""
    if call.result is None:
        return "(no result)"
    parsed = parse_json(call.result)
    if call.failed:
        return f"ERROR {clip(_error_message(call.result, parsed), _MAX_CHARS)}"
    if isinstance(parsed, dict | list):
        return clip(_key_fields(parsed), _MAX_CHARS)
    return clip(call.result, _MAX_CHARS) or "(empty)"


def _error_message(result: str, parsed: Any) -> str:
    if isinstance(parsed, dict) and parsed.get("error"):
        error = parsed["error"]
        if isinstance(error, dict):
            error = error.get("message") or _value(error, 0)
        result = error if isinstance(error, str) else _value(error, 0)
    return _ERROR_PREFIX.sub("", result, count=1) or "(no message)"


def _key_fields(parsed: dict[str, Any] | list[Any]) -> str:
    if not parsed:
        return "0 items" if isinstance(parsed, list) else "(empty)"
    fields: list[tuple[int, str]] = []
    for path, value in _leaves(parsed, ()):
        rank = _rank(path, value)
        if rank is not None:
            fields.append((rank, f"{'.'.join(path)}={_value(value, _MAX_DEPTH)}"))
        if len(fields) >= _MAX_FIELDS:
            break
    text = ", ".join(field for _, field in sorted(fields, key=lambda ranked: ranked[0]))
    if isinstance(parsed, list):
        return f"{len(parsed)} items" + (f": {text}" if text else "")
    return text or "(empty)"


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(path) >= _MAX_DEPTH or not isinstance(value, dict | list) or not value:
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, _word(key)))
    else:
        for index, item in enumerate(value[:_LIST_HEAD]):
            yield from _leaves(item, (*path, str(index)))


def _rank(path: tuple[str, ...], value: Any) -> int | None:
    key = path[-1].lower()
    if key in _ERROR_KEYS:
        return 0
    if key in _STATE_KEYS:
        return 1
    if isinstance(value, bool | int | float):
        return 2
    if not isinstance(value, str):
        return 4
    if (key == "id" or key.endswith("_id")) and len(value) > _LONG_ID_CHARS:
        return None
    return 3 if len(value) <= _SHORT_TEXT_CHARS else 4


def _value(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value if _SIMPLE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict | list) and value and depth >= _MAX_DEPTH:
        return "{…}" if isinstance(value, dict) else "[…]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}={_value(item, depth + 1)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item, depth + 1) for item in value) + "]"
    return json.dumps(value)


def _word(name: str) -> str:
    return re.sub(r"[\s=,()]+", "_", name)[:64]
