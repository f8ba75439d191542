"""Which of two steps an action wants first, in English and Chinese.

"Test before committing", "first test, then commit", "do not commit until the tests pass" and "先测试，再提交" all
want the test first. Nothing is said about steps that are merely listed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.rules.lexicon import normalise
from core.rules.terms import comparable, overlap, terms

_SAME_STEP = 0.5
_NOT = r"(?:do not|don't|never|must not|should not|cannot)"
_CJK_NOT = r"(?:不要|不得|不能|不可|不应|不许|禁止|切勿|别)"


def _patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(source, re.IGNORECASE) for source in sources)


# The first that matches is taken, so the more telling ones stand first.
_ORDERS = _patterns(
    rf"\b{_NOT}\b(?P<late>[^.;]+?)\b(?:before|until|unless|prior to|without)\b(?P<early>[^.;,]+)",
    r"(?P<late>[^.;,]*)\bonly (?:after|once|when|if)\b(?P<early>[^.;,]+)",
    r"^\s*(?:after|once)\b(?P<early>[^.;,]+),(?P<late>[^.;]+)",
    r"^\s*(?:before|prior to)\b(?P<late>[^.;,]+),(?P<early>[^.;]+)",
    r"(?P<early>[^.;]+?)\b(?:before|prior to)\b(?P<late>[^.;,]+)",
    r"(?P<early>[^.;]+?)\b(?:then|afterwards)\b(?P<late>[^.;,]+)",
    r"(?P<late>[^.;,]+)\bafter\b(?P<early>[^.;,]+)",
)
_CJK_ORDERS = _patterns(
    rf"(?:除非|没有|未经|未)(?P<early>[^。;,]+?),?(?:否则|不然|就)?{_CJK_NOT}(?P<late>[^。;,]+)",
    rf"{_CJK_NOT}在?(?P<early>[^。;,]+?)(?:之前|以前|前)就?(?P<late>[^。;,]+)",
    r"先(?P<early>[^。;]+?),?(?:然后|之后|随后|再|才|后(?![续台端果]))再?(?P<late>[^。;,]+)",
    r"(?P<late>[^。;,]+?)(?:之前|以前|(?<![当目提])前),?(?:就|先|要|应|须|必须|务必)?(?P<early>[^。;,]+)",
    r"(?:只有|等到?|待)?(?P<early>[^。;,]+?)(?:之后|以后|后|时),?(?:再|才能?|方可|即可)(?P<late>[^。;,]+)",
)


@dataclass(frozen=True)
class Order:
    """Two steps by their terms, both never empty; ``early`` comes first."""

    early: frozenset[str]
    late: frozenset[str]


def orders_oppose(a: str, b: str) -> bool:
    """Tell whether two actions want the same two steps in opposite orders."""
    return any(
        _alike(x.early, x.late, y.late, y.early) > _alike(x.early, x.late, y.early, y.late) for x, y in _both(a, b)
    )


def orders_agree(a: str, b: str) -> bool:
    """Tell whether two actions want the same two steps in the same order."""
    return any(
        _alike(x.early, x.late, y.early, y.late) > _alike(x.early, x.late, y.late, y.early) for x, y in _both(a, b)
    )


@lru_cache(maxsize=20_000)
def order(action: str) -> Order | None:
    """Read the first order that an action gives."""
    text = normalise(action).replace("，", ",").replace("；", ";")
    for pattern in (*_CJK_ORDERS, *_ORDERS):
        match = pattern.search(text)
        if match is None:
            continue
        early, late = frozenset(terms(match["early"])), frozenset(terms(match["late"]))
        if early and late:
            return Order(early, late)
    return None


def _both(a: str, b: str) -> Iterator[tuple[Order, Order]]:
    first, second = order(a), order(b)
    if first is not None and second is not None:
        yield first, second


def _alike(a: frozenset[str], b: frozenset[str], to_a: frozenset[str], to_b: frozenset[str]) -> float:
    """Likeness of two pairs of steps, 0 unless both steps are alike."""
    # What both steps share ("deploy the code", "test the code") tells neither from the other.
    a, b, to_a, to_b = _apart(a, b) + _apart(to_a, to_b)
    likeness = min(overlap(*comparable(a, to_a)), overlap(*comparable(b, to_b)))
    return likeness if likeness >= _SAME_STEP else 0.0


def _apart(a: frozenset[str], b: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    return (a - b or a), (b - a or b)
