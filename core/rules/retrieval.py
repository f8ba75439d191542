"""Which rules a prompt carries for a query, with a reason for every rule in and out (design section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf

import bm25s
import numpy as np

from core.rules.lifecycle import State
from core.rules.terms import terms as content_terms
from core.settings import RetrievalSettings
from core.tables import Rule
from core.text import search_terms


@dataclass(frozen=True)
class Hit:
    """A retrieved rule and what its score is made of; all parts but ``utility`` lie in [0, 1]."""

    rule: Rule
    score: float
    semantic: float
    cosine: float
    lexical: float
    utility: float


@dataclass(frozen=True)
class LeftOut:
    """A rule that was not retrieved, and why: state, exclusion, mutex, candidates or rank."""

    rule: Rule
    reason: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """Hits, best first, and all others."""

    hits: tuple[Hit, ...]
    left_out: tuple[LeftOut, ...]


class RuleIndex:
    """The searchable rules of one domain at one moment. Immutable; build a new one when the library changes.

    Args:
        rules: rules that may be served (any state; archived ones are never hits).
        vectors: (n, dim) unit vectors of the rules' conditions, same order.
        utilities: by rule id; infinite while unused.
        mutex: rule id -> group; at most one rule of a group is served.
        settings: weights and limits.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        vectors: np.ndarray,
        utilities: Mapping[str, float],
        mutex: Mapping[str, str],
        settings: RetrievalSettings,
    ) -> None:
        self.rules = tuple(rules)
        self.utilities = dict(utilities)
        self._vectors = vectors
        self._mutex = dict(mutex)
        self._settings = settings
        self._utility_scale = _min_max([utilities[rule.id] for rule in self.rules])
        self._exclusions = [frozenset(content_terms(rule.exclusion)) for rule in self.rules]
        self._bm25 = _build_bm25(self.rules)

    def retrieve(self, query: str, query_vector: np.ndarray) -> Retrieval:
        """Rank the rules for a query and apply filters and limits.

        Args:
            query: the task, or the state at hand.
            query_vector: (dim,) its unit vector.
        """
        if not self.rules:
            return Retrieval((), ())
        terms = search_terms(query)
        hits = self._scored(terms, query_vector)
        return self._select(hits, frozenset(content_terms(query)))

    def _scored(self, terms: list[str], query_vector: np.ndarray) -> list[Hit]:
        settings = self._settings
        cosine = _scale(self._vectors @ query_vector)
        lexical = _scale(self._lexical(terms))
        semantic = settings.cosine_share * cosine + (1 - settings.cosine_share) * lexical
        score = settings.semantic_weight * semantic + (1 - settings.semantic_weight) * self._utility_scale
        factor = np.array([settings.probation_factor if rule.state == State.PROBATION else 1.0 for rule in self.rules])
        score = score * factor
        order = sorted(range(len(self.rules)), key=lambda i: (-score[i], self.rules[i].id))
        return [
            Hit(
                rule=self.rules[i],
                score=float(score[i]),
                semantic=float(semantic[i]),
                cosine=float(cosine[i]),
                lexical=float(lexical[i]),
                utility=self.utilities[self.rules[i].id],
            )
            for i in order
        ]

    def _lexical(self, terms: list[str]) -> np.ndarray:
        if self._bm25 is None or not terms:
            return np.zeros(len(self.rules))
        return np.asarray(self._bm25.get_scores(terms), dtype=float)

    def _select(self, ranked: list[Hit], terms: frozenset[str]) -> Retrieval:
        chosen: list[Hit] = []
        left_out: list[LeftOut] = []
        groups: set[str] = set()
        exclusions = {rule.id: words for rule, words in zip(self.rules, self._exclusions, strict=True)}
        for hit in ranked:
            reason = self._filter(hit, terms, exclusions[hit.rule.id], groups)
            if reason is None:
                chosen.append(hit)
                groups.update({self._mutex[hit.rule.id]} if hit.rule.id in self._mutex else ())
            else:
                left_out.append(LeftOut(hit.rule, reason, hit.score))
        kept, dropped = self._limit(chosen)
        return Retrieval(tuple(kept), tuple(dropped + left_out))

    def _filter(self, hit: Hit, terms: frozenset[str], exclusion: frozenset[str], groups: set[str]) -> str | None:
        if hit.rule.state == State.ARCHIVED:
            return "state"
        if len(exclusion) >= 2 and exclusion <= terms:
            return "exclusion"
        if self._mutex.get(hit.rule.id) in groups:
            return "mutex"
        return None

    def _limit(self, ranked: list[Hit]) -> tuple[list[Hit], list[LeftOut]]:
        """Keep the best ``top_k``, with the floor and the cap on candidates."""
        settings = self._settings
        kept: list[Hit] = []
        outranked: list[Hit] = []
        dropped: list[LeftOut] = []
        candidates = 0
        for hit in ranked:
            is_candidate = hit.rule.state == State.CANDIDATE
            if is_candidate and candidates >= settings.max_candidates:
                dropped.append(LeftOut(hit.rule, "candidates", hit.score))
            elif len(kept) >= settings.top_k:
                outranked.append(hit)
            else:
                kept.append(hit)
                candidates += is_candidate
        _raise_candidates(kept, outranked, settings.min_candidates - candidates)
        return kept, [LeftOut(hit.rule, "rank", hit.score) for hit in outranked] + dropped


def _raise_candidates(kept: list[Hit], outranked: list[Hit], missing: int) -> None:
    """Give the best waiting candidates the last places, so that new rules get a chance to prove themselves."""
    waiting = [hit for hit in outranked if hit.rule.state == State.CANDIDATE][: max(0, missing)]
    losers = kept[len(kept) - len(waiting) :]
    kept[len(kept) - len(waiting) :] = waiting
    outranked[:] = losers + [hit for hit in outranked if hit not in waiting]


def mutex_groups(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return rule id -> group for the connected components of open conflicts; a group is named by its least id."""
    group: dict[str, str] = {}
    for a, b in pairs:
        first, second = group.get(a, a), group.get(b, b)
        target = min(first, second)
        members = [rule for rule, name in group.items() if name in (first, second)]
        group.update(dict.fromkeys([*members, a, b], target))
    return group


def _build_bm25(rules: Sequence[Rule]) -> bm25s.BM25 | None:
    corpus = [search_terms(" ".join([rule.condition, *rule.tags])) or ["-"] for rule in rules]
    if not corpus:
        return None
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    return index


def _min_max(utilities: Sequence[float]) -> np.ndarray:
    finite = [value for value in utilities if not isinf(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    span = high - low
    return np.array([1.0 if isinf(u) else ((u - low) / span if span else 0.5) for u in utilities])


def _scale(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
