"""Finds what must not stand in a rule: details of one case, secrets, injected instructions.

The patterns are in ``data/lexicon/patterns.toml``; what libraries know by its form is in ``quality_entities``.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import log2

from core.i18n import mark
from core.rules.lexicon import any_phrase, lexicon
from core.rules.quality_entities import known_entities

_OPAQUE = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}", re.ASCII)
_OPAQUE_BITS = 3.3
_NEGATION_REACH = 30
# "Never hesitate to send ..." asks for it.
_FLIP = re.compile(r"\b(?:hesitate|forget|fail|neglect|refuse|be afraid|only)\b|忘|犹豫|只|仅", re.IGNORECASE)
_APART = re.compile(r"\b[A-Za-z](?: [A-Za-z]){2,}\b", re.ASCII)
_LEET = re.compile(
    r"\b(?:(?=[a-z0-9]*[a-z]{2})(?=[a-z0-9]*[a-z][01345])[a-z0-9]{4,}|[01345][a-z]{2}[a-z0-9]+)\b",
    re.IGNORECASE | re.ASCII,
)
_LETTER_OF = str.maketrans("01345", "oieas")


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
    disguised = _undisguised(text)
    for pattern in _patterns():
        readings = (text, disguised) if disguised and pattern.detector == "injection" else (text,)
        hits = (match for reading in readings for match in pattern.expression.finditer(reading))
        hit = next((match for match in hits if not _passes(pattern, match)), None)
        if hit is not None:
            yield Hit(pattern.detector, pattern.what, hit.group().strip())
    for what, found in known_entities(text):
        yield Hit("secret", what, found)
    for match in _OPAQUE.finditer(text):
        if looks_random(match.group()):
            yield Hit("secret", mark("a random-looking string"), match.group())
            break


def looks_random(word: str) -> bool:
    """Tell a key or token from a long name: digits among letters, and many bits per character (Shannon)."""
    if not (re.search(r"\d", word) and re.search(r"[A-Za-z]", word)):
        return False
    counts = Counter(word)
    bits = -sum(n / len(word) * log2(n / len(word)) for n in counts.values())
    changes = len(re.findall(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d", word))
    return bits >= _OPAQUE_BITS and changes >= 3


def _undisguised(text: str) -> str:
    """Undo letters set apart ("i g n o r e") and digits for letters ("1gn0re"); '' if there are none."""
    plain = _APART.sub(lambda match: match.group().replace(" ", ""), text)
    plain = _LEET.sub(lambda match: match.group().translate(_LETTER_OF), plain)
    return plain if plain != text else ""


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
    if not pattern.unless_negated:
        return False
    before = match.string[max(0, match.start() - _NEGATION_REACH) : match.start()]
    clause = re.split(r"[.;。；,，]", before)[-1]
    negations = list(_negations().finditer(clause))
    return bool(negations) and _FLIP.search(clause, negations[-1].end()) is None
