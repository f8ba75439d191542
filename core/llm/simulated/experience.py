"""What the stand-in model reads of remembered decisions and of hints, and how it heeds them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.llm.simulated.dice import uniform
from core.llm.simulated.toolbox import Option
from core.settings import SimulationSettings

_MEMORY = re.compile(r"^\[M\d+\] (\w+\([^)\n]*\)) returned ([+-]\d+\.\d+); the episode: (.*?)(?:\. Seen then:|$)", re.M)
_ENDED = re.compile(r"(pass|fail) at .*\[(\w+\([^)\n]*\))\]")
_HINT = re.compile(r"^\[H\] (.*)$", re.M)
_PREFERENCE = re.compile(r"(\w+\([^)\n]*\)) ([+-]\d+\.\d+)")
_CALL = re.compile(r"(\w+)\(([^)]*)\)$")
_WORTH = 0.25
"""Mean from which on, or below the negative of which, what was told sways it."""


@dataclass(frozen=True)
class Experience:
    """Mean of what was told about each option, in about [-1, 1], and by how many lines."""

    told: Mapping[Option, float] = field(default_factory=dict)
    lines: Mapping[Option, int] = field(default_factory=dict)

    def favoured(self, options: Sequence[Option]) -> Option | None:
        """Return the option of which most good was told, None if of none."""
        good = [option for option in options if self.told.get(option, 0.0) >= _WORTH]
        return max(good, key=lambda one: (self.told[one], self.lines[one], one.values), default=None)

    def without_bad(self, options: Sequence[Option]) -> list[Option]:
        """Leave out the options of which bad was told, unless that is all."""
        return [option for option in options if self.told.get(option, 0.0) > -_WORTH] or list(options)


def heeded(system: str, task: str, seed: str, settings: SimulationSettings) -> Experience:
    """Return the experience this model heeds in this task: of each option all that was told, or nothing."""
    told = read_experience(system)
    kept = {
        option: values
        for option, values in told.items()
        if uniform(seed, task, "heed", option.tool, option.values) < settings.follow_ends
    }
    return Experience(
        {option: sum(values) / len(values) for option, values in kept.items()},
        {option: len(values) for option, values in kept.items()},
    )


@lru_cache(maxsize=2_000)
def read_experience(system: str) -> Mapping[Option, tuple[float, ...]]:
    """Read what remembered decisions and hints say of each option."""
    told: dict[Option, list[float]] = {}
    for action, value, lesson in _MEMORY.findall(system):
        _note(told, action, float(value))
        ended = _ENDED.search(lesson)
        if ended is not None and ended[2] != action:
            _note(told, ended[2], 1.0 if ended[1] == "pass" else -1.0)
    for line in _HINT.findall(system):
        for action, value in _PREFERENCE.findall(line):
            _note(told, action, float(value))
    return {option: tuple(values) for option, values in told.items()}


def read_call(text: str) -> Option | None:
    """Read an action's name as a call; None if it is none."""
    match = _CALL.match(text.strip())
    if match is None:
        return None
    pairs = [part.partition("=") for part in match[2].split(", ")] if match[2] else []
    return Option(match[1], tuple((name.strip(), value) for name, _, value in pairs))


def _note(told: dict[Option, list[float]], action: str, value: float) -> None:
    option = read_call(action)
    if option is not None:
        told.setdefault(option, []).append(value)
