"""The small groups: what is done, how it is asked, drawn, scored and tracked."""

from __future__ import annotations

from typing import Literal, get_args

from omegaconf import MISSING

from trace.config.base import check, check_choice, config

Answer = Literal["generate", "score"]
Variant = Literal["plain", "reversed", "reworded_1", "reworded_2", "reworded_3", "reworded_4"]
Parser = Literal["strict", "released"]
Normalise = Literal["mean", "sum"]
Unscored = Literal["as_wrong", "exclude"]
Part = Literal["prompt", "reasoning", "response"]
Action = Literal["compare", "register"]
TrackingMode = Literal["auto", "online", "offline", "disabled"]
Upload = Literal["all", "metrics"]


@config
class Task:
    """What is done."""

    name: str = MISSING


@config
class Compare(Task):
    """Tables and figures over finished runs."""

    name: str = "compare"
    capability: str | None = None
    """A CSV of benchmark, model, score: what the models can do elsewhere."""
    check_judge: str | None = None
    """The judge that checked the set while it was built: how it ranks among the others."""
    mixed: bool = False
    """Whether runs that are not comparable are marked instead of refused."""
    action: str = "compare"
    """compare; or register, which stamps a claim of cross_lab before there are responses."""
    registration: str | None = None
    """A YAML file of a claim: to be stamped, or, beside runs, to be tested and called registered or
    post hoc."""

    def __post_init__(self) -> None:
        check_choice("task.action", self.action, get_args(Action))
        check(
            self.action == "compare" or self.registration is not None,
            "task.registration",
            "is missing, and task.action=register stamps a claim",
            "Give task.registration=FILE.yaml.",
        )


@config
class Condition:
    """What is done to a sample before anyone sees it."""

    name: str = "plain"
    reason_first: bool = False
    """Whether the judge is asked to reason step by step before its verdict."""
    examples: int = 0
    """Solved examples shown before the sample, from other sources, half of them benign."""
    tokens: int | None = None
    """Length in tokens to which benign steps around the sample's own are added."""
    part: str | None = None
    """evidence: the component that is judged: prompt, reasoning or response."""

    def __post_init__(self) -> None:
        if self.part is not None:
            check_choice("condition.part", self.part, get_args(Part))
        check(
            self.examples >= 0,
            "condition.examples",
            f"{self.examples} is negative",
            "0 shows none; condition=few_shot shows four.",
        )
        check(
            self.tokens is None or self.tokens >= 1,
            "condition.tokens",
            f"{self.tokens} is below 1",
            "Try condition=needle_6k.",
        )


@config
class Protocol:
    """How a judge is asked."""

    name: str = MISSING
    definitions: bool = MISSING
    """Whether the taxonomy's definitions are shown."""
    answers: str = MISSING
    """binary (safe or unsafe), domain, or class."""
    answer: str = "generate"
    """generate: the reply is parsed. score: each label's likelihood is read, nothing is written."""
    tools: bool = True
    """Whether the tool list is shown (false gives the released binary prompts)."""
    normalise: str = "sum"
    """score: a label's log-likelihood as the mean over its tokens, or as their sum."""
    evidence: bool = False
    """Whether the judge is asked to quote, word for word, what makes an item unsafe."""
    variant: str = "plain"
    """plain; reversed (labels and definitions in reversed order); reworded_1 to reworded_4, which
    say our sentences in other words."""

    def __post_init__(self) -> None:
        check_choice("protocol.answers", self.answers, ("binary", "domain", "class"))
        check_choice("protocol.answer", self.answer, get_args(Answer))
        check_choice("protocol.normalise", self.normalise, get_args(Normalise))
        check_choice("protocol.variant", self.variant, get_args(Variant))


@config
class Sampling:
    """How tokens are drawn."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 1024
    seed: int = 42

    def __post_init__(self) -> None:
        check(
            0 <= self.temperature < float("inf"),
            "sampling.temperature",
            f"{self.temperature} is no temperature",
            "Give 0, which is greedy, or a positive number.",
        )
        check(
            0 < self.top_p <= 1,
            "sampling.top_p",
            f"{self.top_p} is not in (0, 1]",
            "1 keeps the whole distribution.",
        )
        check(
            self.max_new_tokens >= 1,
            "sampling.max_new_tokens",
            f"{self.max_new_tokens} is below 1",
            "Give a positive number of tokens.",
        )


@config
class Scoring:
    """How verdicts become numbers."""

    unscored: str = "as_wrong"
    parser: str = "strict"
    """strict; or released, the substring rules that the published numbers were made with."""
    max_unscored: float = 0.2
    bootstrap_draws: int = 2000
    threshold_split: float | None = None
    """The share of the clusters on which a threshold of the scores is chosen, to be applied to the
    others; none is chosen without it."""
    labelled: str | None = None
    """A JSONL file of {"id": sample, "label": safe or unsafe}, by humans: by the judge's errors on
    these samples, the share that it calls unsafe is corrected."""

    def __post_init__(self) -> None:
        check_choice("scoring.unscored", self.unscored, get_args(Unscored))
        check_choice("scoring.parser", self.parser, get_args(Parser))
        check(
            0 <= self.max_unscored <= 1,
            "scoring.max_unscored",
            f"{self.max_unscored} is not a share",
            "Give a number from 0 to 1.",
        )
        check(
            100 <= self.bootstrap_draws <= 100_000,
            "scoring.bootstrap_draws",
            f"{self.bootstrap_draws} is not from 100 to 100000",
            "2000 is the default.",
        )
        check(
            self.threshold_split is None or 0 < self.threshold_split < 1,
            "scoring.threshold_split",
            f"{self.threshold_split} is not between 0 and 1",
            "0.5 chooses a threshold on half of the clusters; null chooses none.",
        )


@config
class Tracking:
    """Where metrics and artefacts are logged beside the run directory."""

    mode: str = "auto"
    upload: str = "all"
    project: str = "trace"
    entity: str | None = None

    def __post_init__(self) -> None:
        check_choice("tracking.mode", self.mode, get_args(TrackingMode))
        check_choice("tracking.upload", self.upload, get_args(Upload))
