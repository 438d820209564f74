"""What judges and guards of RAG-Safety-Bench are given of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.rag_safety.samples import RagDataset
from trace.records import Sample


def before_judges(dataset: RagDataset, shown: Sequence[Sample]) -> Dataset:
    """The samples with what judges need of the rest: no documents, which take most memory."""
    return Dataset(
        samples=tuple(shown),
        taxonomy=dataset.taxonomy,
        fingerprint=dataset.fingerprint,
        licence=dataset.licence,
        notes=dataset.notes,
        rule_judges=dataset.rule_judges,
    )


def judging(settings: config.Root) -> config.Root:
    """How judges are asked: greedily and once, whatever the respondent is."""
    greedy = replace(settings.sampling, temperature=0.0, top_p=1.0)
    return replace(settings, epochs=1, sampling=greedy)
