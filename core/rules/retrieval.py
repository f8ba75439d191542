"""Which rules a prompt carries for a query, with a reason for every rule in and out (design section 6)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """A rule that was not retrieved, and why: state, exclusion, mutex, priority, candidates or rank."""

    rule: Rule
    reason: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """Hits, best first. ``left_out`` is worked out when somebody asks: most prompts are made without looking."""

    hits: tuple[Hit, ...]
    _explain: Callable[[], tuple[LeftOut, ...]] = field(default=tuple, compare=False, repr=False)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """All other rules, best first within each reason, with the reason."""
        return self._explain()


@dataclass(frozen=True)
class _Ranking:
    """Scores of all rules for one query, shape (n,) each, and the order they give."""

    order: list[int]
    score: np.ndarray
    semantic: np.ndarray
    cosine: np.ndarray
    lexical: np.ndarray


@dataclass
class _Choice:
    """What one walk down a ranking came to: places of rules, by what became of them."""

    kept: list[int] = field(default_factory=list)
    outranked: list[int] = field(default_factory=list)
    over_cap: list[int] = field(default_factory=list)
    filtered: list[tuple[int, str]] = field(default_factory=list)
    candidates: int = 0
    groups: set[str] = field(default_factory=set)


class RuleIndex:
    """The searchable rules of one domain at one moment. Immutable; build a new one when the library changes.

    Args:
        rules: rules that may be served (any state; archived ones are never hits).
        vectors: (n, dim) unit vectors of the rules' conditions, same order.
        utilities: by rule id; infinite while unused.
        mutex: rule id -> group; at most one rule of a group is served, and a candidate only where no live rule
            of its group could be.
        settings: weights and limits.
        ranked: pairs of ids of which the second is served only where the first is not: a person's decision.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        vectors: np.ndarray,
        utilities: Mapping[str, float],
        mutex: Mapping[str, str],
        settings: RetrievalSettings,
        ranked: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.rules = tuple(rules)
        self.utilities = dict(utilities)
        self._vectors = vectors
        self._settings = settings
        self._utility_scale = _min_max([utilities[rule.id] for rule in self.rules])
        on_probation = np.array([rule.state == State.PROBATION for rule in self.rules], dtype=bool)
        self._factor = np.where(on_probation, settings.probation_factor, 1.0)
        self._by_id = np.argsort(np.argsort([rule.id for rule in self.rules]))
        self._exclusions = [frozenset(content_terms(rule.exclusion)) for rule in self.rules]
        self._groups = [mutex.get(rule.id) for rule in self.rules]
        self._live_of = _live_rules(self.rules, self._groups)
        self._is_candidate = [rule.state == State.CANDIDATE for rule in self.rules]
        self._above = _places_above(self.rules, ranked)
        self._bm25 = _build_bm25(self.rules)

    def retrieve(self, query: str, query_vector: np.ndarray) -> Retrieval:
        """Rank the rules for a query and apply filters and limits.

        Args:
            query: the task, or the state at hand.
            query_vector: (dim,) its unit vector.
        """
        if not self.rules:
            return Retrieval(())
        ranking = self._rank(search_terms(query), query_vector)
        terms = frozenset(content_terms(query))
        kept = self._settle(ranking, terms, all_of_them=False).kept
        return Retrieval(tuple(self._hit(ranking, place) for place in kept), lambda: self._explain(ranking, terms))

    def _rank(self, terms: list[str], query_vector: np.ndarray) -> _Ranking:
        settings = self._settings
        cosine = _scale(self._vectors @ query_vector)
        lexical = _scale(self._lexical(terms))
        semantic = settings.cosine_share * cosine + (1 - settings.cosine_share) * lexical
        score = settings.semantic_weight * semantic + (1 - settings.semantic_weight) * self._utility_scale
        score = score * self._factor
        return _Ranking(np.lexsort((self._by_id, -score)).tolist(), score, semantic, cosine, lexical)

    def _lexical(self, terms: list[str]) -> np.ndarray:
        if self._bm25 is None or not terms:
            return np.zeros(len(self.rules))
        return np.asarray(self._bm25.get_scores(terms), dtype=float)

    def _hit(self, ranking: _Ranking, place: int) -> Hit:
        rule = self.rules[place]
        return Hit(
            rule=rule,
            score=float(ranking.score[place]),
            semantic=float(ranking.semantic[place]),
            cosine=float(ranking.cosine[place]),
            lexical=float(ranking.lexical[place]),
            utility=self.utilities[rule.id],
        )

    def _settle(self, ranking: _Ranking, terms: frozenset[str], *, all_of_them: bool) -> _Choice:
        """Choose rules; where both of a ranked pair come in, leave the second out and choose again."""
        second: set[int] = set()
        while True:
            choice = self._choose(ranking, terms, second, all_of_them=all_of_them)
            yields = self._second(choice.kept)
            if yields is None:
                return choice
            second.add(yields)

    def _second(self, kept: Sequence[int]) -> int | None:
        """Return the place of a rule that yields to another one in the same choice, if there is one.

        In a chain that is never one below a rule that yields itself: it may stay once that one is gone.
        """
        above = {place: self._above[place] & set(kept) for place in kept if place in self._above}
        yielding = {place for place, others in above.items() if others}
        sure = [place for place in kept if place in yielding and above[place] - yielding]
        return next(reversed(sure or [place for place in kept if place in yielding]), None)

    def _choose(
        self, ranking: _Ranking, terms: frozenset[str], second: Collection[int], *, all_of_them: bool
    ) -> _Choice:
        """Walk down the ranking until the prompt is full, or to its end for an explanation."""
        settings, choice = self._settings, _Choice()
        floor = min(settings.min_candidates, settings.max_candidates, settings.top_k)
        waiting = sum(self._is_candidate)
        for place in ranking.order:
            floor_met = choice.candidates >= floor or waiting == 0
            if not all_of_them and len(choice.kept) >= settings.top_k and floor_met:
                break
            is_candidate = self._is_candidate[place]
            waiting -= is_candidate
            reason = "priority" if place in second else self._filter(place, terms, choice.groups)
            if reason is not None:
                choice.filtered.append((place, reason))
            elif is_candidate and choice.candidates >= settings.max_candidates:
                choice.over_cap.append(place)
            elif len(choice.kept) < settings.top_k:
                self._keep(choice, place)
            elif is_candidate and choice.candidates < floor:
                self._raise(choice, place)
            else:
                choice.outranked.append(place)
        return choice

    def _keep(self, choice: _Choice, place: int) -> None:
        choice.kept.append(place)
        choice.candidates += self._is_candidate[place]
        group = self._groups[place]
        choice.groups.update({group} if group is not None else ())

    def _raise(self, choice: _Choice, place: int) -> None:
        """Give a waiting candidate the last place, so that new rules get a chance to prove themselves."""
        at = max(n for n, kept in enumerate(choice.kept) if not self._is_candidate[kept])
        choice.outranked.insert(0, choice.kept.pop(at))
        self._keep(choice, place)

    def _filter(self, place: int, terms: frozenset[str], groups: set[str]) -> str | None:
        rule, group = self.rules[place], self._groups[place]
        if rule.state == State.ARCHIVED:
            return "state"
        if self._excluded(place, terms):
            return "exclusion"
        if group is None:
            return None
        # What nobody has confirmed does not silence a live rule that it contradicts.
        live = self._live_of[group] if self._is_candidate[place] else ()
        return "mutex" if group in groups or any(not self._excluded(other, terms) for other in live) else None

    def _excluded(self, place: int, terms: frozenset[str]) -> bool:
        exclusion = self._exclusions[place]
        return len(exclusion) >= 2 and exclusion <= terms

    def _explain(self, ranking: _Ranking, terms: frozenset[str]) -> tuple[LeftOut, ...]:
        choice = self._settle(ranking, terms, all_of_them=True)
        reasons = [(place, "rank") for place in choice.outranked]
        reasons += [(place, "candidates") for place in choice.over_cap]
        reasons += choice.filtered
        return tuple(LeftOut(self.rules[place], reason, float(ranking.score[place])) for place, reason in reasons)


