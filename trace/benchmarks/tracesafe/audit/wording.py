"""The texts of records, taken apart once each: the same tools stand in every record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from trace.benchmarks.tracesafe.audit.edit import texts
from trace.benchmarks.tracesafe.released import MutationRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The distinct texts of some records, and which record has which.

    The whole trace object is taken, keys and values, as the released code shows it to guards:
    what a narrower view shows is a part of it.
    """

    texts: Sequence[str]
    has: Sequence[Sequence[int]]
    """For each record the numbers of its texts."""

    @classmethod
    def of(cls, records: Iterable[MutationRecord]) -> Wording:
        """Takes the texts of the records, in their order."""
        number: dict[str, int] = {}
        has = [
            sorted(
                number.setdefault(text, len(number))
                for text in dict.fromkeys(texts(record.trajectory.to_json()))
            )
            for record in records
        ]
        return cls(texts=tuple(number), has=has)

    @property
    def membership(self) -> csr_matrix:
        """1 where a record has a text, [records, texts]."""
        columns = np.concatenate([np.asarray(row, dtype=np.intp) for row in self.has])
        starts = np.cumsum([0, *map(len, self.has)])
        shape = (len(self.has), len(self.texts))
        return csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), shape=shape)
