"""Tells an action from an attitude, with the word lists of ``data/lexicon/vacuous.toml``.

It does not judge whether the action is a good one.
"""

import re
from functools import cache

from core.rules.lexicon import any_phrase, lexicon, normalise
from core.text import has_cjk

_CLAUSE_END = re.compile(
    r"[,.;:!?，。；：！？、\n]|\s[-–—]\s|\b(?:and|then|but|so that|before|after|until)\b", re.IGNORECASE
)
_CJK_CLAUSE_END = re.compile(r"[,.;:!?，。；：！？、\n]")
_IDENTIFIER = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|`[^`]+`|\b[a-z]+[A-Z][A-Za-z]+\b", re.ASCII)
_WORD = re.compile(r"[a-z0-9\u00df-\u024f][a-z0-9\u00df-\u024f'%-]*")
_CJK_CHARACTER = re.compile(r"[\u3400-\u9fff]")
_MIN_WORDS = 2
_MIN_CJK_CHARACTERS = 3


def is_vacuous(action: str) -> bool:
    """Tell whether no clause of an action says anything that could be done or left undone."""
    text = normalise(action)
    if has_cjk(text):
        if _phrases("zh", "sufficient").search(text):
            return False
        return not any(_is_concrete_cjk(clause) for clause in _CJK_CLAUSE_END.split(text))
    if _phrases("en", "sufficient").search(text):
        return False
    return not any(_is_concrete(clause) for clause in _CLAUSE_END.split(text))


def vacuous_phrases(action: str) -> list[str]:
    """Return the attitudes that an action names, as written."""
    text = normalise(action)
    language = "zh" if has_cjk(text) else "en"
    return [match.group() for match in _phrases(language, "attitudes").finditer(text)]


@cache
def _phrases(language: str, name: str) -> re.Pattern[str]:
    return any_phrase(lexicon("vacuous")[language][name])


@cache
def _words(name: str) -> frozenset[str]:
    words = frozenset(lexicon("vacuous")["en"][name])
    return words | frozenset(lexicon("vacuous")["other"]["words"]) if name == "empty" else words


def _is_concrete(clause: str) -> bool:
    if _IDENTIFIER.search(clause):
        return True
    rest, attitudes = _phrases("en", "attitudes").subn(" ", clause)
    words = _WORD.findall(rest.lower())
    substance = {word for word in words if word not in _words("empty")}
    verbs = [word for word in words if word in _words("verbs")]
    if verbs and substance - set(verbs):
        return True
    return not attitudes and len(substance) >= _MIN_WORDS


def _is_concrete_cjk(clause: str) -> bool:
    if _IDENTIFIER.search(clause):
        return True
    rest, attitudes = _phrases("zh", "attitudes").subn("", clause)
    without_verbs, verbs = _phrases("zh", "verbs").subn("", rest)
    substance = _phrases("zh", "empty").sub("", without_verbs)
    size = len(_CJK_CHARACTER.findall(substance)) + len(_WORD.findall(substance.lower()))
    if verbs and size >= _MIN_WORDS:
        return True
    return not attitudes and size >= _MIN_CJK_CHARACTERS
