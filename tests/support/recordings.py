"""Recorded conversations for tests: where they are, and how to write more."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY_DESK = ROOT / "tests" / "data" / "library-desk.jsonl"


def airline_file() -> Path:
    """Return the 105 real conversations that lie beside the repository, or skip the test."""
    shared = Path(os.environ.get("RULEWRIGHT_SHARED", ROOT.parent / "shared"))
    path = shared / "trajectories" / "airline-gpt4o.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the real recordings are not here ({path}); set RULEWRIGHT_SHARED")
    return path


def call(call_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Make an assistant message with one tool call."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, content: str, **extra: Any) -> dict[str, Any]:
    """Make a tool's reply."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **extra}


def user(text: str) -> dict[str, Any]:
    """Make a user's message."""
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    """Make an assistant's utterance."""
    return {"role": "assistant", "content": text}


def line(**changes: Any) -> dict[str, Any]:
    """Make one good line of recorded episodes, with changes; a value of ``...`` removes the field."""
    data = {"id": "e1", "task_id": "t1", "trial": 0, "reward": 1.0, "messages": [user("Hello"), said("Hi")]}
    data |= changes
    return {name: value for name, value in data.items() if value is not ...}


def write_lines(path: Path, *lines: Any) -> Path:
    """Write lines as JSONL (a text is written as it is)."""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
