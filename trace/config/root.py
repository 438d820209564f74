"""The whole configuration of one run."""

from __future__ import annotations

from omegaconf import MISSING

from trace.config.annotate import Annotate
from trace.config.base import check, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition, Protocol, Sampling, Scoring, Task, Tracking
from trace.config.interp import Probe, Steering, Trainer
from trace.config.judges import Judges
from trace.config.models import Model, RuleModel
from trace.config.retrieval import RagCondition

INSIDE = ("probe", "steer")
"""Tasks that look inside a model."""


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
    probe: Probe = MISSING
    steering: Steering = MISSING
    trainer: Trainer = MISSING
    limit: int | None = None
    """Samples a stratum (tracesafe: a class); all without it."""
    seed: int = 0
    """Subsets, builders and resampling."""
    epochs: int = 1
    """Repeats of every request."""
    output_dir: str = "outputs"
    runs: str | None = None
    """task=compare and task=export: a glob of run directories, or several separated by spaces."""
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
            self.runs is None or self.task.name in ("compare", "export"),
            "runs",
            f"is not read by task={self.task.name}",
            "Add task=compare or task=export.",
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
            self.judges is None
            or self.task.name in ("evaluate", *INSIDE)
            or self.judgements is not None,
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
        self._check_inside()
        self.benchmark.check_with(self)

    def _check_inside(self) -> None:
        """Refuses what only probes and steering read, and what these cannot look into."""
        inside = self.task.name in INSIDE
        for key, given, own in (
            ("probe", self.probe, Probe()),
            ("steering", self.steering, Steering()),
            ("trainer", self.trainer, Trainer()),
        ):
            read = inside if key != "steering" else self.task.name == "steer"
            check(
                read or given == own,
                key,
                f"is not read by task={self.task.name}",
                "Add task=probe or task=steer, or leave it out."
                if key != "steering"
                else "Add task=steer, or leave it out.",
            )
        for key, stands in (
            ("probe.activations", self.probe.activations is not None),
            ("probe.control", self.probe.control is not None),
        ):
            check(
                self.task.name != "steer" or not stands,
                key,
                "is not read by task=steer",
                "Leave it out, or use task=probe.",
            )

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
