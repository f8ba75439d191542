"""Embedders for tests: the packaged one, loaded once a session, and one whose cosines can be computed by eye."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from core.calibration import Thresholds
from core.embeddings import Embedder, Kind
from core.settings import EmbeddingSettings
from core.text import search_terms


@cache
def packaged_embedder() -> Embedder:
    """Return the embedder of the product; loading it takes seconds."""
    return Embedder(EmbeddingSettings())


class WordEmbedder(Embedder):
    """One axis a word: the cosine of two texts is shared words / sqrt(words of one * words of the other)."""

    def __init__(self) -> None:
        super().__init__(EmbeddingSettings(model="words"))
        self._axes: dict[str, int] = {}

    def encode(self, texts: Sequence[str], kind: Kind = "query", *, store: bool = True) -> np.ndarray:
        vectors = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in set(search_terms(text)) or {""}:
                vectors[row, self._axes.setdefault(word, len(self._axes))] = 1.0
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if texts else vectors

    def thresholds(self) -> Thresholds:
        return Thresholds(duplicate=0.8, same_condition=0.8, duplicate_mixed=0.8, same_condition_mixed=0.8)
