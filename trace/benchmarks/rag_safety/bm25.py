"""Documents by the words that they share with a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

NAME = "bm25s"
K1, B, METHOD = 1.5, 0.75, "lucene"
"""Robertson's BM25 as Lucene computes it, whose inverse document frequency is never negative, with
the library's settings."""


@dataclass(frozen=True, kw_only=True)
class Bm25:
    """An index of texts.

    Words are runs of two or more letters or digits in lower case, without the library's English
    stop words; they are not stemmed.
    """

    size: int
    index: Any
    """None where no text has a word."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Bm25:
        """Reads every text once."""
        ids, vocabulary = bm25s.tokenize(texts, stopwords="en", show_progress=False)
        if not vocabulary:
            return cls(size=len(ids), index=None)
        index = bm25s.BM25(k1=K1, b=B, method=METHOD, dtype="float64")
        index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        return cls(size=len(ids), index=index)

    @property
    def identity(self) -> Mapping[str, str]:
        """The library and its settings, by its name."""
        return {NAME: f"{version(NAME)}, {METHOD}, k1={K1}, b={B}, English stop words"}

    def scores(self, question: str) -> NDArray[np.float64]:
        """Of each text [texts]: 0 where it shares no word with the question."""
        (words,) = bm25s.tokenize(question, stopwords="en", return_ids=False, show_progress=False)
        known = self.index.get_tokens_ids(words) if self.index else []
        if not known:
            return np.zeros(self.size)
        found: NDArray[np.float64] = self.index.get_scores_from_ids(known)
        return found

    def matches(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which texts can be found at all: those that share a word."""
        return scores > 0
