"""Which payload template a mutant was made with, so that a probe can be tested on unseen ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.text import TfidfVectorizer

from trace.benchmarks.tracesafe.audit.edit import texts
from trace.benchmarks.tracesafe.released import MutationRecord

KEYS = ("template", "injection_type", "mutation_type", "pii_type", "service", "target_type")
"""Keys of `internal_meta` that name a template or the kind of payload, the best one first."""

_DISTANCE = 0.5
"""Added texts whose character n-grams are nearer than this (cosine) are of one template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The template of each record, in their order, and how it was told.

    `source` is a key of `internal_meta`, or "text clusters".
    """

    names: tuple[str, ...]
    source: str

    def halves(self) -> tuple[bool, ...] | None:
        """For each record whether its template is in the first half; None if there is only one.

        Templates are dealt by size to whichever half has fewer records, so none is in both.
        """
        counts = Counter(self.names)
        if len(counts) < 2:
            return None
        first: set[str] = set()
        sizes = [0, 0]
        for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            half = 0 if sizes[0] <= sizes[1] else 1
            sizes[half] += n
            if half == 0:
                first.add(name)
        return tuple(name in first for name in self.names)


def templates(mutants: Sequence[MutationRecord]) -> Templates:
    """Tells the templates of the mutants of one class.

    The first of `KEYS` that every record has, with at least two values and fewer values than
    half the records, names them. Else the texts that a mutant has and its original lacks are
    clustered (average linkage on the cosine of TF-IDF over character n-grams).
    """
    for key in KEYS:
        values = [record.internal_meta.get(key) for record in mutants]
        if None not in values and (
            key == KEYS[0] or 2 <= len(set(map(str, values))) <= max(2, len(values) // 2)
        ):
            return Templates(names=tuple(map(str, values)), source=f"internal_meta.{key}")
    return Templates(names=_clustered([added_text(r) for r in mutants]), source="text clusters")


def added_text(record: MutationRecord) -> str:
    """The texts of a mutant that its original does not have."""
    before = set(texts(record.original.to_json()))
    return "\n".join(t for t in texts(record.trajectory.to_json()) if t not in before)


def _clustered(added: Sequence[str]) -> tuple[str, ...]:
    if len(added) < 2 or not all(text.strip() for text in added):
        return ("one",) * len(added)
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(added)
    labels = AgglomerativeClustering(
        n_clusters=None, distance_threshold=_DISTANCE, metric="cosine", linkage="average"
    ).fit_predict(vectors.toarray())
    return tuple(f"cluster {label}" for label in labels)
