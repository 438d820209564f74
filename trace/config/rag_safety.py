"""The benchmark of harmful questions in four retrieval conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from trace.config.base import check, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition
from trace.config.models import MockModel, Model

if TYPE_CHECKING:
    from trace.config.root import Root


@config
class RagSafety(Benchmark):
    """What a model answers to a harmful question, with or without documents: a panel judges."""

    name: str = "rag_safety"
    conditions: ClassVar[tuple[str, ...]] = ("non_rag", "oracle", "on_topic", "random")
    retrieves: ClassVar[bool] = True
    asks_respondent: ClassVar[bool] = True
    sensitive: ClassVar[bool] = True
    path: str | None = None
    """An expanded file in the released format, or its folder; without one the bundled set."""
    balanced: bool = False
    """Whether at most twenty questions a subcategory are asked."""
    benign: bool = False
    """Whether the bundled harmless questions are asked instead, under condition=oracle."""
    accuracy_judge: Model | None = None
    """Says whether an answer contains the expected one; without it the rows' keys do."""
    refusal_judge: Model | None = None
    """Says whether an answer declines, and why; a list of phrases is looked for in any case."""

    @property
    def further_judges(self) -> dict[str, Model]:
        """Those that there are, by what they are asked about: accuracy, refusal."""
        named = {"accuracy": self.accuracy_judge, "refusal": self.refusal_judge}
        return {role: one for role, one in named.items() if one is not None}

    def check_with(self, settings: Root) -> None:
        """Refuses what another study reads, answers without judges, and unread terms."""
        super().check_with(settings)
        check(
            not self.benign or self.path is None,
            "benchmark.benign",
            "stands beside benchmark.path, and the harmless questions are those of the bundled set",
            "Leave one out.",
        )
        if settings.task.name != "evaluate":
            return
        check(
            not self.benign or settings.condition.retrieval == "oracle",
            f"condition={settings.condition.name}",
            "has no documents for the harmless questions of benchmark.benign",
            "Use condition=oracle.",
        )
        bare = replace(settings.condition, name="plain", retrieval=None, overflow="cut")
        check(
            bare == Condition(),
            f"condition={settings.condition.name}",
            "changes samples that are judged beside naming the documents that a model is given",
            "Use condition=non_rag, condition=oracle, condition=on_topic or condition=random.",
        )
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
        for key, one in {"model": settings.model, **panel, **further}.items():
            check(
                not isinstance(one, MockModel) or not one.rates,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
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
