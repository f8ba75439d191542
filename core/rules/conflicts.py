"""Finds rules that contradict a new one: the two detectors that need no model (design section 3).

The third one, the model's judgement of what is in doubt, is ``core.rules.judging``.

Pure functions over texts and vectors. Storing a conflict, and the mutex group that both rules share until it
is resolved, is the library's business.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from core.calibration import Thresholds
from core.rules.lexicon import lexicon
from core.rules.opposition import (
    are_reconciled,
    conditions_alike,
    conditions_differ_in_a_word,
    conditions_exclude,
    find_opposition,
    one_prohibits,
    same_objects,
)
from core.rules.polarity import affirmed, clauses
from core.rules.terms import acts, jaccard, overlap, terms
from core.rules.wording import condition_text
from core.tables.rules import Rule, RuleContent
from core.text import clip, has_cjk

Detector = Literal["lexicon", "polarity", "model"]

_NEAREST = 64
"""Neighbours whose words are read although their cosine is below the threshold."""
_MOST = 128
_RELATED_JACCARD = 0.25
_RELATED_OVERLAP = 0.6
_SHOWN = 160


@dataclass(frozen=True)
class ConflictFinding:
    """A contradiction between a new rule and one of the others.

    Attributes:
        other_id: the other rule.
        detector: which detector found it.
        template: evidence, English text with ``{name}`` places, the key of its translation.
        values: what goes into the places.
        hard: certain enough to stand without the model's judgement; never so across the languages.
    """

    other_id: str
    detector: Detector
    template: str
    values: dict[str, object]
    hard: bool

    @property
    def evidence(self) -> str:
        """The evidence in English."""
        return self.template.format(**self.values)


@dataclass(frozen=True)
class Suggestion:
    """Which of two contradicting rules to keep, and why."""

    keep_id: str
    template: str
    values: dict[str, object]

    def __str__(self) -> str:
        return self.template.format(**self.values)


def find_conflicts(
    new: RuleContent,
    others: Sequence[tuple[str, RuleContent]],
    new_vector: np.ndarray,
    vectors: np.ndarray,
    thresholds: Thresholds,
) -> list[ConflictFinding]:
    """Find the rules that contradict a new one, by the lexicon and by polarity.

    Args:
        new: the rule that comes in.
        others: id and content of those already there; not the new one itself.
        new_vector: embedding of ``condition_text(new)``, unit length, shape (dim,).
        vectors: embeddings of the others' conditions, row by row, unit length, shape (len(others), dim).
        thresholds: of the model that the vectors come from.

    Returns:
        At most one finding per other rule, nearest condition first. Those that are not ``hard`` are for
        ``core.rules.judging``.
    """
    if not others:
        return []
    cosines = vectors @ new_vector
    findings = []
    for at in _nearest(cosines, min(thresholds.same_condition, thresholds.same_condition_mixed)):
        finding = _compare(new, others[at], float(cosines[at]), thresholds)
        if finding is not None:
            findings.append(finding)
    return findings


def contradict(a: RuleContent, b: RuleContent) -> bool:
    """Tell whether two rules may never be merged: opposite acts, or conditions that exclude each other."""
    if find_opposition(a, b) is not None or one_prohibits(a, b) or conditions_exclude(a, b):
        return True
    return _by_lexicon(a, "", b, alike=True) is not None


def suggest(a: Rule, b: Rule) -> Suggestion:
    """Suggest which rule wins: the more specific condition, then the more recent verified success.

    Specific means more content terms in condition and exclusion. Where both criteria point to different
    rules the condition decides, and the reason says so.
    """
    specific = _pick(a, b, _specificity(a), _specificity(b))
    recent = _pick(a, b, _verified_at(a), _verified_at(b))
    if specific is not None and recent is specific:
        template = "“{name}” has the more specific condition and the more recent verified success."
    elif specific is not None and recent is not None:
        template = "“{name}” has the more specific condition, although the other one succeeded more recently."
    elif specific is not None:
        template = "“{name}” has the more specific condition."
    elif recent is not None:
        template = "“{name}” has the more recent verified success; the conditions are equally specific."
    else:
        template = "Nothing tells the two apart; “{name}” is the older one."
    winner = specific or recent or min(a, b, key=lambda rule: (rule.created_at, rule.id))
    return Suggestion(winner.id, template, {"name": winner.name})


def _nearest(cosines: np.ndarray, threshold: float) -> list[int]:
    wanted = min(len(cosines), max(_NEAREST, min(_MOST, int((cosines >= threshold).sum()))))
    top = np.argpartition(-cosines, wanted - 1)[:wanted]
    return [int(at) for at in top[np.argsort(-cosines[top], kind="stable")]]


def _compare(
    new: RuleContent, rival: tuple[str, RuleContent], cosine: float, thresholds: Thresholds
) -> ConflictFinding | None:
    other_id, other = rival
    mixed = has_cjk(condition_text(new)) != has_cjk(condition_text(other))
    threshold = thresholds.same_condition_mixed if mixed else thresholds.same_condition
    alike = conditions_alike(new, other, cosine, threshold)
    if not (alike or _conditions_related(new, other)):
        return None
    finding = _by_lexicon(new, other_id, other, alike)
    if finding is None and alike:
        finding = _by_polarity(new, other_id, other)
    if finding is None or conditions_exclude(new, other) or conditions_differ_in_a_word(new, other):
        return None
    return replace(finding, hard=finding.hard and not mixed)


def _by_lexicon(new: RuleContent, other_id: str, other: RuleContent, alike: bool) -> ConflictFinding | None:
    phrases = _opposing_phrases(new, other)
    if phrases is None or are_reconciled(new, other):
        return None
    pattern, mine, theirs = phrases
    template = "Opposing phrases ({pattern}): “{new}” against “{other}”."
    values: dict[str, object] = {"pattern": pattern, "new": clip(mine, _SHOWN), "other": clip(theirs, _SHOWN)}
    return ConflictFinding(other_id, "lexicon", template, values, hard=alike)


def _by_polarity(new: RuleContent, other_id: str, other: RuleContent) -> ConflictFinding | None:
    opposition = find_opposition(new, other)
    if opposition is None:
        return None
    template = {
        "polarity": "In the same case one asks for what the other prohibits: “{new}” against “{other}”.",
        "antonym": "In the same case they ask for opposite acts: “{new}” against “{other}”.",
        "order": "In the same case they ask for the same steps in opposite orders: “{new}” against “{other}”.",
    }[opposition.kind]
    values: dict[str, object] = {"new": clip(new.action, _SHOWN), "other": clip(other.action, _SHOWN)}
    return ConflictFinding(other_id, "polarity", template, values, hard=opposition.sure)


def _conditions_related(a: RuleContent, b: RuleContent) -> bool:
    first, second = terms(condition_text(a)), terms(condition_text(b))
    return jaccard(first, second) >= _RELATED_JACCARD or overlap(first, second) >= _RELATED_OVERLAP


@cache
def _opposites() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    def compiled(sources: list[str]) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{source})" for source in sources), re.IGNORECASE)

    return tuple(
        (entry["name"], compiled(entry["a"]), compiled(entry["b"])) for entry in lexicon("opposites")["opposite"]
    )


def _opposing_phrases(new: RuleContent, other: RuleContent) -> tuple[str, str, str] | None:
    """Return the pattern's name and both clauses, the new rule's first, if they are about the same thing."""
    theirs = _sides(other.action)
    for (name, side), mine in _sides(new.action).items():
        for clause in mine:
            for rival in theirs.get((name, -side), ()):
                if same_objects(_things(clause), _things(rival)):
                    return name, clause, rival
    return None


@lru_cache(maxsize=20_000)
def _sides(action: str) -> dict[tuple[str, int], list[str]]:
    """Return the clauses that match a pattern, by its name and side (1 for ``a``, -1 for ``b``)."""
    found: dict[tuple[str, int], list[str]] = {}
    for clause in clauses(affirmed(action)):
        for name, a, b in _opposites():
            for side, pattern in ((1, a), (-1, b)):
                if pattern.search(clause):
                    found.setdefault((name, side), []).append(clause)
    return found


def _things(clause: str) -> frozenset[str]:
    found = terms(clause)
    return frozenset(found) - acts(found)


def _pick(a: Rule, b: Rule, of_a: float, of_b: float) -> Rule | None:
    if of_a == of_b:
        return None
    return a if of_a > of_b else b


def _specificity(rule: RuleContent) -> int:
    return len(set(terms(rule.condition)) | set(terms(rule.exclusion)))


def _verified_at(rule: Rule) -> float:
    return rule.last_verified_at.timestamp() if rule.last_verified_at else float("-inf")
