"""The samples whose right answer a judge can give under a protocol."""

from __future__ import annotations

from dataclasses import replace

from trace.benchmarks.base import Dataset
from trace.errors import DataError


def answerable(dataset: Dataset, answers: str) -> Dataset:
    """Without the samples of classes that the taxonomy lacks, where a class or domain is asked for.

    How many these are is added to the notes. Safe or unsafe (`binary`) can be said of any sample.

    Raises:
        DataError: no sample is left.
    """
    taxonomy = dataset.taxonomy
    names = {c.name for c in (taxonomy.benign, *taxonomy.classes)}
    kept = tuple(s for s in dataset.samples if s.gold.class_ is None or s.gold.class_ in names)
    left_out = len(dataset.samples) - len(kept)
    if answers == "binary" or not left_out:
        return dataset
    if not kept:
        raise DataError(
            f"protocol.answers={answers}: no sample has a class of the taxonomy {taxonomy.name}, "
            "so no answer would be right. Use protocol=binary."
        )
    note = f"{left_out} of {len(dataset.samples)} samples have a class that is no answer: left out."
    return replace(dataset, samples=kept, notes=(*dataset.notes, note))
