"""What a text prescribes and what it prohibits, in English and Chinese.

A shallow reading by cue words (``data/lexicon/polarity.toml``): it finds "do not restart", "instead of
restarting", "restarting does not help", "不要重启". Of double negation it knows the usual forms ("do not forget
to", "不仅"); it does not resolve irony or pronouns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal

from core.rules.lexicon import any_phrase, lexicon, normalise
from core.rules.terms import acts, terms
from core.text import has_cjk

Polarity = Literal[1, -1]

_CLAUSE_END = re.compile(r"[,.;:!?，。；：！？、\n]+|\b(?:and then|and|then|but|or else|otherwise)\b", re.IGNORECASE)
_CJK_SUBORDINATE = re.compile(
    r"(?P<lead>.*?)(?P<held>[^，。；]+?)(?:之前|以前|之后|以后|(?<![当目提])前(?=先|要|应|必须|务必|需|不|$)|(?<!之)后(?=再|才|立即|$))(?P<main>.*)"
)
_CJK_REQUIREMENT = re.compile(
    r".*?(?:未经|不经|没有经过|没有|除非|未)(?P<first>.+?)(?:否则|不然|就)?(?:不得|不要|不能|不可|禁止|不应|切勿|别)(?P<held>.+)"
)
_CJK_ONLY_AFTER = re.compile(r"(?:只有|必须)?(?P<first>.+?)(?:之后|以后|后|时)?(?:才能|才可以?|方可|才)(?P<held>.+)")
_CJK_UNLESS = re.compile(r"除非(?P<first>.+?)(?:否则|不然)(?P<held>.+)")
# A comma inside these would part what belongs together.
_CJK_JOINED = re.compile(r"((?:除非|没有|未经|只有)[^，,。；;]+)[，,](?=否则|不然|就|才|不得|不要|不能|不可|禁止|切勿)")
# "Never leave it unchecked" asks for the check.
_LEFT_UNDONE = re.compile(
    r"\b(?:do not|don't|never|must not)\s+leave\s+(?P<what>[^,.;]*?)\s*\bun(?P<done>\w+ed)\b", re.I
)
# "Reveal no details", "take no further action".
_VERB_NO = re.compile(r"\s*\w+\s+no\s", re.I)
# "不" and "别" make a prohibition of any verb, apart from the words they are only a part of.
_CJK_NOT = re.compile(
    r"(?:不(?![仅只断同足久过良明对光单少论管如了得一利])|(?<![特级区分识类性个])别(?![名的处人称]))(?=[\u3400-\u9fff]{2})"
)


@dataclass(frozen=True)
class Directive:
    """One thing that a text says to do or not to do.

    Attributes:
        polarity: 1 prescribes, -1 prohibits.
        terms: what it is about, see ``core.rules.terms``; never empty.
        conditional: holds only until or unless something else; "do not X before Y" prohibits X only so far.
    """

    polarity: Polarity
    terms: tuple[str, ...]
    conditional: bool = False

    @cached_property
    def act(self) -> str:
        """The act it is about: the first known one that says something by itself, else the first term."""
        known = acts(self.terms)
        generic = (*lexicon("polarity")["generic"]["acts"], *lexicon("polarity")["qualities"])
        ordered = [term for term in self.terms if term in known]
        return next((term for term in ordered if term not in generic), (ordered or self.terms)[0])

    @cached_property
    def objects(self) -> frozenset[str]:
        """What the act is applied to: all other terms."""
        return frozenset(self.terms) - {self.act}


@lru_cache(maxsize=20_000)
def directives(text: str) -> tuple[Directive, ...]:
    """Read the directives of an action, in their order."""
    found = [directive for clause in clauses(affirmed(text)) for directive in _read_clause(clause) if directive.terms]
    return tuple(more for directive in found for more in _with_refused_act(directive))


def clauses(text: str) -> list[str]:
    """Split a text at punctuation and at "and", "then", "but"."""
    joined = _CJK_JOINED.sub(r"\1", normalise(text))
    return [clause.strip() for clause in _CLAUSE_END.split(joined) if clause.strip()]


def affirmed(text: str) -> str:
    """Take out negations that prohibit nothing: "do not only X" and "do not forget to X" ask for X."""
    text = _LEFT_UNDONE.sub(r"\g<done> \g<what>", normalise(text))
    return _cues("no_prohibition").sub(" ", text)


@lru_cache(maxsize=20_000)
def is_negated(condition: str) -> bool:
    """Tell whether a condition says that something is not so."""
    return _cues("negations", "condition_negations").search(normalise(condition)) is not None


@cache
def _cues(*names: str) -> re.Pattern[str]:
    return any_phrase([phrase for name in names for phrase in lexicon("polarity")[name]])


def _read_clause(clause: str) -> Iterator[Directive]:
    contrast = _cues("contrasts").search(clause)
    if contrast:
        yield from _read_clause(clause[: contrast.start()])
        yield Directive(-1, terms(clause[contrast.end() :]))
        return
    useless = _cues("useless").search(clause)
    if useless:
        yield Directive(-1, terms(clause[: useless.start()]))
        return
    negation = _cues("negations").search(clause)
    if has_cjk(clause):
        negation = negation or _CJK_NOT.search(clause)
        yield from _read_cjk(clause, negation)
    else:
        yield from _read_english(clause, negation)


def _read_english(clause: str, negation: re.Match[str] | None) -> Iterator[Directive]:
    subordinate = _cues("subordinators").search(clause)
    if subordinate and negation and negation.start() > subordinate.start():
        negation = None  # the negation belongs to the subordinate clause
    main = clause[: subordinate.start()] if subordinate else clause
    nothing = _VERB_NO.match(main)
    if negation is None and nothing:
        yield Directive(-1, terms(main))
        return
    if negation is None:
        only = subordinate is not None and subordinate.group().lower() in lexicon("polarity")["only"]
        yield Directive(1, terms(main), conditional=only)
        if only and subordinate:
            yield Directive(1, terms(clause[subordinate.end() :]))
        return
    if negation.group().lower() in ("without", "never without"):
        yield Directive(1, terms(main[: negation.start()]))
        yield Directive(-1, terms(main[negation.end() :]))
        return
    inner = re.search(r"\bwithout\b", main[negation.end() :], re.IGNORECASE)
    prohibited = main[negation.end() :][: inner.start()] if inner else main[negation.end() :]
    yield Directive(-1, terms(prohibited), conditional=bool(subordinate or inner))
    if inner:
        yield Directive(1, terms(main[negation.end() + inner.end() :]))
    elif subordinate and subordinate.group().lower() in lexicon("polarity")["requirements"]:
        yield Directive(1, terms(clause[subordinate.end() :]))


def _with_refused_act(directive: Directive) -> Iterator[Directive]:
    """Add to "refuse the refund" that it prohibits the refund."""
    yield directive
    refused = tuple(term for term in directive.terms if term != directive.act)
    if directive.polarity == 1 and directive.act in lexicon("polarity")["refusing"]["acts"] and acts(refused):
        yield Directive(-1, refused, directive.conditional)


def _read_cjk(clause: str, negation: re.Match[str] | None) -> Iterator[Directive]:
    unless = _CJK_UNLESS.fullmatch(clause)
    if negation is None and unless:
        yield Directive(1, terms(unless["held"]), conditional=True)
        return
    only = _CJK_ONLY_AFTER.fullmatch(clause)
    if negation is None and only:
        yield Directive(1, terms(only["held"]), conditional=True)
        yield Directive(1, terms(only["first"]))
        return
    if negation is None:
        held = _CJK_SUBORDINATE.fullmatch(clause)
        yield Directive(1, terms(held["main"]) if held and held["main"] else terms(clause))
        return
    requirement = _CJK_REQUIREMENT.fullmatch(clause)
    if requirement:
        yield Directive(-1, terms(requirement["held"]), conditional=True)
        yield Directive(1, terms(requirement["first"]))
        return
    before, after = clause[: negation.start()], clause[negation.end() :]
    held = _CJK_SUBORDINATE.fullmatch(after)
    if held and held["main"]:
        yield Directive(-1, terms(held["main"]), conditional=True)
        yield Directive(1, terms(held["held"]))
        return
    lead = _CJK_SUBORDINATE.fullmatch(before)
    if lead is None and terms(before) and acts(terms(before)):
        yield Directive(1, terms(before))
    yield Directive(-1, terms(after), conditional=lead is not None)
    if lead:
        yield Directive(1, terms(lead["held"]))
