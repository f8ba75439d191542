"""Search by meaning: all rules as vectors, kept in memory and brought up to date by the events since."""

import threading
from collections.abc import Sequence

import numpy as np
from sqlmodel import Session, col, func, select

from core.db import Database
from core.embeddings import Embedder
from core.rules.wording import rule_text
from core.settings import EmbeddingSettings
from core.tables import Rule, RuleEvent

_AT_ONCE = 500


class MeaningSearch:
    """Orders rules by how near they are to a query. Thread-safe; share one per process.

    Reading the library and encoding what is new takes a moment the first time; afterwards only rules that an event
    names are read again. Do not call it inside a write: new vectors are stored in one of their own.

    Args:
        settings: name the embedding model.
        database: where rules and known vectors are.
    """

    def __init__(self, settings: EmbeddingSettings, database: Database) -> None:
        self._database = database
        self._embedder = Embedder(settings, database)
        self._lock = threading.Lock()
        self._seen = 0
        self._places: dict[str, int] = {}
        self._ids: list[str] = []
        self._vectors = np.empty((0, 0), dtype=np.float32)

    def ranking(self, query: str) -> list[str]:
        """Return the ids of all rules, nearest in meaning first.

        Raises:
            UserError: the embedding model cannot be loaded.
        """
        with self._lock:
            self._refresh()
            if not self._ids:
                return []
            cosines = self._vectors @ self._embedder.encode([query])[0]
            return [self._ids[at] for at in np.argsort(-cosines, kind="stable")]

    def _refresh(self) -> None:
        with self._database.read() as session:
            latest = session.exec(select(func.max(RuleEvent.id))).one() or 0
            changed = self._changed(session) if latest != self._seen else []
        for start in range(0, len(changed), _AT_ONCE):
            self._take(changed[start : start + _AT_ONCE])
        self._seen = latest

    def _changed(self, session: Session) -> list[tuple[str, str]]:
        """Return id and text of the rules that events since the last look are about."""
        query = select(Rule)
        if self._seen:
            newer = select(RuleEvent.rule_id).where(col(RuleEvent.id) > self._seen)
            query = query.where(col(Rule.id).in_(newer))
        return [(rule.id, rule_text(rule)) for rule in session.exec(query)]

    def _take(self, part: Sequence[tuple[str, str]]) -> None:
        vectors = self._embedder.encode([text for _, text in part])
        known = [at for at, (rule_id, _) in enumerate(part) if rule_id in self._places]
        for at in known:
            self._vectors[self._places[part[at][0]]] = vectors[at]
        new = [at for at in range(len(part)) if at not in set(known)]
        for at in new:
            self._places[part[at][0]] = len(self._ids)
            self._ids.append(part[at][0])
        if new:
            before = self._vectors if self._vectors.size else np.empty((0, vectors.shape[1]), dtype=np.float32)
            self._vectors = np.concatenate([before, vectors[new]])
