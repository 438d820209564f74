"""Documents by the nearness of their vectors to a question's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.errors import ConfigError

NAME = "sentence-transformers"
_AT_ONCE = 256
"""Texts that are read at a time."""


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Vectors of texts [texts, width], each of length 1, and the encoder that made them."""

    encoder: Any
    name: str
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, texts: Iterable[str], encoder: str) -> Dense:
        """Reads every text once. The vectors are kept in memory alone.

        Args:
            texts: what is searched; a text that is longer than the encoder reads is cut by it.
            encoder: a sentence-transformers model by its id or folder.

        Raises:
            ConfigError: the library is not installed, or the model cannot be loaded.
        """
        model = _loaded(encoder)
        remaining = iter(texts)
        vectors = [
            model.encode_document(some, normalize_embeddings=True, show_progress_bar=False)
            for some in iter(lambda: list(islice(remaining, _AT_ONCE)), [])
        ]
        return cls(
            encoder=model,
            name=Path(encoder).name,
            vectors=np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32),
        )

    @property
    def identity(self) -> Mapping[str, str]:
        """The library, the modules and the weights, by the encoder's name."""
        sha256 = hashlib.sha256(repr(self.encoder).encode())
        for part in _parameters(self.encoder):
            sha256.update(part)
        return {f"{NAME} {self.name}": f"{version(NAME)}, {sha256.hexdigest()}"}

    def scores(self, question: str) -> NDArray[np.float64]:
        """The cosine of each text and the question [texts].

        A question is encoded by itself, since numbers depend on what stands in a batch.
        """
        if not len(self.vectors):
            return np.zeros(0)
        (vector,) = self.encoder.encode_query(
            [question], normalize_embeddings=True, show_progress_bar=False
        )
        found: NDArray[np.float64] = (self.vectors @ vector).astype(np.float64)
        return found

    def matches(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which texts can be found at all: every one."""
        return np.ones(len(scores), dtype=bool)


def _loaded(encoder: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ConfigError(
            f"condition.retriever: dense needs {NAME}, which is not installed ({error}). Type: "
            "pip install -c constraints.txt '.[dense]', or use condition.retriever=bm25."
        ) from error
    try:
        return SentenceTransformer(
            encoder, model_kwargs={"use_safetensors": True, "dtype": "float32"}
        )
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).strip().split("\n")[0]
        raise ConfigError(
            f"condition.encoder: {encoder} cannot be loaded ({why}). Give a sentence-transformers "
            "model with safetensors weights, by its id or its folder."
        ) from error


def _parameters(encoder: Any) -> Iterator[bytes]:
    for name, tensor in sorted(encoder.state_dict().items()):
        yield name.encode()
        yield tensor.cpu().contiguous().numpy().tobytes()
