"""A request, the answer it got, and whether that asks back."""

from __future__ import annotations

from dataclasses import dataclass

from trace.benchmarks.clarify.items import Item
from trace.benchmarks.clarify.taxonomy import ASKS_BACK
from trace.records import Completion, Json, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One answer. `record` says who judged it how; it has no judges where there is no answer."""

    item: Item
    response: Completion
    record: Record

    @property
    def asks_back(self) -> bool | None:
        """Whether it asks back; None without a label."""
        label = self.record.verdict.label
        return None if label is None else label == ASKS_BACK

    @property
    def filtered(self) -> bool:
        """Whether the provider's filter stopped it: its refusal, not the model's."""
        return self.response.finish == "content_filter"

    def to_json(self) -> dict[str, Json]:
        """One line of records.jsonl."""
        return self.record.to_json() | {
            "request": self.item.text,
            "response": self.response.in_record(),
            "excluded": sorted(self.record.excluded),
        }
