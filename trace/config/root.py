"""The whole configuration of one run, and the part of it that can change a result."""

from __future__ import annotations

import dataclasses
from typing import Any

from omegaconf import MISSING

from trace.config.annotate import Annotate
from trace.config.base import check, config
from trace.config.benchmarks import MODEL_SLOTS, Benchmark
from trace.config.groups import Condition, Protocol, Sampling, Scoring, Task, Tracking
from trace.config.judges import Judges
from trace.config.models import Model, RuleModel
from trace.config.retrieval import RagCondition


@config
class Root:
    """The whole configuration of one run."""

    task: Task = MISSING
    benchmark: Benchmark = MISSING
    condition: Condition = MISSING
    protocol: Protocol = MISSING
    model: Model = MISSING
    judges: Judges | None = None
    """A panel that judges instead of `model`; or its answers, where a respondent is studied."""
    sampling: Sampling = MISSING
    scoring: Scoring = MISSING
    tracking: Tracking = MISSING
    annotate: Annotate = MISSING
    limit: int | None = None
    """Samples a stratum (tracesafe: a class); all without it."""
    seed: int = 0
    """Subsets, builders and resampling."""
    epochs: int = 1
    """Repeats of every request."""
    output_dir: str = "outputs"
    runs: str | None = None
    """task=compare: a glob of run directories, or several separated by spaces."""
    judgements: str | None = None
    """task=compare: a JSONL file of judgements that were made elsewhere, instead of runs."""
    stage: str = "all"
    """build and audit: which part of the work."""
    dry_run: bool = False
    """Says what would be done and what it would take, and does nothing."""

    def __post_init__(self) -> None:
        check(
            self.limit is None or self.limit >= 1,
            "limit",
            f"{self.limit} is below 1",
            "Give a positive number, or leave it out for everything.",
        )
        check(bool(self.output_dir), "output_dir", "is empty", "outputs is the default.")
        check(self.epochs >= 1, "epochs", f"{self.epochs} is below 1", "1 asks every request once.")
        check(
            self.scoring.parser == "strict" or self.protocol.answer == "generate",
            "scoring.parser",
            "released reads written replies, and protocol.answer=score writes none",
            "Use protocol.answer=generate, or scoring.parser=strict.",
        )
        check(
            not self.condition.reason_first or self.protocol.answer == "generate",
            "condition.reason_first",
            "asks for reasoning, and protocol.answer=score lets nothing be written",
            "Use protocol.answer=generate.",
        )
        check(
            not self.protocol.evidence or self.protocol.answer == "generate",
            "protocol.evidence",
            "asks for quotes, and protocol.answer=score lets nothing be written",
            "Use protocol.answer=generate.",
        )
        check(
            not self.protocol.evidence or not self.condition.examples,
            "protocol.evidence",
            "asks for quotes, and the solved examples of a condition have none",
            "Use protocol=schema, or a condition without examples.",
        )
        check(
            self.runs is None or self.task.name == "compare",
            "runs",
            f"is not read by task={self.task.name}",
            "Add task=compare.",
        )
        check(
            self.judgements is None or self.task.name == "compare",
            "judgements",
            f"is not read by task={self.task.name}",
            "Add task=compare.",
        )
        check(
            self.judgements is None or self.runs is None,
            "judgements",
            "is given beside runs",
            "Leave one of them out.",
        )
        check(
            self.stage == "all" or self.task.name in ("build", "audit"),
            "stage",
            f"is not read by task={self.task.name}",
            "Leave it out.",
        )
        check(
            not isinstance(self.model, RuleModel),
            "model",
            f"{self.model.name} is no model",
            "Its row stands in every table; it can sit on a panel: judges=local.",
        )
        check(
            self.judges is None or self.task.name == "evaluate" or self.judgements is not None,
            "judges",
            f"is not read by task={self.task.name}",
            "Leave it out.",
        )
        panel = {} if self.judges is None else self.judges.models
        asked = {f"judges.models.{name}": model for name, model in panel.items()}
        if self.judges is None or self.benchmark.asks_respondent:
            asked["model"] = self.model
        check(
            self.scoring.labelled is None or self.task.name == "evaluate",
            "scoring.labelled",
            f"is not read by task={self.task.name}",
            "Leave it out.",
        )
        for key, model in asked.items():
            check(
                self.task.name in ("build", "list")
                or not model.abliterated
                or model.allow_abliterated,
                key,
                f"{model.name} is abliterated: without refusals, made to build benchmarks with",
                f"If you mean it, add {key}.allow_abliterated=true.",
            )
        check(self.seed >= 0, "seed", f"{self.seed} is negative", "Give 0 or more.")
        self._check_condition()
        self.benchmark.check_with(self)

    def _check_condition(self) -> None:
        """Refuses a condition that says too much for the benchmark, or too little."""
        condition, benchmark = self.condition, self.benchmark
        *others, last = (f"condition={name}" for name in benchmark.conditions)
        for said, wanted, verb, noun in (
            (condition.part, benchmark.has_parts, "picks", "component"),
            (
                isinstance(condition, RagCondition),
                benchmark.retrieves,
                "names",
                "kind of retrieval",
            ),
        ):
            check(
                bool(said) == wanted,
                f"condition={condition.name}",
                f"{verb} no {noun}"
                if wanted
                else f"{verb} a {noun}, and {benchmark.name} has none",
                f"Use {', '.join(others)}{' or ' * bool(others)}{last}.",
            )


