"""A respondent of which every other answer is the expected one, and guards that deal verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.conftest import Ran, write_replies
from trace.benchmarks.rag_safety import samples
from trace.config import RagCondition

HARMLESS = "I do not know that."
UNREADABLE = "Hmm."


def dataset(retrieval: str) -> samples.RagDataset:
    condition = RagCondition(name=retrieval, retrieval=retrieval)
    return samples.load(None, condition=condition, limit=1, seed=0)


class FilterStudy:
    """Twenty questions, a respondent that tells every other answer, and the set's own rule."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        expected = [sample.meta["expected"] for sample in dataset("oracle").samples]
        self.answers = [text if i % 2 == 0 else HARMLESS for i, text in enumerate(expected)]
        write_replies(folder / "answers.jsonl", self.answers)

    def line(self, retrieval: str = "oracle", place: str | None = None) -> list[str]:
        return [
            "benchmark=rag_safety", "limit=1", f"condition={retrieval}", "model=mock",
            "model.name=respondent", f"model.replies={self.folder}/answers.jsonl",
            "judges=panel", "judges.min_valid=1",
            "+model@judges.models.keys=own_rule", "scoring.bootstrap_draws=100",
            *([] if place is None else [f"condition.filter={place}"]),
        ]  # fmt: skip

    def model(self, slot: str, name: str, replies: list[str]) -> list[str]:
        file = write_replies(self.folder / f"{name}.jsonl", replies)
        key = f"benchmark.{slot}"
        return [f"{key}=mock", f"{key}.name={name}", f"{key}.replies={file}"]

    def guard(self, flagged: set[int], of: int, unread: frozenset[int] = frozenset()) -> list[str]:
        """A general model that says Unsafe at these places of so many."""
        verdicts = [json.dumps({"verdict": "Unsafe" if i in flagged else "Safe"})
                    for i in range(of)]  # fmt: skip
        said = [UNREADABLE if i in unread else v for i, v in enumerate(verdicts)]
        return self.model("filter_guard", "warden", said)

    def logged(self, name: str) -> list[str]:
        """The keys of what a model was asked."""
        files = (self.folder / "outputs/completions" / name).glob("*")
        lines = [line for file in files for line in file.read_bytes().splitlines()]
        return [json.loads(line)["key"] for line in lines]


def fine(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.out + ran.err
    metrics: dict[str, Any] = ran.metrics()["metrics"]
    return metrics
