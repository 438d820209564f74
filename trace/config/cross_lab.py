"""The benchmark of what models do instead of complying, judged blind by their peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition
from trace.config.models import MockModel, Model, RuleModel

if TYPE_CHECKING:
    from trace.config.root import Root

Wording = Literal["base", "steered"]
Regenerate = Literal["none", "model", "truncated"]
Arm = Literal["main", "repeat", "field_free"]
STAGES = ("collect", "propose", "freeze")


@config
class WordingCondition(Condition):
    """How an item is put to the respondent."""

    wording: str = "base"
    """base, or steered: the same text with an instruction that steers."""

    def __post_init__(self) -> None:
        Condition.__post_init__(self)
        check_choice("condition.wording", self.wording, get_args(Wording))


@config
class CrossLab(Benchmark):
    """What a model does when an instruction conflicts with its training: its peers say."""

    name: str = "cross_lab"
    conditions: ClassVar[tuple[str, ...]] = ("base", "steered")
    asks_respondent: ClassVar[bool] = True
    has_wordings: ClassVar[bool] = True
    path: str | None = None
    """A JSONL file of items, or a folder of such files; without one the bundled 340."""
    rubrics: str | None = None
    """A YAML file of rubrics; without one the bundled ones."""
    arm: str = "main"
    """main: all answers, and judges are told what an item probes. repeat, field_free: `per_cell`
    core answers a category are judged afresh, as before and without being told."""
    per_cell: int = 6
    """repeat, field_free: answers a model, category and condition."""
    regenerate: str = "none"
    """Answers cut off by the token limit are asked again with `budget` times the tokens: model does
    so for all core items of a model that has any, truncated for these alone."""
    budget: float = 3.0
    """How many times sampling.max_new_tokens the answers that are asked again get."""
    trace_judge: Model | None = None
    """Says what becomes of the suppressed reasoning in a trace that the respondent shows."""
    responses: str | None = None
    """task=build: a glob of run directories whose development answers the rubrics are made from."""
    proposer: Model | None = None
    """task=build: proposes labels."""
    edited: str | None = None
    """task=build stage=freeze: the YAML file of proposed rubrics as a person has edited it."""

    def __post_init__(self) -> None:
        check_choice("benchmark.regenerate", self.regenerate, get_args(Regenerate))
        check_choice("benchmark.arm", self.arm, get_args(Arm))
        check(
            self.per_cell >= 1,
            "benchmark.per_cell",
            f"{self.per_cell} is below 1",
            "6 is the paper's.",
        )
        check(
            self.budget > 1,
            "benchmark.budget",
            f"{self.budget:g} times the tokens is no more than before",
            "3 is the paper's.",
        )

    def check_with(self, settings: Root) -> None:
        """Refuses what another study reads, answers without peers, and guards among them."""
        super().check_with(settings)
        if settings.task.name == "build":
            self._check_build(settings)
        for key in ("responses", "proposer", "edited"):
            check(
                settings.task.name == "build" or getattr(self, key) is None,
                f"benchmark.{key}",
                f"is not read by task={settings.task.name}",
                "Add task=build, or leave it out.",
            )
        if settings.task.name != "evaluate":
            return
        bare = Condition()
        condition = settings.condition
        check(
            (condition.reason_first, condition.examples, condition.tokens)
            == (bare.reason_first, bare.examples, bare.tokens),
            f"condition={condition.name}",
            "changes samples that are judged beside their wording",
            "Use condition=base or condition=steered.",
        )
        check(
            settings.protocol.name == "rubric",
            f"protocol={settings.protocol.name}",
            "asks whether something is safe, and here peers pick a label of a rubric",
            "Leave it out: protocol=rubric is chosen with the benchmark.",
        )
        self._check_unread(settings)
        check(
            settings.scoring.labelled is None,
            "scoring.labelled",
            "says what is unsafe, and here answers get a label of a rubric",
            "Leave it out; `task=compare` takes the labels of people as the judge human.",
        )
        check(
            settings.judges is not None,
            "judges",
            f"{self.name} studies what {settings.model.name} answers, and nobody judges it",
            "Add judges=cross_lab, the six laboratories, or judges=local, which runs anywhere.",
        )
        assert settings.judges is not None
        check(
            settings.judges.rule == "majority" and settings.judges.ties == "unscored",
            "judges.rule" if settings.judges.rule != "majority" else "judges.ties",
            "is about safe and unsafe, and a rubric has neither",
            "Use judges.rule=majority judges.ties=unscored: the label with most votes.",
        )
        panel = {f"judges.models.{name}": one for name, one in settings.judges.models.items()}
        trace = {} if self.trace_judge is None else {"benchmark.trace_judge": self.trace_judge}
        for key, one in {"model": settings.model, **panel, **trace}.items():
            check(
                one.guard is None,
                key,
                f"{one.name} is a guard, which knows no rubric",
                "Choose a general model.",
            )
            check(  # a judge's is what the rule judge says
                not isinstance(one, MockModel) or not one.rates or key in panel,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
            )
        check(
            not isinstance(self.trace_judge, RuleModel),
            "benchmark.trace_judge",
            "is a rule, which reads no trace",
            "Choose a model.",
        )

    def _check_unread(self, settings: Root) -> None:
        """Refuses what would change the hash of a run and nothing else of it."""
        protocol, split, own = settings.protocol, settings.scoring.threshold_split, CrossLab()
        leave = "Leave it out."
        for key, unset, why, instead in (
            ("protocol.variant", protocol.variant == "plain", "a rubric has one wording", leave),
            ("protocol.evidence", not protocol.evidence, "a vote is a label alone", leave),
            ("protocol.definitions", protocol.definitions, "a rubric is shown whole", leave),
            ("protocol.tools", protocol.tools, "no item has a list of tools", leave),
            (
                "scoring.threshold_split",
                split is None,
                "no vote is a score",
                leave,
            ),
            (
                "benchmark.per_cell",
                self.arm != "main" or self.per_cell == own.per_cell,
                "the arm main judges all answers",
                "Leave it out, or add benchmark.arm=repeat or benchmark.arm=field_free.",
            ),
            (
                "benchmark.budget",
                self.regenerate != "none" or self.budget == own.budget,
                "nothing is asked again",
                "Leave it out, or add benchmark.regenerate=model.",
            ),
        ):
            check(unset, key, f"is not read: {why}", instead)

    def _check_build(self, settings: Root) -> None:
        check(
            settings.stage in STAGES,
            "stage",
            f"{settings.stage!r} is no stage of the build of rubrics",
            f"Choose from {', '.join(STAGES)}: a person edits between propose and freeze.",
        )
        check(
            self.responses is not None,
            "benchmark.responses",
            "is missing, and labels are made from answers to the development items",
            "Give benchmark.responses='outputs/runs/cross_lab/**'.",
        )
        check(
            settings.stage == "collect" or self.proposer is not None,
            "benchmark.proposer",
            "is missing",
            "Add benchmark.proposer=NAME.",
        )
        check(
            self.proposer is None
            or (self.proposer.guard is None and not isinstance(self.proposer, RuleModel)),
            "benchmark.proposer",
            "is a guard or a rule, which proposes nothing",
            "Choose a general model.",
        )
        check(
            not isinstance(self.proposer, MockModel) or not self.proposer.rates,
            "benchmark.proposer.rates",
            "finds no gold label here to be right about",
            "Use benchmark.proposer.replies=FILE.",
        )
        check(
            (settings.stage == "freeze") == (self.edited is not None),
            "benchmark.edited",
            "is missing" if self.edited is None else f"is not read by stage={settings.stage}",
            "Give the edited file: stage=freeze benchmark.edited=FILE.yaml.",
        )
