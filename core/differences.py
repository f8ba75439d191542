"""Where two texts differ, word by word; in Chinese, character by character."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
_WORD = re.compile(rf"\s*(?:[{_CJK}]|[^\W{_CJK}]+(?:['’-][^\W{_CJK}]+)*|\S)|\s+$")


@dataclass(frozen=True)
class Piece:
    """A run of words, with the space before them. ``differs``: the other text has others in this place."""

    text: str
    differs: bool


def word_differences(first: str, second: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Cut two texts into runs that they share and runs that they do not; joined again they are the texts."""
    a, b = _WORD.findall(first), _WORD.findall(second)
    matcher = SequenceMatcher(None, [word.strip() for word in a], [word.strip() for word in b])
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        for pieces, words in ((left, a[a_from:a_to]), (right, b[b_from:b_to])):
            if words:
                pieces.append(Piece("".join(words), kind != "equal"))
    return tuple(left), tuple(right)
