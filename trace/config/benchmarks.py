"""Benchmarks."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, get_args

from omegaconf import MISSING

from trace.config.base import check, check_choice, config

View = Literal["clean", "released"]
Split = Literal["base", "long_context", "miss_func", "miss_param"]


@config
class Benchmark:
    """What is measured. The subclass picks the code."""

    name: str = MISSING


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

    def __post_init__(self) -> None:
        for split in self.splits:
            check_choice("benchmark.splits", split, get_args(Split))
        check(bool(self.splits), "benchmark.splits", "is empty", "[base] is the default.")
        check(
            0 <= self.decoys <= 1,
            "benchmark.decoys",
            f"{self.decoys} is not a share",
            "Give a number from 0 to 1.",
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
