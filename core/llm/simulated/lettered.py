"""How the stand-in model answers when it is asked for the letter of an action: with log-probabilities."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.llm.simulated.acting import Situation, preferred, situation_of
from core.llm.simulated.experience import read_call
from core.llm.simulated.toolbox import Option, Toolbox
from core.settings import SimulationSettings

_CHOICE = re.compile(r"^([A-T])\) (.+)$", re.MULTILINE)
_RESULT = "Result: "
_SHARPNESS = 0.5  # how far its likings set letters apart


def letter_logprobs(messages: Sequence[Mapping[str, Any]], seed: int, settings: SimulationSettings) -> dict[str, float]:
    """Return the log-probability of each letter that the last message offers; empty if it offers none."""
    asked = str(messages[-1].get("content") or "")
    offered = {letter: read_call(text) for letter, text in _CHOICE.findall(asked)}
    options = {letter: option for letter, option in offered.items() if option is not None}
    if not options:
        return {}
    situation = _read(messages[:-1], tuple(options.values()), seed, settings)
    likings = preferred(situation, settings)
    logits = {letter: _SHARPNESS * likings[option] for letter, option in options.items()}
    top = max(logits.values())
    total = top + math.log(sum(math.exp(value - top) for value in logits.values()))
    return {letter: value - total for letter, value in logits.items()}


def _read(
    messages: Sequence[Mapping[str, Any]], options: tuple[Option, ...], seed: int, settings: SimulationSettings
) -> Situation:
    system = "\n".join(str(m.get("content") or "") for m in messages if m["role"] == "system")
    shown = [str(m.get("content") or "").removeprefix(_RESULT) for m in messages if m["role"] == "user"]
    calls = [
        (option, str(after.get("content") or "").removeprefix(_RESULT))
        for message, after in zip(messages, [*messages[1:], {}], strict=True)
        if message["role"] == "assistant" and (option := read_call(str(message.get("content") or ""))) is not None
    ]
    toolbox = Toolbox((*options, *(option for option, _ in calls)), system)
    situation = situation_of(system, shown, calls, toolbox, 0.0, seed, settings)
    return replace(situation, noisy=False)
