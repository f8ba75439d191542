"""One line of recorded episodes: from bytes to a checked ``RecordedEpisode``."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from core.environments.chat_format import UnusableLineError, check_messages
from core.environments.protocol import Split

_MAX_DEPTH = 64
_SPLITS = ("train", "held_out")


@dataclass(frozen=True)
class RecordedEpisode:
    """One well-formed line. ``reward`` lies in [-1, 1]; ``created_at`` is UTC; ``line`` counts from 1."""

    line: int
    id: str
    task_id: str
    reward: float
    messages: list[dict[str, Any]]
    trial: int = 0
    task_type: str | None = None
    created_at: datetime | None = None
    split: Split | None = None
    agent: str = ""
    model: str = ""


def parse_line(line: int, content: bytes) -> RecordedEpisode:
    """Check one line.

    Args:
        line: its number, from 1.
        content: its bytes, with the line break if it has one.

    Raises:
        UnusableLineError: the first thing that is wrong.
    """
    data = _json(content)
    return RecordedEpisode(
        line=line,
        id=_identifier(data, "id"),
        task_id=_identifier(data, "task_id"),
        reward=_reward(data),
        messages=check_messages(data.get("messages")),
        trial=_trial(data),
        task_type=_text(data, "task_type") or None,
        created_at=_created_at(data),
        split=_split(data),
        agent=_text(data, "agent"),
        model=_text(data, "model"),
    )


def _json(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if not line.endswith(b"\n"):
            template = (
                "Line {line}: the last {field} is not complete JSON ({problem}). The file may be cut off; "
                "fetch it again and import it once more."
            )
        else:
            template = "Line {line}: the {field} is not JSON ({problem}). Write one JSON object per line, in UTF-8."
        raise UnusableLineError("line", template, problem=str(error)) from error
    if not isinstance(data, dict):
        raise UnusableLineError(
            "line",
            "Line {line}: the {field} holds {found}, not an object with id, task_id, reward and messages.",
            found=_kind(data),
        )
    return cast(dict[str, Any], _storable(data, "line"))


def _storable(value: Any, field_name: str, depth: int = 0) -> Any:
    """Return the value with characters that no database stores replaced; refuse what is not JSON proper."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if depth > _MAX_DEPTH:
        raise UnusableLineError(
            field_name, "Line {line}: {field} is nested more than {limit} levels deep.", limit=_MAX_DEPTH
        )
    if isinstance(value, dict):
        return {
            _storable(key, field_name): _storable(item, key if depth == 0 else field_name, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_storable(item, field_name, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise UnusableLineError(
            field_name,
            "Line {line}: {field} holds {value}, which is not a number. Give a finite one.",
            value=value,
        )
    return value


def _identifier(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if isinstance(value, str) and value.strip() and len(value) <= 200:
        return value
    raise UnusableLineError(
        name,
        "Line {line}: {field} is missing or not usable ({found}). Give a text of 1 to 200 characters.",
        found=_kind(value),
    )


def _reward(data: dict[str, Any]) -> float:
    if "reward" not in data:
        raise UnusableLineError("reward", "Line {line}: {field} is missing. Give a number from -1 to 1.")
    value = data["reward"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableLineError(
            "reward", "Line {line}: {field} is {found}. Give a number from -1 to 1.", found=_kind(value)
        )
    if not -1 <= value <= 1:
        raise UnusableLineError(
            "reward",
            "Line {line}: {field} {value} lies outside -1 to 1. Scale the rewards into that range.",
            value=f"{value:.6g}" if abs(value) < 1e300 else "(huge)",
        )
    return float(value)


def _trial(data: dict[str, Any]) -> int:
    value = data.get("trial", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise UnusableLineError("trial", "Line {line}: {field} is not a whole number from 0 on. Correct or omit it.")
    return value


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 200:
        raise UnusableLineError(name, "Line {line}: {field} is not a text of up to 200 characters. Correct or omit it.")
    return value.strip()


def _created_at(data: dict[str, Any]) -> datetime | None:
    value = data.get("created_at")
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnusableLineError(
            "created_at",
            "Line {line}: {field} is not a moment in ISO 8601, such as 2026-05-01T09:00:00Z. Correct it.",
        ) from error


def _split(data: dict[str, Any]) -> Split | None:
    value = data.get("split")
    if value is not None and value not in _SPLITS:
        raise UnusableLineError("split", "Line {line}: {field} is neither train nor held_out. Correct or omit it.")
    return cast(Split | None, value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
