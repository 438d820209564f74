from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from trace.records import Verdict
from trace.report.judged import Judged

CLASSES = (
    "PromptInjectionIn", "PromptInjectionOut", "UserInfoLeak", "ApiKeyLeak", "DataLeak",
    "HallucinatedTool", "RedundantTool", "WrongArguments", "AmbiguousArg",
    "HallucinatedArgValue", "VersionConflict", "DescriptionMismatch",
)  # fmt: skip

Planted = Callable[..., tuple[list[Judged], Sequence[str]]]


@pytest.fixture
def planted() -> Planted:
    """A made-up judge of 13 classes: labels and judgements."""

    def make(
        *, fine: bool, per_class: int = 30, clusters: int = 50, silent: float = 0.1
    ) -> tuple[list[Judged], Sequence[str]]:
        rng = random.Random(4)
        labels = ("Benign", *CLASSES) if fine else ("Safe", "Unsafe")
        judged = []
        for class_ in ("Benign", *CLASSES):
            gold = class_ if fine else labels[class_ != "Benign"]
            for _ in range(per_class):
                label = gold if rng.random() < 0.7 else rng.choice(labels)
                ok = Verdict(status="ok", label=label, score=rng.random())
                verdict = Verdict(status="unparsable") if rng.random() < silent else ok
                cluster = f"task_{rng.randrange(clusters)}"
                judged.append(Judged(gold=gold, verdict=verdict, cluster=cluster, class_=class_))
        return judged, labels

    return make
