"""Which rules are like one, and which past tasks it would have been looked up for (design sections 3 and 6).

By the vectors that are stored already; where one is missing, by words in common. No model is loaded, and the
library is read once: afterwards only the rules that events name are read again.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, func, select

from core.embeddings import Embedder
from core.rules.lifecycle import State
from core.rules.terms import jaccard, terms
from core.rules.wording import condition_text, rule_text
from core.tables import Rule, RuleEvent
from core.tables.rules import RuleContent

_AT_ONCE = 500
_LIVE = (State.ACTIVE.value, State.PROBATION.value)
_READ = (Rule.id, Rule.domain, Rule.state, Rule.condition, Rule.action, Rule.exclusion)


@dataclass(frozen=True)
class Near:
    """A rule like another one; ``likeness`` is a cosine, or the share of words in common, at most 1."""

    rule_id: str
    likeness: float


@dataclass(frozen=True)
class Nearest:
    """The rules in use that are most like one, nearest first, of ``compared`` ones; ``by`` is meaning or words."""

    by: str
    compared: int
    rules: tuple[Near, ...]


@dataclass
class _Domain:
    """What is known of one domain's rules in use: by id the text, its words, and the vectors if they are stored."""

    texts: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    live: dict[str, str] = field(default_factory=dict)
    stacked: tuple[list[str], np.ndarray] | None = None
    conditions: np.ndarray | None = None

    def drop(self, rule_id: str) -> None:
        for known in (self.texts, self.words, self.vectors):
            known.pop(rule_id, None)
        if self.live.pop(rule_id, None) is not None:
            self.conditions = None
        self.stacked = None


class RuleMap:
    """The rules in use, by meaning. Thread-safe; share one per process.

    Args:
        embedder: asked for stored vectors only.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._seen: int | None = None
        self._home: dict[str, str] = {}
        self._domains: dict[str, _Domain] = {}

    def nearest(self, session: Session, rule: RuleContent, rule_id: str, limit: int = 3) -> Nearest:
        """Return the rules in use of its domain that are most like a rule."""
        with self._lock:
            self._refresh(session)
            domain = self._domains.get(rule.domain, _Domain())
            text = rule_text(rule)
            vector = self._embedder.stored([text]).get(text)
            if vector is None:
                return self._by_words(domain, text, rule_id, limit)
            ids, matrix = self._stacked(domain)
            order = np.argsort(-(matrix @ vector), kind="stable") if ids else np.empty(0, dtype=int)
            near = [Near(ids[at], float(matrix[at] @ vector)) for at in order[: limit + 1] if ids[at] != rule_id]
            return Nearest("meaning", len(ids) - (rule_id in domain.vectors), tuple(near[:limit]))

    def live_conditions(self, session: Session, domain_name: str) -> np.ndarray:
        """Return the stored vectors of the conditions of a domain's live rules, shape (rules, dim)."""
        with self._lock:
            self._refresh(session)
            domain = self._domains.get(domain_name, _Domain())
            if domain.conditions is None:
                found = list(self._embedder.stored(list(domain.live.values())).values())
                domain.conditions = np.stack(found) if found else np.empty((0, 0), dtype=np.float32)
            return domain.conditions

    def _refresh(self, session: Session) -> None:
        latest = session.exec(select(func.max(RuleEvent.id))).one() or 0
        if latest == self._seen:
            return
        if self._seen is None:
            ids = list(session.exec(select(Rule.id).where(Rule.state != State.ARCHIVED.value)))
        else:
            ids = list(session.exec(select(RuleEvent.rule_id).where(col(RuleEvent.id) > self._seen).distinct()))
        for start in range(0, len(ids), _AT_ONCE):
            self._read(session, ids[start : start + _AT_ONCE])
        self._seen = latest

    def _read(self, session: Session, ids: Sequence[str]) -> None:
        rows = session.execute(select_columns(*map(col, _READ)).where(col(Rule.id).in_(ids))).all()
        kept = []
        for rule_id, domain, state, condition, action, exclusion in rows:
            if rule_id in self._home:
                self._domains[self._home.pop(rule_id)].drop(rule_id)
            if state != State.ARCHIVED.value:
                content = RuleContent(name="", condition=condition, action=action, exclusion=exclusion, domain=domain)
                kept.append((rule_id, state in _LIVE, content))
        stored = self._embedder.stored([rule_text(content) for _, _, content in kept])
        for rule_id, live, content in kept:
            self._add(rule_id, live, content, stored.get(rule_text(content)))

    def _add(self, rule_id: str, live: bool, content: RuleContent, vector: np.ndarray | None) -> None:
        self._home[rule_id] = content.domain
        domain = self._domains.setdefault(content.domain, _Domain())
        domain.texts[rule_id] = rule_text(content)
        if vector is not None:
            domain.vectors[rule_id] = vector
        if live:
            domain.live[rule_id], domain.conditions = condition_text(content), None
        domain.stacked = None

    def _stacked(self, domain: _Domain) -> tuple[list[str], np.ndarray]:
        if domain.stacked is None:
            ids = list(domain.vectors)
            matrix = np.stack([domain.vectors[one] for one in ids]) if ids else np.empty((0, 0), dtype=np.float32)
            domain.stacked = ids, matrix
        return domain.stacked

    def _by_words(self, domain: _Domain, text: str, rule_id: str, limit: int) -> Nearest:
        own = terms(text)
        for one in domain.texts.keys() - domain.words.keys():
            domain.words[one] = terms(domain.texts[one])
        found = [Near(one, jaccard(own, words)) for one, words in domain.words.items() if one != rule_id]
        found = sorted((one for one in found if one.likeness > 0), key=lambda one: (-one.likeness, one.rule_id))
        return Nearest("words", len(domain.words) - (rule_id in domain.words), tuple(found[:limit]))
