"""Judges of known accuracy, made without a model: their numbers must come back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from trace.records import Verdict
from trace.report.compare.judged import How, Judge, measure
from trace.report.runs import Observation, Run

CLASSES = (
    "Benign", "PromptInjectionIn", "PromptInjectionOut", "UserInfoLeak", "ApiKeyLeak", "DataLeak",
    "AmbiguousArg", "HallucinatedTool", "HallucinatedArgValue", "RedundantArg",
    "MissingTypeHint", "VersionConflict", "DescriptionMismatch",
)  # fmt: skip
DOMAINS = ("Benign", "PromptInjection", "PrivacyLeakage", "Hallucination",
           "InterfaceInconsistencies")  # fmt: skip
DOMAIN_OF = dict(zip(CLASSES, [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4], strict=True))
LABELS = {
    "binary": ("Safe", "Unsafe"),
    "schema": ("Safe", "Unsafe"),
    "coarse": DOMAINS,
    "fine": CLASSES,
}
HOW = How(unscored="as_wrong", draws=300, seed=0)

Answer = Callable[[str, Mapping[str, Any], random.Random], bool | None]
"""Class, sample metadata, randomness -> right, wrong, or None for no label."""


def gold_of(protocol: str, class_: str) -> str:
    labels = LABELS[protocol]
    place = {"coarse": DOMAIN_OF[class_], "fine": CLASSES.index(class_)}
    return labels[place.get(protocol, int(class_ != "Benign"))]


def make_run(
    answer: Answer,
    *,
    model: str = "judge",
    protocol: str = "fine",
    per_class: int = 90,
    classes: Sequence[str] = CLASSES,
    epochs: int = 1,
    wrong: str | None = None,
    steps: Callable[[random.Random], int] = lambda rng: rng.choice((3, 7, 12, 25)),
    **settings: Any,
) -> Run:
    """A run whose samples are the same whatever the judge: `answer` alone tells them apart."""
    labels = LABELS[protocol]
    observations = []
    for epoch in range(epochs):
        made = random.Random(11)  # the samples
        luck = random.Random(f"{model}{protocol}{epoch}{settings.get('wording', '')}")
        for class_ in classes:
            for i in range(per_class):
                sample = {
                    "class_number": CLASSES.index(class_),
                    "generator": made.choice(("qwen", "mistral-14b", "gpt-5-mini")),
                    "steps": steps(made),
                    "chars": made.randrange(100, 5000),
                }
                gold = gold_of(protocol, class_)
                right = answer(class_, sample, luck)
                others = [label for label in labels if label != gold]
                miss = wrong if wrong is not None and wrong != gold else luck.choice(others)
                label = gold if right else miss
                verdict = (
                    Verdict(status="unparsable")
                    if right is None
                    else Verdict(status="ok", label=label)
                )
                observations.append(
                    Observation(
                        id=f"{class_}-{i:03d}",
                        epoch=epoch,
                        gold=gold,
                        class_=class_,
                        cluster=f"task_{made.randrange(60)}",
                        verdict=verdict,
                        key=f"{model}-{class_}-{i}-{epoch}",
                        reply=f'{{"verdict": "{label}"}}',
                        sample=sample,
                    )
                )
    values: dict[str, Any] = {
        "path": Path(model) / protocol,
        "digest": f"{model}-{protocol}",
        "benchmark": "tracesafe",
        "kind": "general",
        "family": None,
        "parameters": None,
        "variant": "",
        "data": {"file": "abc"},
        "prompt": protocol,
    } | settings
    return Run(
        model=model, protocol=protocol, labels=labels, epochs=epochs,
        observations=tuple(observations), **values,
    )  # fmt: skip


def at(rates: Mapping[str, float], default: float = 0.7) -> Answer:
    """Right with the rate of the class."""
    return lambda class_, _, luck: luck.random() < rates.get(class_, default)


def judge(answer: Answer, **settings: Any) -> Judge:
    return measure(make_run(answer, **settings), HOW)


@pytest.fixture(scope="session")
def thirteen() -> list[Judge]:
    """13 judges under four protocols, two of them guards, one missing in a block."""
    families = ["Qwen3"] * 4 + ["GPT"] * 2 + ["Gemini"] * 2 + ["Llama", "Mistral", "ToolACE"]
    families += ["Llama", "Granite"]
    rng = random.Random(5)
    judges = []
    for protocol in LABELS:
        for i, family in enumerate(families):
            rates = {"Benign": rng.uniform(0.2, 0.95), "ApiKeyLeak": 0.4, "VersionConflict": 0.1}
            if (protocol, i) != ("binary", 4):
                judges.append(
                    judge(
                        at(rates, rng.uniform(0.3, 0.95)),
                        model=f"judge_number_{i:02d}",
                        protocol=protocol,
                        family=family,
                        parameters=1.5 * 2**i,
                        kind="guard" if i > 10 else "general",
                        epochs=2 if i < 6 else 1,
                        per_class=30,
                    )
                )
    return judges


@pytest.fixture(scope="session")
def reworded() -> list[Judge]:
    """13 judges in all variants of three protocols."""
    wordings = ("plain", "reversed", *(f"reworded_{i}" for i in range(1, 5)))
    return [
        judge(
            at({"Benign": 0.9 - 0.05 * i}, 0.3 + 0.05 * i),
            model=f"judge_number_{i:02d}",
            protocol=protocol,
            wording=wording,
            variant="" if wording == "plain" else wording,
            per_class=6,
        )
        for protocol in ("binary", "schema", "fine")
        for i in range(13)
        for wording in wordings
    ]
