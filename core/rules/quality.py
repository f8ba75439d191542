"""The deterministic check of a drafted rule, before anything is stored as a candidate (design section 3).

It judges the text alone; whether a rule helps is found out by verification and the gate.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from core.rules.lexicon import lexicon, normalise
from core.rules.quality_patterns import Hit, find_hits
from core.rules.quality_vacuous import is_vacuous, vacuous_phrases
from core.rules.wording import rule_units
from core.settings import RuleSettings
from core.tables.rules import RuleContent
from core.text import clip, hidden_characters

Severity = Literal["refuse", "shorten"]

# Greek and Cyrillic letters drawn like Latin ones; Δ, Ω, µ and the like are not among them.
_ALIKE = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανοικρτυχϲϳЀ-ЁЅІЈАВЕКМНОРСТУХЬасеорухкмгпѕіјѐёһԁԛԝӏ"
_MIXED_SCRIPT = re.compile(rf"\w*(?:[a-zA-Z][{_ALIKE}]|[{_ALIKE}][a-zA-Z])\w*")
_ALL_ALIKE = re.compile(rf"\b[{_ALIKE}]{{2,}}\b")
_OTHER_GREEK_CYRILLIC = re.compile(rf"(?![{_ALIKE}])[\u0386-\u03ab\u03ac-\u03bb\u03bd-\u03ce\u0400-\u052f]")
_COVERED = re.compile(r"\w*(?:[\u0334-\u0338\u0488\u0489]|[\u0300-\u036f]{3})[\w\u0300-\u036f]*")
_PLACEHOLDER = re.compile(
    r"(?:n/?a|tbd|to ?do|none|null|待定|待补充|无|暂无|略|同上|x{3,}|\.{3}|…|<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\})[.。]?",
    re.IGNORECASE,
)
_OPEN_BRACKET = re.compile(r"\([^()]*$")
_TEMPLATES = {
    "single_case": "It is tied to one case: it names {what} ({text}). Say it for every case of the kind.",
    "secret": "It holds {what} ({text}). Rules must not carry secrets or personal data.",
    "injection": "It looks like an injected instruction: {what} ({text}).",
}
_SHOWN = 60
_SHOWN_OF_SECRET = 4


@dataclass(frozen=True)
class Finding:
    """One objection to a draft.

    Attributes:
        detector: empty, unfinished, length, too_long, vacuous, single_case, secret, injection, hidden or confidence.
        template: English text with ``{name}`` places, the key of its translation; the value ``what``
            is English too and has a translation of its own.
        values: what goes into the places.
        severity: "refuse", or "shorten" for a text that goes back once to be made shorter.
    """

    detector: str
    template: str
    values: dict[str, object] = field(default_factory=dict)
    severity: Severity = "refuse"

    @property
    def refuses(self) -> bool:
        """True unless shortening the text would do."""
        return self.severity == "refuse"

    def __str__(self) -> str:
        return self.template.format(**self.values)


def check_quality(draft: RuleContent, settings: RuleSettings) -> list[Finding]:
    """Return all objections to a draft; an empty list lets it pass.

    The prompt text and the name are checked for details of one case; every text of the rule for secrets,
    injected instructions and hidden characters.
    """
    findings = list(_check_empty(draft))
    if not findings:
        findings.extend(_check_unfinished(draft))
        findings.extend(_check_length(draft, settings))
        findings.extend(_check_vacuous(draft))
    findings.extend(_check_hidden(draft))
    findings.extend(_check_patterns(draft))
    findings.extend(_check_confidence(draft, settings))
    return findings


def _check_empty(draft: RuleContent) -> Iterator[Finding]:
    for name in ("name", "condition", "action"):
        text = getattr(draft, name).strip()
        if not re.search(r"\w", text) or _PLACEHOLDER.fullmatch(text):
            yield Finding("empty", "The field {field} is empty.", {"field": name})


def _check_unfinished(draft: RuleContent) -> Iterator[Finding]:
    # A condition may end with the comma that its sentence goes on with.
    for text in (draft.condition.rstrip(" ,，"), draft.action, draft.exclusion):
        plain = normalise(text)
        cut = _unfinished_end().search(plain) or _OPEN_BRACKET.search(plain)
        if cut is not None:
            template = "It breaks off at “{text}”. Write the sentence to its end."
            yield Finding("unfinished", template, {"text": cut.group()})
            return


@cache
def _unfinished_end() -> re.Pattern[str]:
    words = lexicon("unfinished")
    latin, chinese = "|".join(words["latin"]), "|".join(words["chinese"])
    unless = "".join(f"(?<!{word})" for word in words["chinese_unless"])
    return re.compile(
        rf"(?:\S+\s+)?\b(?:{latin})[\s.,;:]*$|\S{{0,6}}(?:{chinese}){unless}[\s。,;:]*$|\S+\s*(?:[,，、]|\.{{3}}|…)\s*$",
        re.IGNORECASE,
    )


def _check_length(draft: RuleContent, settings: RuleSettings) -> Iterator[Finding]:
    units = rule_units(draft)
    if units < settings.min_units:
        yield Finding(
            "length",
            "It is a slogan: {units} length units, at least {limit} are needed.",
            {"units": units, "limit": settings.min_units},
        )
    elif units > settings.refuse_units:
        yield Finding(
            "length",
            "It is far too long: {units} length units, {limit} at most.",
            {"units": units, "limit": settings.refuse_units},
        )
    elif units > settings.max_units:
        yield Finding(
            "too_long",
            "It is too long: {units} length units. Send it back for shortening to {limit}.",
            {"units": units, "limit": settings.max_units},
            "shorten",
        )


def _check_vacuous(draft: RuleContent) -> Iterator[Finding]:
    if not is_vacuous(draft.action):
        return
    phrases = vacuous_phrases(draft.action)
    yield Finding(
        "vacuous",
        "It says an attitude, not an action ({text}). Say what to do, to what.",
        {"text": clip(", ".join(phrases) or draft.action, _SHOWN)},
    )


def _check_hidden(draft: RuleContent) -> Iterator[Finding]:
    text = "\n".join(_all_texts(draft))
    hidden = list(dict.fromkeys(hidden_characters(text)))
    if hidden:
        yield Finding("hidden", "It holds characters nobody can see: {characters}.", {"characters": ", ".join(hidden)})
    mixed = _MIXED_SCRIPT.search(text)
    if mixed is None and not _OTHER_GREEK_CYRILLIC.search(text):
        mixed = _ALL_ALIKE.search(text)
    if mixed:
        yield Finding("hidden", "The word {word} mixes alphabets to look like another.", {"word": mixed.group()})
    covered = _COVERED.search(unicodedata.normalize("NFC", text))
    if covered:
        yield Finding("hidden", "The word {word} is covered with marks that hide it.", {"word": covered.group()})


def _check_patterns(draft: RuleContent) -> Iterator[Finding]:
    shown = _shown_texts(draft)
    seen: set[tuple[str, str]] = set()
    for text in filter(None, _all_texts(draft)):
        for hit in find_hits(normalise(text)):
            if hit.detector == "single_case" and text not in shown:
                continue
            if (hit.detector, hit.what) not in seen:
                seen.add((hit.detector, hit.what))
                yield Finding(hit.detector, _TEMPLATES[hit.detector], {"what": hit.what, "text": _visible(hit)})


def _check_confidence(draft: RuleContent, settings: RuleSettings) -> Iterator[Finding]:
    if draft.confidence < settings.min_confidence:
        yield Finding(
            "confidence",
            "Its confidence is {confidence:.2f}, at least {limit:.2f} is needed.",
            {"confidence": draft.confidence, "limit": settings.min_confidence},
        )


def _all_texts(draft: RuleContent) -> tuple[str, ...]:
    return (*_shown_texts(draft), draft.rationale, draft.domain, *draft.tags)


def _shown_texts(draft: RuleContent) -> tuple[str, ...]:
    return (draft.name, draft.condition, draft.action, draft.exclusion)


def _visible(hit: Hit) -> str:
    if hit.detector == "secret":
        return hit.text[:_SHOWN_OF_SECRET] + "…"
    return clip(hit.text, _SHOWN)
