"""The library as it is served during one phase: frozen, so that a round's rollouts all see the same rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, select

from core.embeddings import COMPARISON, Embedder
from core.rules.conflict_records import priorities
from core.rules.library import rules_in
from core.rules.lifecycle import IN_USE, State
from core.rules.retrieval import Retrieval, RuleIndex, mutex_groups
from core.rules.utility import Scorer
from core.rules.wording import condition_text
from core.settings import RetrievalSettings
from core.tables import Conflict, Rule


@dataclass(frozen=True)
class LibrarySnapshot:
    """Rules with an index over them. Safe to share between threads."""

    index: RuleIndex
    embedder: Embedder

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that may be served."""
        return self.index.rules

    def prepare(self, queries: Sequence[str]) -> None:
        """Encode queries at one go, ahead of the threads that would each encode the same one at the same time."""
        if self.rules:
            self.embedder.encode(queries, COMPARISON)

    def retrieve(self, query: str, *, passing: bool = False) -> Retrieval:
        """Retrieve for a query text; the vector of a ``passing`` one, which hardly comes again, is not stored."""
        if not self.rules:
            return Retrieval(())
        return self.index.retrieve(query, self.embedder.encode([query], COMPARISON, store=not passing)[0])


@dataclass(frozen=True)
class SnapshotMaker:
    """Builds snapshots of one domain with one scorer; utilities are computed over the snapshot's own uses."""

    embedder: Embedder
    scorer: Scorer
    settings: RetrievalSettings

    def current(self, session: Session, domain: str) -> LibrarySnapshot:
        """Return the library as it is now."""
        return self.of(rules_in(session, domain, IN_USE), _pairs(session), priorities(session))

    def with_contents(
        self, session: Session, domain: str, contents: Mapping[str, Mapping[str, Any]]
    ) -> LibrarySnapshot:
        """Return the library with some rules' content replaced: 'as if'. Statistics stay today's."""
        rules = []
        for rule in session.exec(select(Rule).where(Rule.domain == domain)).all():
            # A copy: the session hands the same object to whoever else asked it for this rule.
            copy = Rule(**(rule.model_dump() | dict(contents.get(rule.id, {}))))
            if copy.state != State.ARCHIVED:
                rules.append(copy)
        rules.sort(key=lambda rule: (rule.created_at, rule.id))
        return self.of(rules, _pairs(session), priorities(session))

    def of(
        self,
        rules: Sequence[Rule],
        conflicts: Sequence[tuple[str, str]],
        ranked: Sequence[tuple[str, str]] = (),
    ) -> LibrarySnapshot:
        """Return a snapshot of the given rules; what binds them to a rule that is not among them does not count.

        Args:
            rules: in the states that are served.
            conflicts: pairs of which a prompt carries at most one.
            ranked: pairs of which the second is served only where the first is not.
        """
        present = {rule.id for rule in rules}
        mutex = mutex_groups([pair for pair in conflicts if present.issuperset(pair)])
        total = sum(rule.n_used for rule in rules)
        utilities = {rule.id: self.scorer.score(rule, total) for rule in rules}
        vectors = self.embedder.encode([condition_text(rule) for rule in rules], COMPARISON)
        index = RuleIndex(rules, vectors, utilities, mutex, self.settings, ranked)
        return LibrarySnapshot(index, self.embedder)


def _pairs(session: Session) -> list[tuple[str, str]]:
    """Return all open conflicts: rules that are archived now may be served in an 'as if'."""
    return list(session.exec(select(Conflict.rule_a, Conflict.rule_b).where(Conflict.status == "open")))
