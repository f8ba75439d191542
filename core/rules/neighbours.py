"""What a new rule meets among those there already: near duplicates and conflicts, quickly among thousands."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from sqlmodel import Session, col, select

from core.db import Database
from core.embeddings import COMPARISON, Embedder
from core.rules.conflicts import ConflictFinding, find_conflicts
from core.rules.duplicates import propose_duplicates
from core.rules.library import last_event_id, rules_in
from core.rules.lifecycle import State
from core.rules.wording import condition_text, rule_text
from core.tables import Rule, RuleEvent
from core.tables.rules import RuleContent

_TEXT, _CONDITION = 0, 1
_ROOM = 64
"""Least number of rows by which the table of vectors grows."""


@dataclass(frozen=True)
class Neighbours:
    """What a draft meets. ``duplicates`` nearest first; ``rules`` are those that the conflicts are with, by id."""

    duplicates: list[Rule] = field(default_factory=list)
    conflicts: list[ConflictFinding] = field(default_factory=list)
    rules: dict[str, Rule] = field(default_factory=dict)


class ComparedRules:
    """The rules of a domain in some states, with their vectors at hand; in step with the library by its events.

    Reading, wording and looking up thousands of rules takes far longer than comparing them, so it is done once;
    after that only rules with new events are read again. What a rule says and its state are up to date at each
    call; what was counted about it is not, since counting writes no event. Not for use by several threads, and
    not inside a ``Database.write()``.

    Args:
        database: holds the rules.
        embedder: encodes drafts and rules.
        domain: whose rules.
        states: the states that a draft is held against.
    """

    def __init__(self, database: Database, embedder: Embedder, domain: str, states: Sequence[State]) -> None:
        self._database = database
        self._embedder = embedder
        self._domain = domain
        self._states = tuple(states)
        self._seen = -1
        self._keys: list[tuple[datetime, str]] = []  # oldest first, so that ties fall the same way in every process
        self._others: list[tuple[str, RuleContent]] = []  # in the same order
        self._by_id: dict[str, Rule] = {}
        self._vectors = np.empty((2, 0, 0), dtype=np.float32)

    def compare(self, draft: RuleContent, *, without: Collection[str] = ()) -> Neighbours:
        """Hold a draft against all rules but those named in ``without``; no model call."""
        self._follow()
        if not self._others:
            return Neighbours()
        near = self._near(draft)
        found = find_conflicts(
            draft,
            self._others,
            self._embedder.encode([condition_text(draft)], COMPARISON)[0],
            self._vectors[_CONDITION, : len(self._others)],
            self._embedder.thresholds(),
        )
        conflicts = [finding for finding in found if finding.other_id not in without]
        return Neighbours(
            duplicates=[rule for rule in near if rule.id not in without],
            conflicts=conflicts,
            rules={finding.other_id: self._by_id[finding.other_id] for finding in conflicts},
        )

    def duplicates(self, draft: RuleContent) -> list[Rule]:
        """Return the rules that may say the same as a draft, nearest first."""
        self._follow()
        return self._near(draft) if self._others else []

    def _near(self, draft: RuleContent) -> list[Rule]:
        proposals = propose_duplicates(
            draft,
            self._others,
            self._embedder.encode([rule_text(draft)], COMPARISON)[0],
            self._vectors[_TEXT, : len(self._others)],
            self._embedder.thresholds(),
        )
        return [self._by_id[proposal.other_id] for proposal in proposals]

    def _follow(self) -> None:
        """Take in what has happened to the library since the last call."""
        with self._database.read() as session:
            newest = last_event_id(session)
            if newest == self._seen:
                return
            changed = self._changed(session)
        vectors = self._encoded(changed)
        for place, rule in enumerate(changed):
            self._take_out(rule)
            if rule.state in self._states:
                self._put_in(rule, vectors[:, place])
        self._seen = newest

    def _changed(self, session: Session) -> list[Rule]:
        if self._seen < 0:
            return rules_in(session, self._domain, self._states)
        # Two statements: as one, SQLite walks through all rules of the domain instead of the few events.
        recent = session.exec(select(RuleEvent.rule_id).where(col(RuleEvent.id) > self._seen).distinct()).all()
        return list(session.exec(select(Rule).where(Rule.domain == self._domain, col(Rule.id).in_(recent))).all())

    def _encoded(self, rules: Iterable[Rule]) -> np.ndarray:
        """Return the vectors of the rules' texts and conditions, shape (2, rules, dim)."""
        rules = list(rules)
        texts = [rule_text(rule) for rule in rules] + [condition_text(rule) for rule in rules]
        encoded = self._embedder.encode(texts, COMPARISON)
        return encoded.reshape(2, len(rules), -1) if rules else encoded.reshape(2, 0, 0)

    def _take_out(self, rule: Rule) -> None:
        place = bisect_left(self._keys, (rule.created_at, rule.id))
        if place < len(self._keys) and self._keys[place] == (rule.created_at, rule.id):
            size = len(self._keys)
            del self._keys[place], self._others[place], self._by_id[rule.id]
            self._vectors[:, place : size - 1] = self._vectors[:, place + 1 : size]

    def _put_in(self, rule: Rule, vectors: np.ndarray) -> None:
        place, size = bisect_left(self._keys, (rule.created_at, rule.id)), len(self._keys)
        if size == self._vectors.shape[1]:
            grown = np.empty((2, max(_ROOM, 2 * size), vectors.shape[-1]), dtype=np.float32)
            grown[:, :size] = self._vectors[:, :size] if size else 0
            self._vectors = grown
        self._vectors[:, place + 1 : size + 1] = self._vectors[:, place:size]
        self._vectors[:, place] = vectors
        self._keys.insert(place, (rule.created_at, rule.id))
        self._others.insert(place, (rule.id, rule))
        self._by_id[rule.id] = rule


def conflicts_between(first: RuleContent, second: Rule, embedder: Embedder) -> list[ConflictFinding]:
    """Hold two texts against each other; no model call, no session. Not to be called inside a write."""
    one, other = embedder.encode([condition_text(first), condition_text(second)], COMPARISON)
    return find_conflicts(first, [(second.id, second)], one, other[None], embedder.thresholds())
