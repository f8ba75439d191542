"""Word lists and patterns of the checks of rules and of users' words, read from ``data/lexicon/*.toml``.

All texts are matched in lower case or by patterns that say their case themselves, after ``normalise``.
"""

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from core.text import has_cjk

_FOLDER = Path(__file__).resolve().parents[2] / "data" / "lexicon"


@cache
def lexicon(name: str) -> dict[str, Any]:
    """Return the content of ``data/lexicon/{name}.toml``."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))


@lru_cache(maxsize=20_000)
def normalise(text: str) -> str:
    """Fold full-width and other look-alike forms (NFKC), drop invisible characters, straighten quotes."""
    if text.isascii() and text.isprintable():
        return text
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")
    return "".join(char for char in folded if char in "\n\t" or unicodedata.category(char) not in ("Cf", "Cc"))


def any_phrase(phrases: list[str]) -> re.Pattern[str]:
    """Compile one pattern for a list of literal phrases, longest first.

    Latin phrases match whole words, with any white space between them; Chinese ones match anywhere.
    """
    ordered = sorted(phrases, key=len, reverse=True)
    return re.compile("|".join(_phrase(phrase) for phrase in ordered) or r"(?!)", re.IGNORECASE | re.ASCII)


def _phrase(phrase: str) -> str:
    body = r"\s+".join(re.escape(word) for word in phrase.split())
    return body if has_cjk(phrase) else rf"\b{body}\b"
