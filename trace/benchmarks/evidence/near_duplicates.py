"""Whether a text nearly repeats another, by the Jaccard similarity of their character n-grams."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from trace.benchmarks.evidence.triple import Language

Shingles = npt.NDArray[np.uint64]

THRESHOLD = Fraction(4, 5)
"""Texts at least this similar are near-duplicates, as in Lee et al. 2022 (arXiv 2107.06499)."""
WIDTH: dict[Language, int] = {"en": 5, "zh": 3}
"""Characters of an n-gram: a Chinese one says more."""
WRAPPING = Fraction(1, 100)
"""An n-gram in more than this share of an attack's prompts, and in more than `_FEW`, is part of
how the attack wraps a question."""

_BETWEEN: dict[Language, str] = {"en": " ", "zh": ""}
_FEW = 5
_BUCKETS_LOG2 = 20
_ODD = np.uint64(0x9E3779B97F4A7C15)


def shingles(text: str, language: Language) -> Shingles:
    """The hashed n-grams of a text without regard to case, width or punctuation.

    Returns:
        Distinct 64-bit numbers, ascending; at least one.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = re.sub(r"[\W_]+", _BETWEEN[language], plain).strip() or plain
    points = np.frombuffer(words.encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    width = min(WIDTH[language], len(points))
    hashed = np.zeros(len(points) - width + 1, dtype=np.uint64)
    for place in range(width):
        hashed = hashed * _ODD + points[place : len(points) - width + 1 + place]
    return np.unique(hashed ^ (hashed >> np.uint64(29)))


class NearDuplicates:
    """The texts taken so far of one language and one kind, none nearly repeating another.

    Every text is compared with every other, exactly: two sets of n-grams that are similar enough
    share one among the rarest of each, so only those are indexed (the prefix filter of Bayardo et
    al. 2007, "Scaling up all pairs similarity search").

    Prompts of one attack share its wrapping and differ in the question inside. With `wrapped` the
    commonest n-grams are left out of the comparison, as Broder et al. 1997 ("Syntactic clustering
    of the web") leave them out, so that what is compared is the question.
    """

    def __init__(self, texts: Collection[str], language: Language, *, wrapped: bool) -> None:
        """Counts n-grams.

        Args:
            texts: what may be taken; their order does not matter.
            language: of all of them.
            wrapped: whether all of them are prompts of one attack.
        """
        self._language = language
        self._frequency = np.zeros(1 << _BUCKETS_LOG2, dtype=np.int32)
        for text in texts:
            self._frequency[np.unique(_buckets(shingles(text, language)))] += 1
        self._common = max(_FEW, int(WRAPPING * len(texts))) if wrapped else len(texts)
        self._taken: list[Shingles] = []
        self._index: dict[int, list[int]] = {}

    def take(self, text: str) -> bool:
        """Takes a text unless it nearly repeats one that was taken; says whether it did."""
        found, rarest = self._compared(text)
        places = {place for one in rarest for place in self._index.get(one, ())}
        if any(similarity(found, self._taken[place]) >= THRESHOLD for place in sorted(places)):
            return False
        for one in rarest:
            self._index.setdefault(one, []).append(len(self._taken))
        self._taken.append(found)
        return True

    def _compared(self, text: str) -> tuple[Shingles, list[int]]:
        """What of a text is compared, and the rarest of that."""
        found = shingles(text, self._language)
        frequency = self._frequency[_buckets(found)]
        rare = frequency <= self._common
        if rare.any():  # else it is nothing but wrapping
            found, frequency = found[rare], frequency[rare]
        enough = len(found) - math.ceil(THRESHOLD * len(found)) + 1
        return found, found[np.lexsort((found, frequency))[:enough]].tolist()


def similarity(a: Shingles, b: Shingles) -> Fraction:
    """Jaccard's: how much of what either has both have."""
    both = len(np.intersect1d(a, b, assume_unique=True))
    return Fraction(both, len(a) + len(b) - both)


def _buckets(found: Shingles) -> npt.NDArray[np.intp]:
    return (found >> np.uint64(64 - _BUCKETS_LOG2)).astype(np.intp)
