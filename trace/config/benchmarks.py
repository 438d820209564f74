"""Benchmarks."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from omegaconf import MISSING

from trace.config.base import check, check_choice, config
from trace.config.groups import Condition
from trace.config.models import HostedModel, MockModel, Model

if TYPE_CHECKING:
    from trace.config.root import Root

View = Literal["clean", "released"]
MODEL_SLOTS = (
    "benchmark.builder.agent",
    "benchmark.builder.model",
    "benchmark.builder.check",
    "benchmark.builder.second_check",
    "benchmark.judge",
    "benchmark.accuracy_judge",
    "benchmark.refusal_judge",
    "benchmark.actionability_judge",
    "benchmark.filter_guard",
    "benchmark.trace_judge",
    "benchmark.proposer",
    "benchmark.builder.writer",
    "benchmark.builder.auditor",
    "probe.control",
)
"""Keys that hold a further model. On the command line `KEY=NAME` picks conf/model/NAME.yaml."""

MODEL_PANELS = (
    "judges.models",
    "benchmark.builder.respondents",
    "benchmark.builder.annotators",
)
"""Keys that hold several models by name: `+model@KEY.NAME=MODEL` adds one."""

Split = Literal["base", "long_context", "miss_func", "miss_param"]


@config
class Benchmark:
    """What is measured. The subclass picks the code."""

    name: str = MISSING
    conditions: ClassVar[tuple[str, ...]] = ("plain",)
    """The files of conf/condition to choose from when one that does not fit is refused."""
    has_parts: ClassVar[bool] = False
    """Whether a condition picks the component that is judged."""
    retrieves: ClassVar[bool] = False
    """Whether a condition says which documents come with a question."""
    has_wordings: ClassVar[bool] = False
    """Whether a condition says how an item is worded."""
    asks_respondent: ClassVar[bool] = False
    """Whether `model` answers and others judge."""
    sensitive: ClassVar[bool] = False
    """Whether its records hold unsafe prompts and answers, so that uploading them is said."""

    def check_with(self, settings: Root) -> None:
        """Checks it against the rest of a configuration; here, that no other study's parser is on.

        Raises:
            ConfigError: the two do not go together.
        """
        check(
            settings.scoring.parser == "strict",
            "scoring.parser",
            f"{settings.scoring.parser} reads replies as TraceSafe's released code does, and "
            f"{self.name} is another study",
            "Leave it out.",
        )

    def check_respondent(self, model: Model) -> None:
        """Refuses a respondent that writes no answers, and a server whose terms were not read."""
        check(
            model.guard is None,
            "model",
            f"{model.name} is a guard, which judges, and {self.name} studies a model's answers",
            "Choose a general model.",
        )
        check(
            not isinstance(model, HostedModel) or model.terms_confirmed,
            "model.terms_confirmed",
            f"{model.name} stands behind a server, and many providers forbid such prompts",
            "Read their terms, then add model.terms_confirmed=true.",
        )


@config
class Builder:
    """The models that take part in a build; without them none does."""

    agent: Model | None = None
    """Drives BFCL's simulators live: its accurate trajectories are the base ones."""
    model: Model | None = None
    """Rewords the payloads; a reply is checked before it is used."""
    check: Model | None = None
    """Is asked whether a step suits a mutation; what it turns down is left out."""
    second_check: Model | None = None
    """Is asked the same, to see how far two such judges agree; it turns nothing down."""

    def __post_init__(self) -> None:
        check(
            self.second_check is None or self.check is not None,
            "benchmark.builder.second_check",
            "has no first judge to agree with",
            "Add benchmark.builder.check=MODEL.",
        )
        for role in dataclasses.fields(self):
            one = getattr(self, role.name)
            check(
                not isinstance(one, MockModel) or not one.rates,
                f"benchmark.builder.{role.name}.rates",
                "finds no gold label here to be right about",
                f"Use benchmark.builder.{role.name}.replies=FILE.",
            )


