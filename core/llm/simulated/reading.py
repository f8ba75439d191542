"""How the stand-in model reads: words, rules, directives. Text in, text structures out; nothing else."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.text import search_terms

_APPLIES = 0.6  # share of the terms of a condition's part that have to be seen
_STOP_WORDS = (
    "a an and are as at be been before but by can do does for from had has have if in into is it its no "
    "not of on or other over same should so than that the their then there these they this to too under "
    "up was were when where which while who will with without you your only still again after all any "
    "both each more most very says say shows show reports report alert task"
)
_STOP = frozenset(_STOP_WORDS.split())
_NEGATION = re.compile(
    r"\b(?:not|never|avoid|don't|instead of|rather than|without|no longer|refrain from)\b"
    r"|不要|不得|禁止|避免|而不是|切勿|无需"
)
_RULE_LINE = re.compile(r"^\[R(\d+)\] (.+)$", re.MULTILINE)
_WHEN = re.compile(r"^\s*when\s+", re.IGNORECASE)
_SHOWS = re.compile(r"\b\w+ on the \w+ shows\b")
_GOES_ON = re.compile(r"(?:and|or|while|with|且|或)\b")
_EXCEPT = re.compile(r"(?:\.\s*Except\b|例外[:：])", re.IGNORECASE)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Cut common English endings, so that 'climbing' meets 'climbs'."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=20_000)
def content_terms(text: str) -> frozenset[str]:
    """Return the stems that carry meaning."""
    return frozenset(stem(term) for term in search_terms(text) if term not in _STOP and not term.isdigit())


def coverage(needed: frozenset[str], seen: frozenset[str]) -> float:
    """Share of the needed terms that were seen; 0 if none are needed."""
    return len(needed & seen) / len(needed) if needed else 0.0


@dataclass(frozen=True)
class ReadRule:
    """A rule as read from a prompt.

    Attributes:
        text: the whole line.
        condition: terms of its condition: all of the parts, of each part one of the alternatives.
        looks: identifiers its condition names, where to look.
        exclusion: terms of its exclusion.
        wants: identifiers it prescribes, in order.
        forbids: identifiers it prohibits.
        at_end: it stands among the first or the last three lines.
    """

    text: str
    condition: tuple[tuple[frozenset[str], ...], ...]
    looks: frozenset[str]
    exclusion: frozenset[str]
    wants: tuple[str, ...]
    forbids: frozenset[str]
    at_end: bool

    def match(self, seen: frozenset[str]) -> float:
        """How far its condition has come up, in [0, 1]."""
        parts = self._coverages(seen)
        return sum(parts) / len(parts) if parts else 0.0

    def holds(self, seen: frozenset[str]) -> bool:
        """Whether every part of its condition has come up."""
        return min(self._coverages(seen), default=0.0) >= _APPLIES

    def _coverages(self, seen: frozenset[str]) -> list[float]:
        return [max(coverage(terms, seen) for terms in part) for part in self.condition]

    @property
    def terms(self) -> frozenset[str]:
        """All terms of the condition."""
        return frozenset(term for part in self.condition for terms in part for term in terms)


@lru_cache(maxsize=2_000)
def read_rules(system: str, identifiers: tuple[str, ...]) -> tuple[ReadRule, ...]:
    """Read the rule lines of a system prompt, each distinct rule once; identifiers come longest first."""
    lines = [match.group(2) for match in _RULE_LINE.finditer(system)]
    ends = {*lines[:3], *lines[-3:]}
    return tuple(read_rule(line, identifiers, at_end=line in ends) for line in dict.fromkeys(lines))


@lru_cache(maxsize=20_000)
def read_rule(text: str, identifiers: tuple[str, ...], *, at_end: bool = True) -> ReadRule:
    """Split a rule's text into its condition and what it wants done."""
    body, _, exclusion = _partition(text, _EXCEPT)
    condition, action = split_condition(body, identifiers)
    wants, forbids = directives(action, identifiers)
    looks = frozenset(name for _, name in mentions(condition, identifiers))
    parts = tuple(parts_of(_SHOWS.sub(" ", _WHEN.sub("", condition))))
    return ReadRule(text, parts, looks, content_terms(exclusion), wants, forbids, at_end)


def parts_of(condition: str) -> Iterator[tuple[frozenset[str], ...]]:
    """Take a condition apart: what has to hold together, and the alternatives of each."""
    for part in re.split(r",\s+and\s+|，且|，并且", condition):
        terms = tuple(content_terms(alternative) for alternative in re.split(r",?\s+or\s+|或者|或", part))
        if any(terms):
            yield tuple(alternative for alternative in terms if alternative)


def split_condition(body: str, identifiers: tuple[str, ...]) -> tuple[str, str]:
    """Cut at the first comma (or 时，) behind which a clause names something to do."""
    for match in re.finditer(r",\s|时，|，|:\s|：", body):
        clause = re.split(r"[,，.。;；]", body[match.end() :], maxsplit=1)[0]
        if mentions(clause, identifiers) and not _GOES_ON.match(clause):
            return body[: match.start()], body[match.end() :]
    found = mentions(body, identifiers)
    if not found:
        return body, ""
    return body[: found[0][0]], body[found[0][0] :]


def split_rule(text: str) -> tuple[str, str]:
    """Split a rule in the stand-in's own wording into condition and action, without its exclusion."""
    body, _, _ = _partition(_WHEN.sub("", text.strip()), _EXCEPT)
    cut = re.search(r",\s+(?=(?:call|apply)\b)", body) or re.search(r",\s+", body)
    if cut is None:
        return body.rstrip("."), ""
    return body[: cut.start()], body[cut.end() :].rstrip(".")


def directives(action: str, identifiers: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the identifiers an action prescribes, in order, and those it prohibits."""
    wants: list[str] = []
    forbids: set[str] = set()
    for clause in re.split(r"[,，;；.。]|\bthen\b|再", action):
        negation = _NEGATION.search(clause.lower())
        for position, name in mentions(clause, identifiers):
            if negation and position > negation.start():
                forbids.add(name)
            else:
                wants.append(name)
    return tuple(dict.fromkeys(wants)), frozenset(forbids - set(wants))


def mentions(text: str, identifiers: tuple[str, ...]) -> list[tuple[int, str]]:
    """Find the identifiers in a text, also when written with spaces, as (position, identifier)."""
    lowered = text.lower()
    found: list[tuple[int, str]] = []
    taken: list[tuple[int, int]] = []
    for name in identifiers:
        for match in _identifier_pattern(name).finditer(lowered):
            if all(match.end() <= start or match.start() >= end for start, end in taken):
                taken.append(match.span())
                found.append((match.start(), name))
    return sorted(found)


@lru_cache(maxsize=5_000)
def _identifier_pattern(name: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in name.lower().split("_") if word]
    return re.compile(r"(?<![a-z0-9_])" + r"[_\s-](?:the\s)?".join(words) + r"(?![a-z0-9_])")


def _partition(text: str, pattern: re.Pattern[str]) -> tuple[str, str, str]:
    match = pattern.search(text)
    if match is None:
        return text, "", ""
    return text[: match.start()], match.group(), text[match.end() :]
