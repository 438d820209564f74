"""How alike the items of a set are: skeletons that occur again, and shared runs of words.

A set filled from a few templates measures how a model answers these templates. Masking all but the
function words shows the template whatever stands in its gaps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d(?:[\d.,:/-]*\d)?|[.?!;:,]")
_GAP = "_"
NGRAM = 5
OPENING = 8
"""Words of a text whose skeleton is its opening."""


def words(text: str) -> list[str]:
    """The words, numbers and marks of punctuation of a text, in lower case."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def skeleton(text: str, first: int | None = None) -> tuple[str, ...]:
    """The function words and punctuation of a text in their places; the rest is a gap.

    Nouns, names and numbers are masked, and so are verbs and adjectives: no tagger is needed, and
    more texts count as alike than if only nouns were.

    Args:
        text: in English.
        first: how many words to look at; all when None.
    """
    kept = ENGLISH_STOP_WORDS
    return tuple(
        word if word in kept or not word[0].isalnum() or "'" in word else _GAP
        for word in words(text)[:first]
    )


def repeated(skeletons: Iterable[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """The skeletons that occur more than once, with how often."""
    counts = Counter(skeletons)
    return Counter({key: n for key, n in counts.items() if n > 1})


def ngrams(text: str, n: int = NGRAM) -> frozenset[tuple[str, ...]]:
    """The runs of `n` words of a text, punctuation left out; the whole of a shorter one."""
    said = [word for word in words(text) if word[0].isalnum()]
    if len(said) <= n:
        return frozenset([tuple(said)])
    return frozenset(tuple(said[i : i + n]) for i in range(len(said) - n + 1))


def closest(texts: Sequence[str], n: int = NGRAM) -> tuple[float, tuple[int, int]]:
    """The largest Jaccard similarity of two texts' n-grams, and their places.

    Raises:
        ValueError: there are fewer than two texts.
    """
    grams = [ngrams(text, n) for text in texts]
    return max(
        (len(grams[i] & grams[j]) / len(grams[i] | grams[j]), (i, j))
        for i, j in combinations(range(len(texts)), 2)
    )


def inserted(base: str, steered: str) -> str | None:
    """What was added to `base` in one place to make `steered`; None if more than that differs."""
    added = len(steered) - len(base)
    if added <= 0:
        return None
    start = 0
    while start < len(base) and base[start] == steered[start]:
        start += 1
    if steered[start + added :] != base[start:]:
        return None
    return steered[start : start + added]
