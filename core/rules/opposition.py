"""Whether two rules speak of the same case, and whether they ask for opposite things in it.

Shared by the checks for duplicates and for conflicts; embeddings come in as finished cosines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from core.rules.lexicon import any_phrase, lexicon, normalise
from core.rules.order import orders_agree, orders_oppose
from core.rules.polarity import Directive, directives, is_negated
from core.rules.terms import acts, comparable, jaccard, overlap, terms
from core.rules.wording import condition_text
from core.tables.rules import RuleContent
from core.text import has_cjk

_ALIKE_JACCARD = 0.5
_ALIKE_OVERLAP = 0.8
_NEGATED_JACCARD = 0.5
_CARVED_OUT = 0.6
_SAME_OBJECTS = 0.5
_LONGEST_DIFFERENCE = 3
_LEAST_COMMON = 3
_ARTICLES = frozenset({"a", "an", "the"})
_PIECE = re.compile(r"[a-z0-9'-]+|[\u3400-\u9fff]")
_EVERYWHERE = frozenset({"user", "service"})


@dataclass(frozen=True)
class Opposition:
    """Two directives that cannot both be followed.

    Attributes:
        kind: "polarity" (one prescribes what the other prohibits), "antonym" (opposite acts) or "order" (the
            same steps the other way round).
        sure: both hold without reservation, for the same objects.
    """

    kind: Literal["polarity", "antonym", "order"]
    sure: bool


def conditions_alike(a: RuleContent, b: RuleContent, cosine: float, threshold: float) -> bool:
    """Tell whether two rules have the same condition: near in meaning, or nearly the same words."""
    if cosine >= threshold:
        return True
    first, second = comparable(_condition_terms(a), _condition_terms(b))
    if jaccard(first, second) >= _ALIKE_JACCARD:
        return True
    return min(len(first), len(second)) > 1 and overlap(first, second) >= _ALIKE_OVERLAP


def conditions_exclude(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether two conditions cannot hold together, however near in meaning they are.

    They name different values of one kind ("rising", "falling"), one negates the other, or one rule's
    exclusion leaves the other's case to it.
    """
    first, second = condition_text(a), condition_text(b)
    if any(_one_value(name, first, second) for name in range(len(lexicon("polarity")["exclusive"]))):
        return True
    if is_negated(first) != is_negated(second) and jaccard(terms(first), terms(second)) >= _NEGATED_JACCARD:
        return True
    return _carves_out(a.exclusion, second) or _carves_out(b.exclusion, first)


