"""The benchmark of requests that lack what is needed to answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.benchmarks import Benchmark
from trace.config.groups import Condition
from trace.config.models import MockModel

if TYPE_CHECKING:
    from trace.config.root import Root

Told = Literal["auto", "response", "request"]


@config
class Clarify(Benchmark):
    """Does a model ask back where a request cannot be answered as it stands?"""

    name: str = "clarify"
    asks_respondent: ClassVar[bool] = True
    path: str | None = None
    """A JSONL file of requests; without one the bundled 120."""
    label: str = "auto"
    """task=probe and steer: what tells the classes. response: whether the answer asks back, among
    requests that lack something. request: whether the request lacks something, among all. auto:
    response where both classes have 15 answers, else request."""

    def __post_init__(self) -> None:
        check_choice("benchmark.label", self.label, get_args(Told))

    def check_with(self, settings: Root) -> None:
        """Refuses what changes samples that are judged, and what finds no gold label."""
        super().check_with(settings)
        check(
            settings.condition == Condition(),
            f"condition={settings.condition.name}",
            f"changes samples that are judged, and {self.name} asks its requests as they stand",
            "Use condition=plain.",
        )
        check(
            settings.scoring.labelled is None,
            "scoring.labelled",
            "says what is unsafe, and here answers ask back or do not",
            "Leave it out.",
        )
        check(
            self.label == "auto" or settings.task.name in ("probe", "steer"),
            "benchmark.label",
            f"is not read by task={settings.task.name}",
            "Leave it out.",
        )
        check(
            settings.protocol.answers == "class",
            f"protocol={settings.protocol.name}",
            "asks for no class, and answers ask back or do not",
            "Leave it out: protocol=fine is chosen with the benchmark.",
        )
        panel = {} if settings.judges is None else settings.judges.models
        judges = {f"judges.models.{name}": one for name, one in panel.items()}
        for key, one in {"model": settings.model, **judges}.items():
            check(
                one.guard is None,
                key,
                f"{one.name} is a guard, which looks for harm, and here answers ask back or do not",
                "Choose a general model.",
            )
            check(
                not isinstance(one, MockModel) or not one.rates,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
            )
