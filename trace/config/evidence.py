"""The benchmark of prompts, reasoning traces and responses, with verbatim evidence."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Sampling
from trace.config.models import HostedModel, MockModel, Model, RuleModel

if TYPE_CHECKING:
    from trace.config.root import Root

Quotes = Literal["exact", "whitespace", "nfc"]
STAGES = ("curate", "infer", "annotate", "freeze")


@config
class EvidenceBuilder:
    """task=build: where prompts come from, who answers them, and who annotates the answers."""

    s_eval: str | None = None
    """A folder of S-Eval's zips as published, or one of them; without one none are drawn."""
    wildchat: str | None = None
    """A parquet or JSONL file of WildChat, or a folder of them."""
    bundled: bool = True
    """Whether the bundled prompts are taken where there is no source."""
    share: float = 0.01
    """How much of each group of category and language is drawn."""
    respondents: dict[str, Model] = field(default_factory=dict)
    """Reason about every prompt and answer it."""
    answers: Sampling = field(
        default_factory=lambda: Sampling(temperature=0.7, max_new_tokens=6000)
    )
    """How respondents draw their tokens; annotators draw theirs by `sampling`."""
    annotators: dict[str, Model] = field(default_factory=dict)
    """Label every component and quote the evidence."""
    min_valid: int = 2
    """With fewer votes than this a component goes to the human queue."""
    quotes: str = "exact"
    """What a quote may differ in from its source: nothing, whitespace, or its Unicode form."""

    def __post_init__(self) -> None:
        check(
            0 < self.share <= 1,
            "benchmark.builder.share",
            f"{self.share} is not a share",
            "Give a number above 0, up to 1; 0.01 is the paper's.",
        )
        check_choice("benchmark.builder.quotes", self.quotes, get_args(Quotes))
        check(
            self.min_valid >= 1,
            "benchmark.builder.min_valid",
            f"{self.min_valid} is below 1",
            "2 is the default.",
        )
        for role in ("respondents", "annotators"):
            for name, model in getattr(self, role).items():
                check(
                    not isinstance(model, MockModel) or not model.rates,
                    f"benchmark.builder.{role}.{name}.rates",
                    "finds no gold label here to be right about",
                    f"Use benchmark.builder.{role}.{name}.replies=FILE.",
                )
        for name, model in self.respondents.items():
            check(
                not isinstance(model, RuleModel),
                f"benchmark.builder.respondents.{name}",
                "is a rule, which writes no answers",
                "Choose a model.",
            )


@config
class Evidence(Benchmark):
    """Guards on prompts, reasoning traces and responses."""

    name: str = "evidence"
    conditions: ClassVar[tuple[str, ...]] = ("prompt", "trace", "response")
    has_parts: ClassVar[bool] = True
    sensitive: ClassVar[bool] = True
    path: str | None = None
    """A frozen set (its dataset.jsonl, or the folder); without one the bundled triples."""
    builder: EvidenceBuilder = field(default_factory=EvidenceBuilder)
    """task=build alone reads it."""

    def check_with(self, settings: Root) -> None:
        """Refuses what belongs to another study, and a stage that the build has not."""
        super().check_with(settings)
        builder = self.builder
        check(
            settings.task.name != "build"
            or builder.bundled
            or None not in (builder.s_eval, builder.wildchat),
            "benchmark.builder.s_eval" if builder.s_eval is None else "benchmark.builder.wildchat",
            "has no value, and this builder draws from both sources",
            "Give a folder, or take the bundled prompts: benchmark.builder.bundled=true.",
        )
        check(
            settings.task.name != "build" or settings.stage in ("all", *STAGES),
            "stage",
            f"{settings.stage!r} is no stage of the build",
            f"Choose from {', '.join(STAGES)}, or all.",
        )
        if settings.task.name != "build":
            return
        for name, model in self.builder.respondents.items():
            check(
                not isinstance(model, HostedModel) or model.terms_confirmed,
                f"benchmark.builder.respondents.{name}.terms_confirmed",
                f"{model.name} stands behind a server, and many providers forbid such prompts",
                "Read their terms, then add "
                f"benchmark.builder.respondents.{name}.terms_confirmed=true.",
            )
        check(
            bool(self.builder.respondents and self.builder.annotators),
            "benchmark.builder",
            "has no respondents" if not self.builder.respondents else "has no annotators",
            "Use benchmark/builder=local or benchmark/builder=paper.",
        )
        check(
            self.builder.min_valid <= len(self.builder.annotators),
            "benchmark.builder.min_valid",
            f"{self.builder.min_valid} votes cannot come from {len(self.builder.annotators)} "
            "annotators",
            f"Give at most {len(self.builder.annotators)}, or add annotators.",
        )
