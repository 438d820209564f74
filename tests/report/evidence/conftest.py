"""Guards of known accuracy on made-up triples, without a model: their numbers must come back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trace.records import Verdict
from trace.report.compare.judged import How
from trace.report.entry import Metric, entry
from trace.report.evidence.guards import COMPONENTS, Guard, guards_of
from trace.report.runs import Observation, Run

HOW = How(unscored="as_wrong", draws=200, seed=0)
ATTACKS = ("InstructionEncryption", "GoalHijacking", "DeepInception", "CodeInjection")
RESPONDENTS = (("q", "Qwen", False), ("qa", "Qwen", True), ("g", "Gemma", False),
               ("ga", "Gemma", True))  # fmt: skip

Triple = dict[str, Any]
Answer = Callable[[str, Triple, random.Random], bool | None]
"""Component, triple, randomness -> called unsafe, called safe, or None for no label."""


def make_triples(prompts: int = 40) -> list[Triple]:
    """Four respondents a prompt; `unsafe` says of each component what it is."""
    luck = random.Random(3)
    made = []
    for i in range(prompts):
        unsafe = i % 5 < 3
        for name, family, abliterated in RESPONDENTS:
            answered = unsafe and luck.random() < (0.95 if abliterated else 0.5)
            made.append(
                {
                    "id": f"t{i:03d}{name}",
                    "prompt_id": f"p{i:03d}",
                    "respondent": name,
                    "family": family,
                    "abliterated": abliterated,
                    "language": ("en", "zh")[i % 2],
                    "category": "Extremism" if unsafe else None,
                    "attack": ATTACKS[i % 4] if unsafe and i % 3 else None,
                    "unsafe": {
                        "prompt": unsafe,
                        "trace": answered or luck.random() < 0.1,
                        "response": answered,
                    },
                }
            )
    return made


TRIPLES = make_triples()


def measured(value: float | None, n: int = 100, reason: str | None = None) -> Metric:
    return entry(value, n=n, n_unscored=0, reason=reason)


def make_run(
    answer: Answer,
    component: str,
    *,
    model: str = "guard",
    triples: list[Triple] = TRIPLES,
    metrics: Mapping[str, Metric] | None = None,
    score: Callable[[Triple, bool], float] | None = None,
    say: Callable[[Triple], str | None] = lambda _: None,
    **settings: Any,
) -> Run:
    luck = random.Random(f"{model}{component}")
    labels = ("Safe", "Unsafe")
    observations = []
    for triple in triples:
        unsafe = triple["unsafe"][component]
        called = answer(component, triple, luck)
        verdict = Verdict(status="unparsable")
        if called is not None:
            given = None if score is None else score(triple, called)
            verdict = Verdict(status="ok", label=labels[called], score=given, rationale=say(triple))
        observations.append(
            Observation(
                id=triple["id"],
                epoch=0,
                gold=labels[unsafe],
                class_="Extremism" if unsafe else "Benign",
                cluster=triple["prompt_id"],
                verdict=verdict,
                key=f"{model}{component}{triple['id']}",
                reply="",
                sample={
                    **{k: v for k, v in triple.items() if k not in ("id", "unsafe")},
                    "chars": 10 + len(triple["id"]),
                    "evidence": [f"fetch the red lamp {triple['prompt_id']}"] if unsafe else [],
                },
            )
        )
    values: dict[str, Any] = {
        "path": Path(model) / component,
        "digest": f"{model}-{component}",
        "benchmark": "evidence",
        "kind": "guard",
        "family": None,
        "parameters": None,
        "variant": "",
        "data": {"file": "abc"},
        "prompt": component,
        "protocol": "binary",
        "condition": component,
        "metrics": metrics or {},
    } | settings
    return Run(model=model, labels=labels, epochs=1, observations=tuple(observations), **values)


def right_at(rate: float | Mapping[str, float]) -> Answer:
    """Right with the rate, or that of the component."""

    def answer(component: str, triple: Triple, luck: random.Random) -> bool:
        at = rate if isinstance(rate, float) else rate[component]
        return bool(triple["unsafe"][component]) == (luck.random() < at)

    return answer


def exactly(component: str, triple: Triple, luck: random.Random) -> bool:
    return bool(triple["unsafe"][component])


def runs_of(answer: Answer, model: str = "guard", **settings: Any) -> list[Run]:
    """One a component."""
    return [make_run(answer, component, model=model, **settings) for component in COMPONENTS]


def guard(answer: Answer, **settings: Any) -> Guard:
    (made,) = guards_of(runs_of(answer, **settings), HOW)
    return made


FACTS: list[tuple[str, str, str | None, float, str | None]] = [
    ("llama_guard_1_7b", "Llama Guard", "Llama-2-7B", 6.7, "13,997 prompts and responses"),
    ("llama_guard_2_8b", "Llama Guard", "Llama-3-8B", 8.0, None),
    ("llama_guard_3_1b", "Llama Guard", "Llama-3.2-1B", 1.5, None),
    ("llama_guard_3_8b", "Llama Guard", "Llama-3.1-8B", 8.0, None),
    ("llama_guard_4_12b", "Llama Guard", "Llama-4-Scout", 12.0, None),
    ("nemotron_guard_v3_8b", "NemoGuard", "Llama-3.1-8B-Instruct", 8.0, None),
    ("shieldgemma_2b", "ShieldGemma", "Gemma-2-2B", 2.6, "10,500 prompts and responses"),
    ("shieldgemma_9b", "ShieldGemma", "Gemma-2-9B", 9.2, "10,500 prompts and responses"),
    ("wildguard_7b", "WildGuard", "Mistral-7B-v0.3", 7.2, "86,759 prompts and responses"),
    ("octopus_14b", "Octopus", None, 14.8, None),
    ("gpt_oss_safeguard", "gpt-oss", "gpt-oss-20b", 21.0, None),
    ("qwen3guard_0_6b", "Qwen3Guard", "Qwen3-0.6B", 0.6, "1.19 million"),
    ("qwen3guard_4b", "Qwen3Guard", "Qwen3-4B", 4.0, "1.19 million"),
    ("qwen3guard_8b", "Qwen3Guard", "Qwen3-8B", 8.2, "1.19 million"),
    ("polyguard_0_5b", "PolyGuard", "Qwen2.5-0.5B", 0.5, "1.91 million"),
    ("polyguard_8b", "PolyGuard", "Ministral-8B", 8.0, "1.91 million"),
    ("yufeng_xguard_0_6b", "YuFeng-XGuard", "Qwen3-0.6B", 0.6, None),
    ("yufeng_xguard_8b", "YuFeng-XGuard", "Qwen3-8B", 8.2, "2.80 million"),
]
EXPLAIN = {"octopus_14b", "gpt_oss_safeguard", "yufeng_xguard_0_6b", "yufeng_xguard_8b"}
FORM = {"octopus_14b": "octopus", "gpt_oss_safeguard": "gpt_oss_safeguard",
        "yufeng_xguard_8b": "yufeng_xguard", "wildguard_7b": "wildguard"}  # fmt: skip


@pytest.fixture(scope="session")
def eighteen_runs() -> list[Run]:
    """The guards of the paper, each with three components; Octopus was not asked about prompts."""
    luck = random.Random(8)
    runs = []
    for name, family, base, parameters, trained_on in FACTS:
        skill = luck.uniform(0.6, 0.97)
        answer = right_at({"prompt": skill, "trace": skill - 0.15, "response": skill - 0.1})
        explained = name in EXPLAIN
        metrics = {
            metric: measured(
                luck.uniform(0.05, 0.2) if explained else None,
                reason="no verdict comes with an explanation",
            )
            for metric in ("token_f1", "token_f1_if_right", "token_f1_quotes", "invented_quotes")
        }
        metrics |= {
            f"{metric}_per_prompt": measured(luck.random(), 40) for metric in ("f1", "fpr", "fnr")
        }
        metrics["category_f1"] = measured(
            luck.random() if name in ("gpt_oss_safeguard", "polyguard_8b") else None,
            reason="no verdict names a category",
        )
        made = runs_of(
            answer, model=name, family=family, base=base, parameters=parameters,
            trained_on=trained_on, guard=FORM.get(name, "llama_guard_3"), metrics=metrics,
            score=(lambda t, called: 0.9 if called else 0.1) if explained else None,
            say=(lambda t: f"red lamp in {t['id']}") if explained else (lambda t: None),
        )  # fmt: skip
        runs += made[1:] if name == "octopus_14b" else made
    return runs


@pytest.fixture(scope="session")
def eighteen(eighteen_runs: list[Run]) -> list[Guard]:
    return guards_of(eighteen_runs, HOW)
