"""Which tools and argument values a rule's action names, and which of them it forbids."""

import re
from functools import cache, lru_cache

from core.rules.lexicon import any_phrase, lexicon, normalise
from core.rules.polarity import clauses


def prescribed_names(action: str, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return (prescribed, forbidden) identifiers; a name on both sides counts as prescribed.

    Args:
        action: of a rule; an identifier may be written with blanks ("restart the service").
        names: identifiers to look for, such as ``restart_service``. Words of a single part ("service") count
            only in an action that also names a compound one: alone they are everyday words.
    """
    prescribed: set[str] = set()
    forbidden: set[str] = set()
    for clause in clauses(action):
        cue = _cues().search(clause)
        for name in names:
            match = _pattern(name).search(clause)
            if match:
                (forbidden if cue and match.start() > cue.start() else prescribed).add(name)
    if not any("_" in name for name in prescribed | forbidden):
        return frozenset(), frozenset()
    return frozenset(prescribed), frozenset(forbidden - prescribed)


@lru_cache(maxsize=5_000)
def _pattern(name: str) -> re.Pattern[str]:
    parts = r"[_\s-](?:the\s)?".join(re.escape(part) for part in normalise(name).lower().split("_") if part)
    return re.compile(rf"(?<![a-z0-9_]){parts}(?![a-z0-9_])", re.IGNORECASE)


@cache
def _cues() -> re.Pattern[str]:
    cues = lexicon("polarity")
    return any_phrase([*cues["negations"], *cues["contrasts"]])
