"""Content terms of a text, the same in English and Chinese where the lexicon ``polarity`` knows the word.

Acts come out as names in capitals (``ROLLBACK``), known things as one word (``pool``), the rest as stems of
English words and pairs of Chinese characters.
"""

import re
from collections.abc import Collection
from functools import cache, lru_cache

from core.rules.lexicon import lexicon, normalise
from core.text import has_cjk

_PIECE = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[\u3400-\u9fff]+")
_LONGEST_PHRASE = 5
_GROUPS = ("actions", "qualities", "objects")


@lru_cache(maxsize=50_000)
def terms(text: str) -> tuple[str, ...]:
    """Return the content terms in their order, without stop words; repeats stay."""
    found: list[str] = []
    words: list[str] = []
    for match in _PIECE.finditer(normalise(text).lower().replace("_", " ")):
        if has_cjk(match.group()):
            found.extend(_english_terms(words))
            found.extend(_cjk_terms(match.group()))
            words = []
        else:
            words.append(match.group())
    return (*found, *_english_terms(words))


def acts(found: Collection[str]) -> frozenset[str]:
    """Return those of the terms that are known acts."""
    return _known_acts().intersection(found)


def overlap(a: Collection[str], b: Collection[str]) -> float:
    """Share of the smaller set that the larger one holds, in [0, 1]; 0 if either is empty."""
    first, second = set(a), set(b)
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


def jaccard(a: Collection[str], b: Collection[str]) -> float:
    """Shared terms over all terms, in [0, 1]; 0 if both are empty."""
    first, second = set(a), set(b)
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def comparable(a: Collection[str], b: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return what can be compared of two sets: across the languages, the terms that the lexicon knows in both."""
    first, second = frozenset(a), frozenset(b)
    if any(map(has_cjk, first)) == any(map(has_cjk, second)):
        return first, second
    return first & _known(), second & _known()


def stem(word: str) -> str:
    """Cut the endings of an English word so that its usual forms meet; not a dictionary form."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ied", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ied" else "")
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@cache
def _known_acts() -> frozenset[str]:
    return frozenset((*lexicon("polarity")["actions"], *lexicon("polarity")["qualities"]))


@cache
def _known() -> frozenset[str]:
    return _known_acts().union(lexicon("polarity")["objects"])


@cache
def _english_phrases() -> dict[tuple[str, ...], str]:
    return {
        tuple(stem(word) for word in phrase.lower().split()): name
        for group in _GROUPS
        for name, phrases in lexicon("polarity")[group].items()
        for phrase in phrases
        if not has_cjk(phrase)
    }


@cache
def _cjk_phrases() -> tuple[re.Pattern[str], dict[str, str]]:
    names = {
        phrase: name
        for group in _GROUPS
        for name, phrases in lexicon("polarity")[group].items()
        for phrase in phrases
        if has_cjk(phrase)
    }
    ordered = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))), names


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in lexicon("polarity")["stop_words"])


@cache
def _cjk_stops() -> re.Pattern[str]:
    ordered = sorted(lexicon("polarity")["stop_words_zh"], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)))


def _english_terms(words: list[str]) -> list[str]:
    stems = [stem(word) for word in words if word not in lexicon("polarity")["quantities"]]
    phrases, found, at = _english_phrases(), [], 0
    while at < len(stems):
        for size in range(min(_LONGEST_PHRASE, len(stems) - at), 0, -1):
            name = phrases.get(tuple(stems[at : at + size]))
            if name is not None:
                found.append(name)
                at += size
                break
        else:
            if stems[at] not in _stop_stems() and len(stems[at]) > 1:
                found.append(stems[at])
            at += 1
    return found


def _cjk_terms(run: str) -> list[str]:
    pattern, names = _cjk_phrases()
    found: list[str] = []
    at = 0
    for match in pattern.finditer(run):
        found.extend(_bigrams(run[at : match.start()]))
        found.append(names[match.group()])
        at = match.end()
    return found + _bigrams(run[at:])


def _bigrams(run: str) -> list[str]:
    return [piece[i : i + 2] for piece in _cjk_stops().split(run) if piece for i in range(max(1, len(piece) - 1))]
