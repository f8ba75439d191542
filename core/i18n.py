"""The one translation function, and numbers, money and dates as each language writes them (section 12).

Catalogues are gettext ``.po`` files under ``data/locale``, compiled in memory; the English text is the key.
Text that is kept in a constant and translated later is wrapped in ``mark``, so that nothing escapes the check
for missing translations.
"""

import gettext
import io
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from babel import dates, numbers
from babel.messages import mofile, pofile

from core.errors import Messages, RulewrightError, Terms

LANGUAGES = {"en": "English", "zh": "中文"}
"""Languages offered, each under its own name."""

TOO_FEW = 10
"""Below this n a rate is not shown as a figure: too few to tell."""

_LOCALES = {"en": "en_US", "zh": "zh_CN"}
_CATALOGUES = Path(__file__).resolve().parent.parent / "data" / "locale"
_Unit = Literal["day", "hour", "minute", "second"]
_STEPS: tuple[tuple[_Unit, int], ...] = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def mark(text: str) -> str:
    """Return the text unchanged; tells the catalogue check that it will be translated where it is shown."""
    return text


def choose_language(*wishes: str | None) -> str:
    """Return the first wish that is offered: exactly, or by its base ('zh-TW' means 'zh'); else English."""
    for wish in wishes:
        base = (wish or "").replace("_", "-").split("-")[0].lower()
        if base in LANGUAGES:
            return base
    return "en"


class Translator:
    """Calls translate: ``t("Round {number}", number=3)``.

    Args:
        language: one of ``LANGUAGES``.
        timezone: in which moments are shown.
    """

    def __init__(self, language: str, timezone: tzinfo = UTC) -> None:
        self.language = language if language in LANGUAGES else "en"
        self.timezone = timezone
        self._locale = _LOCALES[self.language]
        self._catalogue = _catalogue(self.language)

    def __call__(self, template: str, /, **values: object) -> str:
        """Translate a template and fill its places; a text without translation stays English."""
        translated = self._catalogue.gettext(template) if template else ""
        return _fill(translated, values)

    def plural(self, one: str, many: str, n: int, **values: object) -> str:
        """Translate by number; the place ``{n}`` is filled with ``n`` as the language writes it."""
        return _fill(self._catalogue.ngettext(one, many, n), {"n": self.number(n), **values})

    def error(self, error: RulewrightError) -> str:
        """Say an error in this language."""
        return self._say(error.template, error.values)

    def message(self, stored: Mapping[str, Any]) -> str:
        """Say a stored message: ``template`` or ``message`` (English, with places) and its ``values``.

        The value ``what`` is an English text with a translation of its own.
        """
        template = str(stored.get("template") or stored.get("message") or "")
        return self._say(template, stored.get("values") or {})

    def _say(self, template: str, values: Mapping[str, object]) -> str:
        return self(template, **{name: self._value(name, value) for name, value in values.items()})

    def _value(self, name: str, value: object) -> object:
        if isinstance(value, Messages):
            return " ".join(self._say(item.template, item.values) for item in value.items)
        if isinstance(value, Terms):
            return ", ".join(self(word) for word in value.words)
        return self(value) if name == "what" and isinstance(value, str) else value

    def number(self, value: float | None, digits: int = 0) -> str:
        """Write a number with so many decimals; '–' for none."""
        if value is None:
            return "–"
        return _decimal(value, digits, self._locale)

    def signed(self, value: float | None, digits: int = 2) -> str:
        """Write a difference with its sign; '–' for none."""
        if value is None:
            return "–"
        # The sign comes from the text: Babel and round() do not round halves alike.
        text = self.number(abs(value), digits)
        shown = any(digit in text for digit in "123456789")
        return ("±" if not shown else "+" if value > 0 else "−") + text

    def probability(self, p: float | None) -> str:
        """Write a p-value with three decimals; very small ones as '< 0.001', '–' for none."""
        if p is not None and p < 0.001:
            return f"< {self.number(0.001, 3)}"
        return self.number(p, 3)

    def percent(self, share: float | None, digits: int = 0) -> str:
        """Write a share in [0, 1] as a percentage; '–' for none."""
        if share is None:
            return "–"
        pattern = "#,##0" + ("." + "0" * digits if digits else "") + "%"
        return str(numbers.format_percent(share, format=pattern, locale=self._locale))

    def money(self, usd: float | None, digits: int = 2) -> str:
        """Write US dollars; '–' for an unknown amount."""
        if usd is None:
            return "–"
        pattern = "¤#,##0." + "0" * digits
        return str(numbers.format_currency(usd, "USD", format=pattern, locale=self._locale, currency_digits=False))

    def moment(self, moment: datetime | None) -> str:
        """Write a date with its time to the minute, in this translator's time zone; '–' for none."""
        if moment is None:
            return "–"
        return str(dates.format_datetime(moment, "medium", tzinfo=self.timezone, locale=self._locale))

    def duration(self, length: timedelta | None) -> str:
        """Write a length of time in its one or two largest fitting units; '–' for none."""
        if length is None:
            return "–"
        seconds = max(0, int(length.total_seconds()))
        for index, (unit, size) in enumerate(_STEPS):
            if seconds >= size:
                parts = [self._unit(seconds // size, unit)]
                smaller, smaller_size = _STEPS[min(index + 1, len(_STEPS) - 1)]
                if seconds % size >= smaller_size:
                    parts.append(self._unit(seconds % size // smaller_size, smaller))
                return " ".join(parts)
        return self._unit(seconds, "second")

    def interval(self, value: float | None, low: float | None, high: float | None, n: int, digits: int = 2) -> str:
        """Write an estimate with its 95 % interval and n, e.g. ``0.62 (0.49–0.74, n = 60)``.

        Below ``TOO_FEW`` observations it says that they are too few to tell instead.
        """
        if value is None or n == 0:
            return self("no data yet")
        if n < TOO_FEW:
            return self("too few to tell (n = {n})", n=self.number(n))
        if low is None or high is None:
            return self("{value} (n = {n})", value=self.number(value, digits), n=self.number(n))
        return self(
            "{value} ({low}–{high}, n = {n})",
            value=self._plain(value, digits),
            low=self._plain(low, digits),
            high=self._plain(high, digits),
            n=self.number(n),
        )

    def _plain(self, value: float, digits: int) -> str:
        return ("−" if round(value, digits) < 0 else "") + self.number(abs(value), digits)

    def _unit(self, count: int, unit: _Unit) -> str:
        return str(dates.format_timedelta(_length(count, unit), granularity=unit, threshold=10**9, locale=self._locale))


@lru_cache(maxsize=50_000)  # tables of many rounds are written again at every refresh
def _decimal(value: float, digits: int, locale: str) -> str:
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return str(numbers.format_decimal(value, format=pattern, locale=locale))


def _length(count: int, unit: str) -> timedelta:
    return timedelta(**{f"{unit}s": count})


def _fill(template: str, values: Mapping[str, object]) -> str:
    return template.format_map(_Places(values)) if values or "{{" in template else template


class _Places(dict[str, object]):
    """Leaves unknown places as they are: a message with a missing value is still readable."""

    def __missing__(self, name: str) -> str:
        return "{" + name + "}"


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    path = _CATALOGUES / language / "LC_MESSAGES" / "rulewright.po"
    if language == "en" or not path.exists():
        return gettext.NullTranslations()
    with path.open("rb") as source:
        catalogue = pofile.read_po(source, locale=language)
    compiled = io.BytesIO()
    mofile.write_mo(compiled, catalogue)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