def conditions_differ_in_a_word(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether two conditions are the same text but for one piece, which makes another case of it.

    "A test fails on the main branch" and "a test fails on a feature branch". Two wordings of one case rarely
    differ in a single place, unless by words that the lexicon knows as the same.
    """
    first, second = _PIECE.findall(condition_text(a).lower()), _PIECE.findall(condition_text(b).lower())
    first, second = ([piece for piece in text if piece not in _ARTICLES] for text in (first, second))
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    end = next((at for at in range(shorter - start) if first[-1 - at] != second[-1 - at]), shorter - start)
    only_first, only_second = first[start : len(first) - end], second[start : len(second) - end]
    if not only_first or not only_second or max(len(only_first), len(only_second)) > _LONGEST_DIFFERENCE:
        return False
    if start + end < max(_LEAST_COMMON, len(only_first), len(only_second)):
        return False
    if frozenset((" ".join(only_first), " ".join(only_second))) in _contrary_words():
        return True
    gap = "" if has_cjk(condition_text(a)) else " "
    mine, theirs = terms(gap.join(only_first)), terms(gap.join(only_second))
    return bool(mine and theirs) and set(mine) != set(theirs)


def find_opposition(a: RuleContent, b: RuleContent) -> Opposition | None:
    """Find the surest opposition between two actions, whatever their conditions; None if they agree."""
    if orders_oppose(a.action, b.action):
        return Opposition("order", sure=True)
    if orders_agree(a.action, b.action):
        return None
    found = list(_oppositions(directives(a.action), directives(b.action)))
    return max(found, key=lambda opposition: opposition.sure, default=None)


def one_prohibits(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether only one of two actions prohibits, and that about something the other one asks for.

    A suspicion, whatever the acts are called: "share the link" and "never hand out the link".
    """
    first, second = directives(a.action), directives(b.action)
    return _suspect(first, second) or _suspect(second, first)


def are_reconciled(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether one rule first does what the other makes its prohibition depend on.

    "Do not restart before reading the logs" goes with "read the logs, then restart".
    """
    if orders_agree(a.action, b.action):
        return True
    first, second = directives(a.action), directives(b.action)
    return any(
        held.polarity == -1 and _is_met(held, own, other)
        for own, other in ((first, second), (second, first))
        for held in own
    )


def same_objects(a: frozenset[str], b: frozenset[str]) -> bool:
    """Tell whether two sets of objects may be the same; one that names none may mean any."""
    first, second = comparable(a, b)
    return not first or not second or overlap(first, second) >= _SAME_OBJECTS


def _suspect(held: tuple[Directive, ...], other: tuple[Directive, ...]) -> bool:
    if any(directive.polarity == -1 for directive in other):
        return False
    prohibited = [directive for directive in held if directive.polarity == -1 and not directive.conditional]
    pairs = (comparable(no.terms, yes.terms) for no in prohibited for yes in other if not yes.conditional)
    return any(overlap(*pair) >= _SAME_OBJECTS for pair in pairs)


def _condition_terms(rule: RuleContent) -> tuple[str, ...]:
    return terms(condition_text(rule))


def _oppositions(first: tuple[Directive, ...], second: tuple[Directive, ...]) -> Iterator[Opposition]:
    for a in first:
        for b in second:
            if a.conditional and b.conditional:
                continue  # both hold the act back
            if _is_met(a, first, second) or _is_met(b, second, first):
                continue
            kind = _opposed(a, b, first, second)
            if kind is not None:
                named = bool(a.objects and b.objects) or a.objects == b.objects
                yield Opposition(kind, named and not (a.conditional or b.conditional))


def _opposed(
    a: Directive, b: Directive, first: tuple[Directive, ...], second: tuple[Directive, ...]
) -> Literal["polarity", "antonym"] | None:
    if a.polarity != b.polarity:
        wanted, held = (a, b) if a.polarity == 1 else (b, a)
        return "polarity" if _prohibits(held, wanted) else None
    if a.polarity != 1:
        return None
    mine, theirs = acts(a.terms), acts(b.terms)
    for x, y in ((x, y) for x in mine - theirs for y in theirs - mine if frozenset((x, y)) in _antonyms()):
        things = frozenset(a.terms) - {x, y}, frozenset(b.terms) - {x, y}
        both = _asks_for(second, x, things[0]) or _asks_for(first, y, things[1])
        if same_objects(*things) and not both:
            return "antonym"
    return None


def _prohibits(held: Directive, wanted: Directive) -> bool:
    if held.act == wanted.act:
        return same_objects(held.objects, wanted.objects)
    if held.act in lexicon("polarity")["using"]["acts"]:
        return len(frozenset.intersection(*comparable(held.objects, wanted.objects))) > 1
    # Chinese names place and means before the act, so the act need not be the first one of its directive.
    things = frozenset(wanted.terms) - {held.act}
    return held.act in acts(wanted.terms) and bool(held.objects) and same_objects(held.objects, things)


def _is_met(held: Directive, own: tuple[Directive, ...], other: tuple[Directive, ...]) -> bool:
    """Tell whether the other rule does first what a conditional directive asks for."""
    if not held.conditional:
        return False
    asked = [directive for directive in own if directive.polarity == 1 and directive is not held]
    done = [directive for directive in other if directive.polarity == 1]
    return any(a.act == d.act and same_objects(a.objects, d.objects) for a in asked for d in done)


def _asks_for(rule: tuple[Directive, ...], act: str, things: frozenset[str]) -> bool:
    return any(
        said.polarity == 1 and act in said.terms and same_objects(things, frozenset(said.terms) - {act})
        for said in rule
    )


@cache
def _contrary_words() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair) for pair in lexicon("polarity")["contrary_words"])


@cache
def _antonyms() -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair) for group in lexicon("polarity")["antonyms"] for pair in group["pairs"])


@cache
def _value_patterns(group: int) -> tuple[re.Pattern[str], dict[str, int]]:
    values = lexicon("polarity")["exclusive"][group]["values"]
    index = {phrase: number for number, phrases in enumerate(values) for phrase in phrases}
    return any_phrase(list(index)), index


@lru_cache(maxsize=50_000)
def _values(group: int, text: str) -> frozenset[int]:
    pattern, index = _value_patterns(group)
    hits = (" ".join(match.group().lower().split()) for match in pattern.finditer(normalise(text)))
    return frozenset(index[hit] for hit in hits)


def _one_value(group: int, first: str, second: str) -> bool:
    a, b = _values(group, first), _values(group, second)
    return len(a) == 1 and len(b) == 1 and a != b


def _carves_out(exclusion: str, condition: str) -> bool:
    left_out = set(terms(exclusion)) - _EVERYWHERE
    return bool(left_out) and len(left_out & set(terms(condition))) / len(left_out) >= _CARVED_OUT
