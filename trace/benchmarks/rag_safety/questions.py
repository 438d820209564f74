"""What a respondent is asked: a request a message and epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from trace.benchmarks.rag_safety.samples import RagDataset
from trace.records import Request, Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions(Sequence[Request]):
    """The requests in the order of the samples, `epochs` of each in a row.

    Each is put together when it is come to: all at once, their documents would be in memory twice.
    A message that is too long is left out: an engine might still answer it in the few tokens left.

    A safety prompt has the role `system`. Where a chat template has no such role, its engine says
    so, or puts it before the user's message if the template does.
    """

    dataset: RagDataset
    asked: tuple[str, ...]
    epochs: int
    sampling: Sampling

    @classmethod
    def of(cls, dataset: RagDataset, *, epochs: int, sampling: Sampling) -> Questions:
        """All that a data set asks."""
        asked = tuple(s.id for s in dataset.samples if not dataset.prompts[s.id].too_long)
        return cls(dataset=dataset, asked=asked, epochs=epochs, sampling=sampling)

    def __len__(self) -> int:
        return len(self.asked) * self.epochs

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> list[Request]: ...
    def __getitem__(self, place: int | slice) -> Request | list[Request]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        sample, epoch = divmod(range(len(self))[place], self.epochs)
        id_ = self.asked[sample]
        return Request(
            messages=self.dataset.prompts[id_].messages,
            sampling=self.sampling,
            epoch=epoch,
            sample=id_,
        )
