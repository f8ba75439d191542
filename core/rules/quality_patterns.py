"""Finds what must not stand in a rule: details of one case, secrets, injected instructions.

The patterns are in ``data/lexicon/patterns.toml``; card numbers and random-looking strings are computed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import log2

from core.rules.lexicon import any_phrase, lexicon

_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])", re.ASCII)
_OPAQUE = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}", re.ASCII)
_OPAQUE_BITS = 3.3
_NEGATION_REACH = 30


@dataclass(frozen=True)
class Hit:
    """One place in a text: the detector, what it is in words, and the text itself."""

    detector: str
    what: str
    text: str


@dataclass(frozen=True)
class _Pattern:
    detector: str
    what: str
    expression: re.Pattern[str]
    allowed: re.Pattern[str]
    unless_negated: bool


def find_hits(text: str) -> Iterator[Hit]:
    """Yield at most one hit per pattern in a normalised text."""
    for pattern in _patterns():
        hit = next((match for match in pattern.expression.finditer(text) if not _passes(pattern, match)), None)
        if hit is not None:
            yield Hit(pattern.detector, pattern.what, hit.group().strip())
    for match in _CARD.finditer(text):
        if passes_luhn(re.sub(r"\D", "", match.group())):
            yield Hit("secret", "a card number", match.group())
            break
    for match in _OPAQUE.finditer(text):
        if looks_random(match.group()):
            yield Hit("secret", "a random-looking string", match.group())
            break


def passes_luhn(digits: str) -> bool:
    """Check the check digit of a payment card number (ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def looks_random(word: str) -> bool:
    """Tell a key or token from a long name: digits among letters, and many bits per character (Shannon)."""
    if not (re.search(r"\d", word) and re.search(r"[A-Za-z]", word)):
        return False
    counts = Counter(word)
    bits = -sum(n / len(word) * log2(n / len(word)) for n in counts.values())
    changes = len(re.findall(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d", word))
    return bits >= _OPAQUE_BITS and changes >= 3


@cache
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(
        _Pattern(
            entry["detector"],
            entry["what"],
            re.compile("|".join(entry["any"]), re.ASCII if entry.get("case") else re.ASCII | re.IGNORECASE),
            re.compile(entry.get("unless", r"(?!)"), re.ASCII | re.IGNORECASE),
            entry.get("unless_negated", False),
        )
        for entry in lexicon("patterns")["pattern"]
    )


@cache
def _negations() -> re.Pattern[str]:
    return any_phrase(lexicon("polarity")["negations"])


def _passes(pattern: _Pattern, match: re.Match[str]) -> bool:
    if pattern.allowed.fullmatch(match.group().strip()):
        return True
    before = match.string[max(0, match.start() - _NEGATION_REACH) : match.start()]
    return pattern.unless_negated and _negations().search(re.split(r"[.;。；,，]", before)[-1]) is not None
