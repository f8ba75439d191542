"""Signs of displeasure in the user's words (design section 9), by the lists of ``data/lexicon/displeasure.toml``.

They only say that it is worth asking the judge. A sign that is missed leaves a normal ending what it is.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from core.episodes.trajectory import Messages, message_text
from core.rules.lexicon import any_phrase, lexicon, normalise
from core.text import has_cjk

_CLAUSE_END = re.compile(
    r"[.,;:!?，。；：！？、\n]+|\s[-–—]+\s|\b(?:but|although|though|because|so|and)\b|但是|但|不过|可是|却",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|(?<!\w)'[^'\n]*'(?!\w)|^\s*>.*$",
    re.DOTALL | re.MULTILINE,
)
_NEAR_WORDS = 3
_NEAR_CHARACTERS = 3
_WORD = re.compile(r"[\w']+")


def later_words(messages: Messages) -> list[str]:
    """Return what the user said after the first message, which is the task."""
    return [text for text in map(message_text, _users(messages)[1:]) if text.strip()]


def signs_of_displeasure(text: str) -> list[str]:
    """Return the signs that a text of the user's shows, as written, clause by clause; empty if there is none."""
    words = _QUOTED.sub(" ", normalise(text)).strip()
    agrees = _phrases(_language(words), "assents").match(words) is not None
    return [sign for clause in _CLAUSE_END.split(words) for sign in _signs(clause, agrees=agrees)]


def _users(messages: Messages) -> list[Mapping[str, Any]]:
    return [message for message in messages if message.get("role") == "user"]


def _signs(clause: str, *, agrees: bool) -> list[str]:
    language = _language(clause)
    spoken = _phrases(language, "harmless").sub(" ", clause)
    found = [
        match
        for kind in (("signs",) if agrees else ("signs", "wishes"))
        for match in _phrases(language, kind).finditer(spoken)
        if _phrases(language, "negations").search(_near(language, spoken[: match.start()])) is None
    ]
    found += _turns(language).finditer(spoken)
    return [one.group() for one in found if not _phrases(language, "possibilities").search(spoken[: one.start()])]


def _near(language: str, before: str) -> str:
    """Return the end of what stands before a sign, as far as a negation there takes it back."""
    return before[-_NEAR_CHARACTERS:] if language == "zh" else " ".join(_WORD.findall(before)[-_NEAR_WORDS:])


def _language(text: str) -> str:
    return "zh" if has_cjk(text) else "en"


@cache
def _phrases(language: str, name: str) -> re.Pattern[str]:
    return any_phrase(lexicon("displeasure")[language][name])


@cache
def _turns(language: str) -> re.Pattern[str]:
    return re.compile("|".join(lexicon("displeasure")[language]["turns"]), re.IGNORECASE)
