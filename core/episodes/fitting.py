"""Putting text into a token budget. All counts are those of ``core.text.estimate_tokens``.

An estimate never spans white space, so the estimates of words add up to the estimate of their line; that is
what makes an exact budget possible without trying out cuts.
"""

from collections.abc import Sequence

from core.text import estimate_tokens

_BREAKABLE_CHARS = 16


def fit(text: str, limit: int) -> str:
    """Return the text on one line, cut to at most ``limit`` tokens; a cut is marked by an ellipsis."""
    line = " ".join(text.split())
    if estimate_tokens(line) <= limit:
        return line
    if limit < 1:
        return ""
    kept: list[str] = []
    left = limit - 1
    for word in line.split(" "):
        cost = estimate_tokens(word)
        if cost > left:
            kept.append(_prefix(word, left) if len(word) > _BREAKABLE_CHARS else "")
            break
        kept.append(word)
        left -= cost
    return " ".join(kept).rstrip() + "…"


def _prefix(word: str, limit: int) -> str:
    low, high = 0, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(word[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return word[:low]


def fair_level(costs: Sequence[int], budget: int) -> int:
    """Return the largest cap (at most the largest cost) under which the capped costs fit the budget.

    Cheap items stay whole and the dear ones share what is left evenly; 0 if there is no room at all.
    """
    level, left = 0, max(0, budget)
    ordered = sorted(costs)
    for position, cost in enumerate(ordered):
        share = left // (len(ordered) - position)
        if cost > share:
            return share
        level = cost
        left -= cost
    return level


def spread(count: int) -> list[int]:
    """Return 0..count-1 in an order whose every beginning is spread evenly over the range."""
    bits = max(1, (count - 1).bit_length())
    order = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(2**bits))
    return [number for number in order if number < count]