@config
class TraceSafe(Benchmark):
    """Guards on tool-calling trajectories."""

    name: str = "tracesafe"
    path: str | None = None
    """A file or folder in the released format; without one the set is built from BFCL."""
    view: str = "clean"
    """clean: the whitelist. released: the whole trace object, as the released code shows it."""
    per_class: int = 90
    """Own set: records a class."""
    distractors: str = "all"
    """Own set: tools shown beside those that are called, a number or all."""
    splits: list[str] = field(default_factory=lambda: ["base"])
    """Own set: BFCL's multi-turn splits whose ground truth is replayed as base trajectories."""
    base: str | None = None
    """Own set: a file of base trajectories in the released format, instead of BFCL's."""
    truncate: bool = True
    """Own set: whether a trajectory ends at its risky step."""
    decoys: float = 0.2
    """Own set: the share of benign records that only look risky."""
    builder: Builder = field(default_factory=Builder)
    """task=build: the models that take part."""

    def __post_init__(self) -> None:
        for split in self.splits:
            check_choice("benchmark.splits", split, get_args(Split))
        check(bool(self.splits), "benchmark.splits", "is empty", "[base] is the default.")
        check(
            len(set(self.splits)) == len(self.splits),
            "benchmark.splits",
            f"[{','.join(self.splits)}] names a split twice",
            f"Use [{','.join(dict.fromkeys(self.splits))}].",
        )
        check(
            0 <= self.decoys <= 1,
            "benchmark.decoys",
            f"{self.decoys} is not a share",
            "Give a number from 0 to 1.",
        )
        check(
            self.base is None or self.builder.agent is None,
            "benchmark.base",
            "stands beside benchmark.builder.agent",
            "Base trajectories come from a file or from an agent: leave one out.",
        )
        check_choice("benchmark.view", self.view, get_args(View))
        check(
            self.per_class >= 1,
            "benchmark.per_class",
            f"{self.per_class} is below 1",
            "Give a positive number; 90 is the paper's.",
        )
        check(
            self.distractors == "all" or self.distractors.isdecimal(),
            "benchmark.distractors",
            f"{self.distractors!r} is neither a number nor all",
            "Try benchmark.distractors=4.",
        )

    def check_with(self, settings: Root) -> None:
        """Refuses models of a build where nothing is built, and a view without tools."""
        check(
            settings.task.name == "build" or self.builder == Builder(),
            "benchmark.builder",
            f"is not read by task={settings.task.name}",
            "Build the set first (task=build), then give it: benchmark.path=FOLDER.",
        )
        check(
            settings.protocol.tools or self.view == "clean",
            "protocol.tools",
            "false leaves the section of the tools out, and benchmark.view=released has none",
            "Use benchmark.view=clean.",
        )


@config
class RagTruth(Benchmark):
    """Data-to-text answers of RAGTruth: does the text say what the data do not?"""

    name: str = "ragtruth"
    path: str = MISSING
    """The folder with source_info.jsonl and response.jsonl."""
    split: str = "test"

    def __post_init__(self) -> None:
        check_choice("benchmark.split", self.split, ("train", "test"))


@config
class StrongReject(Benchmark):
    """Forbidden questions of StrongREJECT: does the model under test answer them usefully?"""

    name: str = "strongreject"
    asks_respondent: ClassVar[bool] = True
    sensitive: ClassVar[bool] = True
    path: str = MISSING
    """The CSV with category and forbidden_prompt."""
    judge: Model = MISSING
    """Grades the answers by the rubric."""

    def check_with(self, settings: Root) -> None:
        """Refuses what is for judged samples, and a server whose terms were not read."""
        check(
            settings.condition == Condition(),
            f"condition={settings.condition.name}",
            f"changes samples that are judged, and {self.name} asks its prompts as they stand",
            "Use condition=plain.",
        )
        check(
            settings.protocol.answer == "generate" and settings.scoring.parser == "strict",
            "protocol.answer" if settings.protocol.answer != "generate" else "scoring.parser",
            f"is not read by {self.name}, which grades written answers by its own rubric",
            "Leave it out.",
        )
        check(
            settings.scoring.labelled is None,
            "scoring.labelled",
            f"says what is unsafe, and {self.name} grades answers",
            "Leave it out.",
        )
        check(
            settings.judges is None,
            "judges",
            f"is not read by {self.name}, which one model grades",
            "Leave it out, and choose that model: benchmark.judge=NAME.",
        )
        self.check_respondent(settings.model)
        for key, one in (("model", settings.model), ("benchmark.judge", self.judge)):
            check(
                not isinstance(one, MockModel) or not one.rates,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
            )
