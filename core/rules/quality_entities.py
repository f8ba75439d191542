"""Finds secrets and personal data whose form a library knows, most of them by check digits.

Access keys and tokens come from detect-secrets, telephone numbers from phonenumbers, card, bank account and
national id numbers from python-stdnum. What none of them covers is in ``data/lexicon/patterns.toml``.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from phonenumbers import Leniency, PhoneNumberMatcher
from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.kr import rrn

from core.i18n import mark

_Find = Callable[[str], Iterator[str]]

_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])", re.ASCII)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![a-z])", re.ASCII)
_ID = re.compile(r"(?<![\w.-])[A-Z0-9]+(?:[ .-][0-9]+){0,5}(?:-?[A-Z])?(?![\w])", re.ASCII)
_ID_TYPES = (ric, dni, nie, nir, codicefiscale, rrn, cpf, idnr, aadhaar)
_MIN_ID = 9
# Numbers written without their country are read as of these ones, and need the grouping that is usual there.
_REGIONS = ("CN", "US", "GB", "DE", "JP")
_CN_MOBILE = re.compile(r"1[3-9]\d{9}", re.ASCII)
# Most texts hold nothing that could be a key or a telephone number: cheap signs spare the libraries' work.
_KEY_SIGNS = re.compile(r"[\w.+/=-]{16}|://|-----", re.ASCII)
_PHONE_SIGNS = re.compile(r"(?:\d[^\dA-Za-z]{0,3}){7}", re.ASCII)


def known_entities(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is found (English, translated where it is shown) and its text, at most one of each kind."""
    for what, find in _FINDERS:
        found = next(find(text), None)
        if found is not None:
            yield what, found


def _cards(text: str) -> Iterator[str]:
    return (match.group() for match in _CARD.finditer(text) if luhn.is_valid(re.sub(r"\D", "", match.group())))


def _accounts(text: str) -> Iterator[str]:
    # The number may run into a following word in capitals: the longest valid beginning counts.
    for match in _IBAN.finditer(text):
        words = match.group().split(" ")
        if any(iban.is_valid("".join(words[:n])) for n in range(len(words), 0, -1)):
            yield match.group()


def _ids(text: str) -> Iterator[str]:
    for match in _ID.finditer(text):
        word = match.group()
        if len(word) >= _MIN_ID and any(kind.is_valid(word) for kind in _ID_TYPES):
            yield word


def _phones(text: str) -> Iterator[str]:
    if _PHONE_SIGNS.search(text) is None:
        return
    yield from (match.raw_string for match in PhoneNumberMatcher(text, None, Leniency.VALID))
    for region in _REGIONS:
        for match in PhoneNumberMatcher(text, region, Leniency.STRICT_GROUPING):
            if not match.raw_string.isdecimal() or (region == "CN" and _CN_MOBILE.fullmatch(match.raw_string)):
                yield match.raw_string


def _keys(text: str) -> Iterator[str]:
    if _KEY_SIGNS.search(text) is None:
        return
    for find in _key_finders():
        yield from find(text)


@cache
def _key_finders() -> tuple[_Find, ...]:
    # Imported late, for it takes a third of a second.
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector
    from detect_secrets.plugins.ip_public import IPPublicDetector

    kinds: Iterable[type[Any]] = get_mapping_from_secret_type_to_class().values()
    # Addresses are matters of one case, not secrets, and have a pattern of their own.
    kinds = [kind for kind in kinds if issubclass(kind, RegexBasedDetector) and kind is not IPPublicDetector]
    return tuple(kind().analyze_string for kind in kinds)


_FINDERS: tuple[tuple[str, _Find], ...] = (
    (mark("a card number"), _cards),
    (mark("a bank account number"), _accounts),
    (mark("a national id number"), _ids),
    (mark("a phone number"), _phones),
    (mark("an access key"), _keys),
)
