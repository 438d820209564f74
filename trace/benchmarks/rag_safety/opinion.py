"""What a judge or a guard said of something, beside the panel's verdict on harm."""

from __future__ import annotations

from dataclasses import dataclass

from trace.records import Completion, Json, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A verdict and who gave it.

    `completions` are empty where no model was asked; a guard may be asked several things at once.
    """

    judge: str
    verdict: Verdict
    completions: tuple[Completion, ...] = ()

    @property
    def seconds(self) -> float:
        """What its completions took, as the log has them."""
        return sum(completion.seconds for completion in self.completions)

    def to_json(self) -> dict[str, Json]:
        """What stands in records.jsonl; `completion` is a list where there are several."""
        made: list[Json] = [completion.in_record() for completion in self.completions]
        one = made[0] if len(made) == 1 else made or None
        return {"judge": self.judge, **self.verdict.to_json(), "completion": one}
