"""Shortcut probe 2: is there a phrase that many mutants of a class have, and no benign record?"""

from __future__ import annotations

import re
from collections import Counter

from trace.benchmarks.tracesafe.audit.collection import Collection
from trace.benchmarks.tracesafe.audit.wording import Wording
from trace.benchmarks.tracesafe.names import BENIGN
from trace.records import Json
from trace.report.entry import from_rate
from trace.stats.rates import rate

WORDS = 3
_WORD = re.compile(r"\w+")


def phrases(text: str) -> set[tuple[str, ...]]:
    """The distinct runs of three words of a text, in lower case."""
    words = _WORD.findall(text.casefold())
    return set(zip(*(words[i:] for i in range(WORDS)), strict=False))


def worst(collection: Collection) -> dict[str, Json]:
    """Class -> the phrase that most of its records have and no benign one, and their share.

    `phrase` is None where every phrase of the class stands in a benign record too. Of equally
    frequent phrases the longest is named, then the first by the alphabet.
    """
    records = collection.records
    wording = Wording.of(records)
    of_text = [phrases(text) for text in wording.texts]
    benign = {
        phrase
        for record, has in zip(records, wording.has, strict=True)
        if record.class_ is BENIGN
        for i in has
        for phrase in of_text[i]
    }
    left = [found - benign for found in of_text]
    counts: dict[str, Counter[tuple[str, ...]]] = {}
    sizes: Counter[str] = Counter()
    for record, has in zip(records, wording.has, strict=True):
        if record.class_ is not BENIGN:
            sizes[record.class_.name] += 1
            here = {phrase for i in has for phrase in left[i]}
            counts.setdefault(record.class_.name, Counter()).update(here)
    return {name: _row(found, sizes[name]) for name, found in counts.items()}


def _row(found: Counter[tuple[str, ...]], n: int) -> dict[str, Json]:
    k, phrase = 0, None
    if found:
        phrase, k = min(
            found.items(), key=lambda item: (-item[1], -sum(map(len, item[0])), item[0])
        )
    share = from_rate(rate(k, n - k, 0, unscored_as="exclude"), higher_is_better=False)
    return {"phrase": None if phrase is None else " ".join(phrase), "k": k, "share": share}
