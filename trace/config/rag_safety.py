"""The benchmark of harmful questions in four retrieval conditions."""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, ClassVar

from trace.config.base import check, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition
from trace.config.models import MockModel, Model, RuleModel
from trace.config.rag_builder import RagBuilder
from trace.config.retrieval import RagCondition

if TYPE_CHECKING:
    from trace.config.root import Root


@config
class RagSafety(Benchmark):
    """What a model answers to a harmful question, with or without documents: a panel judges."""

    name: str = "rag_safety"
    conditions: ClassVar[tuple[str, ...]] = (
        "non_rag",
        "oracle",
        "on_topic",
        "random",
        "oracle_random",
        "retrieved",
    )
    retrieves: ClassVar[bool] = True
    asks_respondent: ClassVar[bool] = True
    sensitive: ClassVar[bool] = True
    path: str | None = None
    """An expanded file in the released format, or its folder; without one the bundled set."""
    balanced: bool = False
    """Whether at most twenty questions a subcategory are asked."""
    benign: bool = False
    """Whether harmless questions are asked instead: those of `mirage`, or the bundled ones."""
    mirage: str | None = None
    """benign: the folder of MIRAGE's files; without one the bundled harmless questions."""
    corpus: str | None = None
    """condition=retrieved: a JSONL file of documents that are searched; without one those of the
    set itself."""
    accuracy_judge: Model | None = None
    """Says whether an answer contains the expected one; without it the rows' keys do."""
    refusal_judge: Model | None = None
    """Says whether an answer declines, and why; a list of phrases is looked for in any case."""
    actionability_judge: Model | None = None
    """Says of each unsafe answer whether one could act on it: a guard, or a general model."""
    filter_guard: Model | None = None
    """Stands where condition.filter says."""
    builder: RagBuilder = field(default_factory=RagBuilder)
    """task=build alone reads it."""

    @property
    def further_judges(self) -> dict[str, Model]:
        """Those that are asked about every answer, by what about: accuracy, refusal."""
        named = {"accuracy": self.accuracy_judge, "refusal": self.refusal_judge}
        return {role: one for role, one in named.items() if one is not None}

    def check_with(self, settings: Root) -> None:
        """Refuses what another study reads, answers without judges, and unread terms."""
        super().check_with(settings)
        for name in ("path", "balanced"):
            check(
                not self.benign or not getattr(self, name),
                "benchmark.benign",
                f"stands beside benchmark.{name}, which is about the harmful questions",
                "Leave one out.",
            )
        check(
            self.mirage is None or self.benign,
            "benchmark.mirage",
            "has harmless questions, and benchmark.benign is false",
            "Add benchmark.benign=true.",
        )
        if settings.task.name == "build":
            self.builder.check_with(settings)
        check(
            settings.task.name == "build" or self.builder == RagBuilder(),
            "benchmark.builder",
            f"is not read by task={settings.task.name}",
            "Build the set first (task=build), then give it: benchmark.path=FOLDER.",
        )
        if settings.task.name != "evaluate":
            return
        condition = settings.condition
        assert isinstance(condition, RagCondition)
        self._check_condition(condition)
        check(
            settings.judges is not None,
            "judges",
            f"{self.name} studies what {settings.model.name} answers, and nobody judges it",
            "Add judges=local, which runs on any machine, or judges=rag_safety, the paper's panel.",
        )
        self.check_respondent(settings.model)
        assert settings.judges is not None
        panel = {f"judges.models.{name}": one for name, one in settings.judges.models.items()}
        further = {f"benchmark.{role}_judge": one for role, one in self.further_judges.items()}
        others = {
            f"benchmark.{name}": one
            for name in ("actionability_judge", "filter_guard")
            if (one := getattr(self, name)) is not None
        }
        for key, one in {"model": settings.model, **panel, **further, **others}.items():
            check(
                not isinstance(one, MockModel) or not one.rates,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
            )
        for key, one in {**further, **others}.items():
            check(
                not isinstance(one, RuleModel),
                key,
                f"{one.name} is no model",
                "Choose a guard or a general model.",
            )
        for key, one in further.items():
            check(
                one.guard is None,
                key,
                f"{one.name} is a guard, which answers no question but its own",
                "Choose a general model.",
            )
        check(
            settings.scoring.labelled is None or settings.epochs == 1,
            "scoring.labelled",
            f"does not say which of epochs={settings.epochs} answers to a question is meant",
            "Use epochs=1.",
        )

    def _check_condition(self, condition: RagCondition) -> None:
        """Refuses a condition that the questions have not, and settings that nothing reads."""
        check(
            not self.benign or condition.retrieval in self._benign_conditions,
            f"condition={condition.name}",
            "has no documents for the harmless questions of benchmark.benign",
            f"Use condition={' or condition='.join(self._benign_conditions)}.",
        )
        bare = Condition()
        check(
            all(
                getattr(condition, f.name) == getattr(bare, f.name)
                for f in fields(Condition)
                if f.name != "name"
            ),
            f"condition={condition.name}",
            "changes samples that are judged beside naming the documents that a model is given",
            "Use a file of conf/condition that this benchmark has, such as condition=oracle.",
        )
        check(
            (condition.filter is None) == (self.filter_guard is None),
            "benchmark.filter_guard" if condition.filter is None else "condition.filter",
            "has no place to stand"
            if condition.filter is None
            else f"{condition.filter} has no guard",
            "Give both: condition.filter=output benchmark.filter_guard=llama_guard_3_8b.",
        )
        check(
            self.corpus is None or condition.retrieval == "retrieved",
            "benchmark.corpus",
            f"is not searched by condition={condition.name}",
            "Use condition=retrieved.",
        )

    @property
    def _benign_conditions(self) -> tuple[str, ...]:
        return ("oracle",) if self.mirage is None else ("non_rag", "oracle")
