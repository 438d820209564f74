"""Respondents with known rates and judges with known errors, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.judgements import HUMAN, Judgement
from trace.report.rag_safety.words import CONDITIONS, PHRASES

HOW = How(unscored="exclude", draws=200, seed=0)
SUBCATEGORIES = {
    "lantern_theft": "lanterns", "lantern_dimming": "lanterns", "tide_fraud": "tides",
    "tide_blocking": "tides", "bell_forgery": "bells",
}  # fmt: skip
RESPONDENTS = ("gemma-3-12b-it", "llama-3.1-8b-instruct", "ministral-3-8b-instruct",
               "qwen-2.5-7b-instruct", "phi-4-14b")  # fmt: skip
RATES: dict[str, Sequence[float]] = dict(
    zip(
        RESPONDENTS,
        ((0.2, 0.5, 0.22, 0.05), (0.25, 0.45, 0.2, 0.1), (0.4, 0.6, 0.42, 0.2),
         (0.22, 0.75, 0.6, 0.1), (0.05, 0.2, 0.06, 0.02)),
        strict=True,
    )
)  # fmt: skip
"""Respondent -> the planted rate of harm under each of `CONDITIONS`."""


@dataclass(frozen=True)
class Error:
    """How often a judge finds harm, clears what has none, and gives no label."""

    sensitivity: float
    specificity: float
    fails: float = 0.0


JUDGES: dict[str, Error] = {
    "llama_guard_3_8b": Error(0.9, 0.95, 0.01),
    "shieldgemma_2b": Error(0.7, 0.9, 0.0),
    "wildguard": Error(0.92, 0.9, 0.02),
}


@dataclass(frozen=True)
class Plan:
    """What is made up."""

    items: int = 346
    benign: int = 0
    rates: Mapping[str, Sequence[float]] = field(default_factory=lambda: RATES)
    judges: Mapping[str, Error] = field(default_factory=lambda: JUDGES)
    human: int = 0
    others: bool = False
    epochs: int = 1
    variants: bool = False
    seed: int = 1


def votes(truth: NDArray[np.bool_], error: Error, luck: np.random.Generator) -> NDArray[np.int8]:
    """What a judge says of answers that are harmful or not: 1, 0, or −1 for nothing."""
    hit = luck.random(truth.shape) < np.where(truth, error.sensitivity, 1 - error.specificity)
    silent = luck.random(truth.shape) < error.fails
    return np.where(silent, -1, hit).astype(np.int8)


def panel_rate(rate: float, judges: Sequence[Error]) -> float:
    """The expected share called unsafe by two of three, among answers with two votes or more."""
    unsafe = decided = 0.0
    for outcome in product((0, 1, -1), repeat=len(judges)):
        chance = 0.0
        for harmful, weight in ((True, rate), (False, 1 - rate)):
            for vote, error in zip(outcome, judges, strict=True):
                says_unsafe = error.sensitivity if harmful else 1 - error.specificity
                spoken = (1 - error.fails) * (says_unsafe if vote == 1 else 1 - says_unsafe)
                weight *= error.fails if vote == -1 else spoken
            chance += weight
        if sum(vote >= 0 for vote in outcome) >= 2:
            decided += chance
            unsafe += chance * (outcome.count(1) >= 2)
    return unsafe / decided


def lines(plan: Plan) -> Iterator[dict[str, Json]]:
    """The lines of a file of judgements."""
    luck = np.random.default_rng(plan.seed)
    names = list(SUBCATEGORIES)
    for (respondent, rates), (c, condition) in product(plan.rates.items(), enumerate(CONDITIONS)):
        for epoch in range(plan.epochs):
            truth = luck.random(plan.items) < rates[c]
            said = {judge: votes(truth, error, luck) for judge, error in plan.judges.items()}
            labelled = luck.random(plan.items) < plan.human / (
                plan.items * len(plan.rates) * len(CONDITIONS)
            )
            for i in range(plan.items):
                group = names[i % len(names)]
                base: dict[str, Any] = {
                    "item": f"q{i:03d}", "respondent": respondent, "condition": condition,
                    "subcategory": group, "family": SUBCATEGORIES[group],
                }  # fmt: skip
                if plan.epochs > 1:
                    base["epoch"] = epoch
                for judge, of in said.items():
                    yield base | {"judge": judge} | _label(int(of[i]))
                if labelled[i]:
                    yield base | {"judge": HUMAN, "label": "harmful" if truth[i] else "harmless"}
                if plan.others:
                    yield from _others(base, bool(truth[i]), luck)
    for respondent, i in product(plan.rates, range(plan.benign)):
        yield {
            "item": f"b{i}", "respondent": respondent, "condition": "oracle", "judge": "reader",
            "measure": "accuracy", "benign": True,
            "label": "accurate" if luck.random() < 0.8 else "inaccurate",
        }  # fmt: skip


def _label(vote: int) -> dict[str, Json]:
    if vote < 0:
        return {"label": None, "status": "unparsable"}
    return {"label": ("safe", "unsafe")[vote]}


def _others(base: Mapping[str, Json], harmful: bool, luck: np.random.Generator) -> Iterator[Any]:
    accurate = luck.random() < (0.9 if harmful else 0.1)
    yield {**base, "measure": "accuracy", "judge": "reader",
           "label": "accurate" if accurate else "inaccurate"}  # fmt: skip
    kinds = ("none", "unwilling", "uninformed", "both", "other")
    kind = "none" if harmful else str(luck.choice(kinds, p=(0.1, 0.5, 0.2, 0.15, 0.05)))
    yield {**base, "measure": "refusal", "judge": "reader", "label": kind}
    found = luck.random() < (0.05 if kind == "none" else 0.9)
    yield {**base, "measure": "refusal", "judge": PHRASES, "label": "refused" if found else "none"}


VARIANTS: dict[str, tuple[float, float | None]] = {
    "oracle+filter_output": (0.1, 0.6), "oracle+safety_prompt": (0.3, 0.8),
    "oracle_random": (0.4, None), "oracle_random+reversed": (0.5, None),
    "oracle_random+filter_retrieval+safety_prompt": (0.2, None), "retrieved": (0.5, None),
}  # fmt: skip
"""Condition -> the planted rate of harm, and of accuracy on benign items."""


def variants(plan: Plan) -> Iterator[dict[str, Json]]:
    """Further lines: conditions with mitigations, other orders, and a retriever."""
    luck = np.random.default_rng(plan.seed + 1)
    for (respondent, rates), condition in product(plan.rates.items(), (*VARIANTS, "oracle")):
        harm, accurate = VARIANTS.get(condition, (rates[1], None))
        for i in range(plan.items):
            base = {"item": f"q{i:03d}", "respondent": respondent, "condition": condition}
            unsafe = luck.random() < harm
            if condition != "oracle":
                blocked = condition == "oracle+filter_output" and luck.random() < 0.4
                if not blocked:
                    yield from ({**base, "judge": judge, "label": ("safe", "unsafe")[unsafe]}
                                for judge in plan.judges)  # fmt: skip
                if condition == "oracle+filter_output":
                    yield {**base, "measure": "blocked", "judge": "filter",
                           "label": "output" if blocked else "none"}  # fmt: skip
            if condition == "retrieved":
                yield {**base, "measure": "retrieval", "judge": "retriever",
                       "label": str(luck.choice(("found", "missed", "not_held")))}  # fmt: skip
            if condition in ("oracle", "retrieved"):
                label = str(luck.choice(("actionable", "not_actionable")))
                yield {**base, "measure": "actionability", "judge": "reader", "label": label}
        for i in range(plan.benign if accurate is not None else 0):
            yield {"item": f"b{i}", "respondent": respondent, "condition": condition,
                   "judge": "reader", "measure": "accuracy", "benign": True,
                   "label": "accurate" if luck.random() < accurate else "inaccurate"}  # fmt: skip


def judgements(plan: Plan) -> list[Judgement]:
    """The same, without a file."""
    made = []
    for line in chain(lines(plan), variants(plan) if plan.variants else ()):
        own = {k: v for k, v in line.items() if k not in ("subcategory", "family", "benign")}
        label = {"harmful": "unsafe", "harmless": "safe"}.get(own["label"], own["label"])
        columns = {k: line[k] for k in ("subcategory", "family", "benign") if k in line}
        made.append(Judgement(**({"measure": "harm"} | own | {"label": label, "columns": columns})))
    return made
