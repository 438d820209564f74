"""A panel: several judges and a voting rule."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.models import Model

Voting = Literal["majority", "any_unsafe", "unanimous", "k_of_n"]
Ties = Literal["unscored", "unsafe", "safe"]


@config
class Judges:
    """Judges by name, and how their verdicts become one."""

    name: str = "panel"
    """Stands in paths and tables."""
    models: dict[str, Model] = field(default_factory=dict)
    rule: str = "majority"
    k: int | None = None
    """k_of_n: how many have to say unsafe."""
    min_valid: int = 2
    """With fewer verdicts than this a sample is unscored."""
    ties: str = "unscored"
    """What a draw comes to."""
    exclusions: str | None = None
    """A JSONL file of {"id": sample, "judge": name}: votes that are set aside."""

    def __post_init__(self) -> None:
        check(
            bool(self.models),
            "judges.models",
            "has no judge",
            "Choose a panel, judges=local, or add one: +model@judges.models.NAME=MODEL.",
        )
        check(
            bool(self.name.strip()) and self.name not in self.models,
            "judges.name",
            f"{self.name!r} is the name of one of its judges" if self.name.strip() else "is empty",
            "The panel and its judges stand in one table: name them differently.",
        )
        check_choice("judges.rule", self.rule, get_args(Voting))
        check_choice("judges.ties", self.ties, get_args(Ties))
        check(
            1 <= self.min_valid <= len(self.models),
            "judges.min_valid",
            f"{self.min_valid} of {len(self.models)} judges",
            "Give a number from 1 to the number of judges.",
        )
        check(
            (self.k is not None) == (self.rule == "k_of_n"),
            "judges.k",
            "is needed by judges.rule=k_of_n" if self.k is None else f"is not read by {self.rule}",
            "Try judges.rule=k_of_n judges.k=2.",
        )
        check(
            self.k is None or 1 <= self.k <= len(self.models),
            "judges.k",
            f"{self.k} of {len(self.models)} judges",
            "Give a number from 1 to the number of judges.",
        )