NO_EFFECT_ON_RESULT = (
    "tracking",
    "annotate",  # task=annotate alone reads it, and task=compare the next
    "judgements",
    "output_dir",
    "dry_run",
    "scoring.max_unscored",
    "benchmark.path",  # the data's own hash stands for it
    "benchmark.corpus",
    "benchmark.mirage",
    "benchmark.rubrics",
    "benchmark.responses",  # task=build alone reads it, and the next two
    "benchmark.edited",
    "benchmark.builder",
    "judges.exclusions",  # the hash of the file stands for it, and for the next two
    "scoring.labelled",
    "model.replies",
    "model.id",  # the identity of the model stands for it, and for the next
    "model.base_url",
    "model.api_key_env",
    "model.price",
    "model.terms_confirmed",
    "model.allow_abliterated",
    "model.engine.device",
    "model.engine.device_map",
    "model.engine.prefill_tokens",
    "model.engine.decode_rows",
    "model.engine.tensor_parallel",
    "model.engine.pipeline_parallel",
    "model.engine.data_parallel",
    "model.engine.memory",
    "model.engine.cpu_cache_gib",
    "model.engine.max_rows",
    "model.engine.concurrency",
    "model.engine.timeout",
    "model.engine.attempts",
    "model.engine.max_cost_usd",
    "model.engine.max_requests",
)
"""Keys that the hash of a run leaves out."""


def plain(settings: Any) -> dict[str, Any]:
    """A typed configuration as plain dictionaries and lists."""
    return dataclasses.asdict(settings)


def of_result(settings: Root) -> dict[str, Any]:
    """The part of a configuration that can change what a run finds."""
    tree = plain(settings)
    models = [tree["model"]]
    if settings.judges is None:
        del tree["judges"]
    else:
        models += tree["judges"]["models"].values()
        if not settings.benchmark.asks_respondent:
            del tree["model"]  # a panel judges instead
    for slot in MODEL_SLOTS:
        *groups, name = slot.split(".")
        at = tree
        for group in groups:
            at = at.get(group) or {}
        if at.get(name) is not None:
            models.append(at[name])
    for key in NO_EFFECT_ON_RESULT:
        root, _, rest = key.partition(".")
        for node in models if root == "model" else [tree] if root in tree else []:
            *groups, name = (rest if root == "model" else key).split(".")
            for group in groups:
                node = node[group]
            node.pop(name, None)
    return tree
