"""The tools as the stand-in model sees them: every call it could make, and how telling each name's words are."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from core.llm.simulated.reading import stem

_LOOKING_WORDS = "query search list read check inspect get find look show describe calculate think view"
_LOOKING = frozenset(_LOOKING_WORDS.split())


@dataclass(frozen=True)
class Option:
    """One call the model could make: a tool and a choice for each of its arguments."""

    tool: str
    arguments: tuple[tuple[str, Any], ...]

    @property
    def looking(self) -> bool:
        """It looks and changes nothing, by its name."""
        return self.tool.split("_")[0] in _LOOKING

    @property
    def values(self) -> tuple[str, ...]:
        """The argument values as identifiers."""
        return tuple(str(value) for _, value in self.arguments)

    @property
    def names(self) -> frozenset[str]:
        """The tool and the argument values."""
        return frozenset([self.tool, *self.values])

    @property
    def main(self) -> str:
        """What the call is about: the first argument of an act, the tool of a look."""
        return self.tool if self.looking or not self.arguments else self.values[0]

    @property
    def place(self) -> str:
        """Where it is done: the last argument, if it is not what the call is about."""
        return self.values[-1] if self.values and self.values[-1] != self.main else ""


class Toolbox:
    """All options of a request.

    Args:
        options: the calls that can be made.
        text: what was said about them.
    """

    def __init__(self, options: tuple[Option, ...], text: str) -> None:
        self._text = text
        self.options = options
        self.identifiers = tuple(
            sorted({name for option in self.options for name in option.names if name}, key=len, reverse=True)
        )

    @cached_property
    def places(self) -> dict[str, frozenset[str]]:
        """Where a value can be used, as far as a description says so: "name (on this or that)"."""
        found = re.findall(r"(\w+) \(on ([a-z_ ,]+)\)", self._text)
        return {name: frozenset(re.split(r" or |, ", listed)) for name, listed in found}

    @cached_property
    def sensible(self) -> tuple[Option, ...]:
        """The options that no description rules out."""
        return tuple(
            option
            for option in self.options
            if not option.place or option.place in self.places.get(option.main, {option.place})
        )

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weigh each word by how few names have it."""
        counts: dict[str, int] = {}
        for name in self.identifiers:
            for word in words_of(name):
                counts[word] = counts.get(word, 0) + 1
        return {word: 1.0 / count for word, count in counts.items()}

    def affinity(self, name: str, seen: frozenset[str]) -> float:
        """Share of a name's words that were seen, by their weight, in [0, 1]."""
        words = words_of(name)
        total = sum(self.weights.get(word, 1.0) for word in words)
        return sum(self.weights.get(word, 1.0) for word in words & seen) / total if total else 0.0


@lru_cache(maxsize=64)
def _toolbox(text: str) -> Toolbox:
    functions = [tool["function"] for tool in json.loads(text)]
    return Toolbox(tuple(itertools.chain.from_iterable(_options(function) for function in functions)), text)


def read_tools(tools: Sequence[Mapping[str, Any]]) -> Toolbox:
    """Return the toolbox of a request; the same tools give the same one."""
    return _toolbox(json.dumps(tools))


@lru_cache(maxsize=5_000)
def words_of(name: str) -> frozenset[str]:
    """Return the stems of an identifier's words."""
    return frozenset(stem(word) for word in name.lower().split("_") if word)


def _options(function: Mapping[str, Any]) -> list[Option]:
    """Return all calls of a tool: every combination of its enumerated arguments; free ones stay empty."""
    properties: Mapping[str, Any] = function.get("parameters", {}).get("properties", {})
    choices = [[(name, value) for value in spec.get("enum", [""])] for name, spec in properties.items()]
    return [Option(function["name"], tuple(combination)) for combination in itertools.product(*choices)]
