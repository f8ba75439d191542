"""A scripted model for TextWorld: it follows a recipe that it has read, and is at a loss before.

It answers when it is asked for a letter, from the conversation alone. What a good player knows beyond that (read the
cookbook first, what is worth a command and what loses the game) can only come from rules and experience: remembered
decisions and rules that name a command sway it, and preferences are added to its log-probabilities. It reflects on
digests alone: what passing episodes did and failing ones did not.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.llm.simulated.dice import gumbel
from core.llm.simulated.digests import ReadDigest, read_digests, read_known
from core.settings import SimulationSettings

_CHOICE = re.compile(r"^([A-T])\) act\(command=(.+)\)$", re.MULTILINE)
_MEMORY = re.compile(r"^\[M\d+\] act\(command=([^)\n]+)\) returned ([+-]\d+\.\d+)", re.MULTILINE)
_RULE = re.compile(r"^\[R\d+\].*$", re.MULTILINE)
_RECIPE = re.compile(r"Ingredients:\s*(.*?)Directions:\s*(.*?)(?:\n\n|\Z)", re.DOTALL)
_HEAT = {"fry": "stove", "roast": "oven", "grill": "BBQ"}
_CUTS = ("chop", "slice", "dice")
_RIGHT, _MEAL, _WRONG, _AGAIN = 3.0, 5.0, -3.0, -1.5
_TOLD, _RULED = 2.0, 3.0
_MOST_LESSONS = 3
_POINT = "Your score has just gone up"


def letters(messages: Sequence[Mapping[str, Any]], seed: int, settings: SimulationSettings) -> dict[str, float]:
    """Return the log-probability of each letter that the last message offers."""
    del settings  # it has none; the stand-in whose place it takes has
    offered = dict(_CHOICE.findall(str(messages[-1].get("content") or "")))
    shown = [str(message.get("content") or "") for message in messages[:-1]]
    done = [text for text, message in zip(shown, messages, strict=False) if message["role"] == "assistant"]
    told = _told("\n".join(shown))
    logits = {
        letter: _liking(command, shown, done) + told.get(command, 0.0) + gumbel(seed, len(done), shown[-1], command)
        for letter, command in offered.items()
    }
    top = max(logits.values())
    total = top + math.log(sum(math.exp(value - top) for value in logits.values()))
    return {letter: value - total for letter, value in logits.items()}


def _liking(command: str, shown: Sequence[str], done: Sequence[str]) -> float:
    found = _RECIPE.search("\n".join(shown))
    known = _by_recipe(command, found[1].split("\n"), found[2]) if found else 0.0
    return known + _AGAIN * sum(f"command={command})" in text for text in done)


def _by_recipe(command: str, ingredients: Iterable[str], directions: str) -> float:
    if command == "prepare meal":
        return _RIGHT
    if command == "eat meal":
        return _MEAL
    food = next((name.strip() for name in ingredients if name.strip() and name.strip() in command), "")
    verb = command.split()[0]
    if verb in _CUTS:
        return _RIGHT if f"{verb} the {food}" in directions and food else _WRONG
    if verb == "cook":
        heat = next((tool for way, tool in _HEAT.items() if f"{way} the {food}" in directions and food), "")
        return _RIGHT if heat and heat in command else _WRONG
    if food:
        return _RIGHT if verb == "take" else _WRONG
    return 0.0


def _told(text: str) -> dict[str, float]:
    """Return what memories and rules say of each command they name."""
    returns: dict[str, list[float]] = {}
    for command, value in _MEMORY.findall(text):
        returns.setdefault(command, []).append(float(value))
    told = {command: _TOLD * sum(values) / len(values) for command, values in returns.items()}
    for line in _RULE.findall(text):
        for command in _named(line):
            told[command] = told.get(command, 0.0) + _RULED
    return told


def reflect(request: str, settings: SimulationSettings) -> dict[str, Any]:
    """Write a rule for commands that at least two passing digests show, and failing ones show less often.

    What earns a point by itself is no lesson: the recipe asks for it, and failing games did not come that far.
    """
    del settings
    digests = read_digests(request)
    passing = [digest for digest in digests if digest.passing]
    failing = [digest for digest in digests if not digest.passing]
    known = {command: label for label, text in read_known(request).items() for command in _named(text)}
    did, did_not, earned = _commands(passing), _commands(failing), _earning(passing)
    lead = {
        command: count / len(passing) - did_not[command] / max(1, len(failing))
        for command, count in did.items()
        if count >= 2 and command not in earned
    }
    best = sorted((command for command in lead if lead[command] > 0), key=lambda one: (-lead[one], one))
    operations = [_operation(command, known.get(command, ""), passing) for command in best[:_MOST_LESSONS]]
    return {"differences": [], "operations": operations}


def _commands(digests: Iterable[ReadDigest]) -> Counter[str]:
    """Count the digests that show a command whole."""
    return Counter(
        command
        for digest in digests
        for command in {value for call in digest.calls if call.complete for _, value in call.arguments}
    )


def _earning(digests: Iterable[ReadDigest]) -> set[str]:
    return {
        value for digest in digests for call in digest.calls if _POINT in call.result for _, value in call.arguments
    }


def _named(rule: str) -> list[str]:
    return re.findall(r"command=([^)\n]+)\)", rule)


def _operation(command: str, label: str, passing: Sequence[ReadDigest]) -> dict[str, Any]:
    return {
        "op": "UPVOTE" if label else "ADD",
        "target": label,
        "name": command,
        "condition": f"a game begins in which you can {command}",
        "action": f"call act(command={command}) first",
        "confidence": 0.8,
        "evidence": [digest.label for digest in passing],
    }
