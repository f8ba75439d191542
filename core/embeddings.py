"""Sentence embeddings behind the sentence-transformers interface, cached in memory and in the database.

``python -m core.embeddings MODEL`` measures a model's thresholds for ``data/embeddings.json``.
"""

import hashlib
import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, select
from threadpoolctl import threadpool_limits

from core.calibration import Calibration, Thresholds, calibrate, stored_thresholds
from core.db import Database
from core.errors import UserError
from core.settings import EmbeddingSettings
from core.tables.vectors import Embedding

Kind = Literal["query", "passage"]

COMPARISON: Kind = "query"
"""Kind for texts compared with each other, both sides alike: separates better than "passage" for e5."""

PACKAGED = "packaged:multilingual-e5-small"
_MEMORY_ENTRIES = 20_000
_HASHES_PER_STATEMENT = 500


class Embedder:
    """Turns texts into unit vectors of one model. Thread-safe; the model is loaded on first use.

    Do not call ``encode`` inside a ``Database.write()`` of the same thread: new vectors are stored in a
    write of their own, which SQLite would let wait for the outer one.

    Args:
        settings: names the model.
        database: second level of the cache; None keeps vectors in memory only.
        memory_entries: vectors kept in memory, the least recently used go first.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        database: Database | None = None,
        *,
        memory_entries: int = _MEMORY_ENTRIES,
    ) -> None:
        _limit_blas()
        self.model = settings.model
        self._database = database
        self._memory: OrderedDict[str, np.ndarray] = OrderedDict()
        self._memory_entries = memory_entries
        self._lock = threading.Lock()
        self._model_lock = threading.RLock()
        self._encoder: Any = None
        self._thresholds: Thresholds | None = None

    def encode(self, texts: Sequence[str], kind: Kind = COMPARISON, *, store: bool = True) -> np.ndarray:
        """Encode texts, in order.

        Args:
            texts: any number; repeats are computed once.
            kind: "query" and "passage" for search (a short text against longer ones); ``COMPARISON`` when
                texts are compared with each other. Vectors of different kinds do not compare.
            store: keep new vectors in the database, too; not for texts that hardly come again, such as states.

        Returns:
            float32, shape (len(texts), dim), each row of length 1.

        Raises:
            UserError: the model cannot be loaded.
        """
        hashes = [_text_hash(kind, text) for text in texts]
        wanted = dict(zip(hashes, texts, strict=True))
        found = self._from_memory(wanted)
        if len(found) < len(wanted):
            stored = self._from_database([key for key in wanted if key not in found])
            self._remember(stored)
            found |= stored
        missing = [key for key in wanted if key not in found]
        if missing:
            computed = dict(zip(missing, self._compute([wanted[key] for key in missing], kind), strict=True))
            if store:
                self._store(computed)
            self._remember(computed)
            found |= computed
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        return np.stack([found[key] for key in hashes])

    def stored(self, texts: Sequence[str], kind: Kind = COMPARISON) -> dict[str, np.ndarray]:
        """Return the vectors of the texts that were encoded before; the model is not loaded for the others."""
        hashes = {_text_hash(kind, text): text for text in texts}
        found = self._from_memory(hashes)
        stored = self._from_database([key for key in hashes if key not in found])
        self._remember(stored)
        return {hashes[key]: vector for key, vector in (found | stored).items()}

    def thresholds(self) -> Thresholds:
        """Return the model's cosine thresholds: stored ones, or measured on first use.

        Raises:
            UserError: the model cannot be loaded.
        """
        with self._model_lock:
            if self._thresholds is None:
                self._thresholds = stored_thresholds(self.model) or self.calibrate().thresholds
            return self._thresholds

    def calibrate(self) -> Calibration:
        """Measure the model's thresholds on the shipped pairs (about 200 texts)."""
        return calibrate(lambda texts: self.encode(texts, COMPARISON))

    def _from_memory(self, wanted: Mapping[str, str]) -> dict[str, np.ndarray]:
        with self._lock:
            found = {key: self._memory[key] for key in wanted if key in self._memory}
            for key in found:
                self._memory.move_to_end(key)
        return found

    def _remember(self, vectors: Mapping[str, np.ndarray]) -> None:
        with self._lock:
            self._memory.update(vectors)
            while len(self._memory) > self._memory_entries:
                self._memory.popitem(last=False)

    def _from_database(self, hashes: Sequence[str]) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        if self._database is None:
            return found
        with self._database.read() as session:
            for start in range(0, len(hashes), _HASHES_PER_STATEMENT):
                part = hashes[start : start + _HASHES_PER_STATEMENT]
                query = select(Embedding).where(Embedding.model == self.model, col(Embedding.text_hash).in_(part))
                for row in session.exec(query):
                    found[row.text_hash] = np.frombuffer(row.vector, dtype="<f4")
        return found

    def _store(self, vectors: Mapping[str, np.ndarray]) -> None:
        if self._database is None:
            return
        rows = [
            {"text_hash": key, "model": self.model, "vector": vector.astype("<f4").tobytes()}
            for key, vector in vectors.items()
        ]
        with self._database.write() as session:
            _insert_new(session, rows)

    def _compute(self, texts: Sequence[str], kind: Kind) -> np.ndarray:
        with self._model_lock:
            if self._encoder is None:
                self._encoder = _load(self.model)
            encode = self._encoder.encode_query if kind == "query" else self._encoder.encode_document
            # The engine reads C strings, and lone surrogates have no UTF-8.
            clean = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
            vectors = np.asarray(encode(clean, show_progress_bar=False, normalize_embeddings=True))
        return vectors.astype(np.float32)


def _limit_blas() -> None:
    """Let numpy compute products of vectors in one thread, in the whole process.

    So a cosine has the same bits however many cores there are, and a threshold decides alike everywhere. It costs
    nothing: products here are small, and more threads wait for each other longer than they compute. The packaged
    encoder does not use BLAS.
    """
    threadpool_limits(1, user_api="blas")


def _text_hash(kind: Kind, text: str) -> str:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _insert_new(session: Session, rows: list[dict[str, Any]]) -> None:
    """Insert rows, leaving those that another thread or process stored in the meantime."""
    postgres = session.get_bind().dialect.name == "postgresql"
    insert = postgresql.insert if postgres else sqlite.insert
    session.connection().execute(insert(Embedding).on_conflict_do_nothing(), rows)


def _load(model: str) -> Any:
    # Imported here: torch and sentence-transformers take seconds to import, and pages must start fast.
    try:
        if model == PACKAGED:
            from core.packaged_e5 import load_packaged_e5

            return load_packaged_e5()
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(model, prompts=_prompts(model))
    except (OSError, ValueError, ImportError) as error:
        raise UserError(
            "The embedding model {model} cannot be loaded: {problem}. Use {packaged}, which works offline, "
            "or a sentence-transformers model name or path.",
            model=model,
            problem=str(error),
            packaged=PACKAGED,
        ) from error


def _prompts(model: str) -> dict[str, str] | None:
    """Prefixes that the e5 family needs and its published configuration leaves out."""
    is_e5 = "e5" in model.lower().rsplit("/", 1)[-1].split("-")
    return {"query": "query: ", "document": "passage: "} if is_e5 else None


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else PACKAGED
    measured = Embedder(EmbeddingSettings(model=name)).calibrate()
    sys.stdout.write(json.dumps({name: measured.entry()}, indent=2) + "\n")
