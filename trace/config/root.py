"""The whole configuration of one run, and the part of it that can change a result."""

from __future__ import annotations

import dataclasses
from typing import Any

from omegaconf import MISSING

from trace.config.base import check, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition, Protocol, Sampling, Scoring, Task, Tracking
from trace.config.judges import Judges
from trace.config.models import Model, RuleModel


@config
class Root:
    """The whole configuration of one run."""

    task: Task = MISSING
    benchmark: Benchmark = MISSING
    condition: Condition = MISSING
    protocol: Protocol = MISSING
    model: Model = MISSING
    judges: Judges | None = None
    """A panel that judges instead of `model`."""
    sampling: Sampling = MISSING
    scoring: Scoring = MISSING
    tracking: Tracking = MISSING
    limit: int | None = None
    """Samples a stratum (tracesafe: a class); all without it."""
    seed: int = 0
    """Subsets, builders and resampling."""
    epochs: int = 1
    """Repeats of every request."""
    output_dir: str = "outputs"
    runs: str | None = None
    """task=compare: a glob of run directories, or several separated by spaces."""
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
            self.judges is None or self.task.name == "evaluate",
            "judges",
            f"is not read by task={self.task.name}",
            "Leave it out.",
        )
        judged = (
            {"model": self.model}
            if self.judges is None
            else {f"judges.models.{name}": model for name, model in self.judges.models.items()}
        )
        check(
            self.scoring.labelled is None or self.task.name == "evaluate",
            "scoring.labelled",
            f"is not read by task={self.task.name}",
            "Leave it out.",
        )
        for key, model in judged.items():
            check(
                self.task.name in ("build", "list")
                or not model.abliterated
                or model.allow_abliterated,
                key,
                f"{model.name} is abliterated: without refusals, made to build benchmarks with",
                f"If you mean it, add {key}.allow_abliterated=true.",
            )
        check(self.seed >= 0, "seed", f"{self.seed} is negative", "Give 0 or more.")
        part, has_parts = self.condition.part, self.benchmark.has_parts
        check(
            (part is not None) == has_parts,
            f"condition={self.condition.name}",
            "picks no component"
            if has_parts
            else f"picks a component, and {self.benchmark.name} has none",
            "Use condition=prompt, condition=trace or condition=response."
            if has_parts
            else "Use condition=plain.",
        )
        self.benchmark.check_with(self)


NO_EFFECT_ON_RESULT = (
    "tracking",
    "output_dir",
    "dry_run",
    "scoring.max_unscored",
    "benchmark.path",  # the data's own hash stands for it
    "benchmark.builder",  # task=build alone reads it
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
        models = list(tree["judges"]["models"].values())
        del tree["model"]  # a panel judges instead
    for key in NO_EFFECT_ON_RESULT:
        root, _, rest = key.partition(".")
        for node in models if root == "model" else [tree] if root in tree else []:
            *groups, name = (rest if root == "model" else key).split(".")
            for group in groups:
                node = node[group]
            node.pop(name, None)
    return tree