def _live_rules(rules: Sequence[Rule], groups: Sequence[str | None]) -> dict[str, tuple[int, ...]]:
    """Return the places of the active rules of each mutex group."""
    live: dict[str, tuple[int, ...]] = {group: () for group in groups if group is not None}
    for place, (rule, group) in enumerate(zip(rules, groups, strict=True)):
        if group is not None and rule.state == State.ACTIVE:
            live[group] += (place,)
    return live


def _places_above(rules: Sequence[Rule], ranked: Sequence[tuple[str, str]]) -> dict[int, set[int]]:
    """Return the places of the rules that go before each rule, where there are any."""
    places = {rule.id: place for place, rule in enumerate(rules)}
    above: dict[int, set[int]] = {}
    for first, second in ranked:
        if first in places and second in places:
            above.setdefault(places[second], set()).add(places[first])
    return above


def mutex_groups(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return rule id -> group for the connected components of open conflicts; a group is named by its least id."""
    parent: dict[str, str] = {}

    def least(rule: str) -> str:
        while parent[rule] != rule:
            parent[rule] = parent[parent[rule]]  # halves the way for whoever comes next
            rule = parent[rule]
        return rule

    for a, b in pairs:
        parent.setdefault(a, a)
        parent.setdefault(b, b)
        first, second = sorted((least(a), least(b)))
        parent[second] = first
    return {rule: least(rule) for rule in parent}


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
