"""Which arm each run of a comparison is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trace.benchmarks.cross_lab.arms import arms, superseded
from trace.errors import DataError


def runs(*cells: str) -> dict[Path, Mapping[str, Any]]:
    """Configurations by "respondent condition arm regenerate"."""
    found = {}
    for n, cell in enumerate(cells):
        model, condition, arm, regenerate = cell.split()
        found[Path(f"{n} {cell}")] = {
            "model": {"name": model},
            "condition": {"name": condition},
            "benchmark": {"arm": arm, "regenerate": regenerate},
        }
    return found


def told(*cells: str) -> list[str | None]:
    made = runs(*cells)
    found = arms(made)
    return [found.get(path) for path in made]


def test_the_most_regenerated_run_is_the_main_arm() -> None:
    assert told(
        "a base main none", "a base main truncated", "a base main model",
        "a steered main model", "a steered main none",
        "b base main none", "b steered main none",
        "c base main none", "c base main truncated", "c steered main truncated",
    ) == [
        "first_budget", "only_truncated", "main", "main", "first_budget",
        "main", "main", "first_budget", "main", "main",
    ]  # fmt: skip


def test_one_budget_is_compared_in_both_conditions() -> None:
    with pytest.raises(DataError, match=r"a has benchmark.regenerate=model under base and none"):
        told("a base main model", "a steered main none")


def test_what_is_judged_afresh_are_the_answers_of_the_main_arm() -> None:
    main = ("a base main none", "a base main model")
    assert told(*main, "a base repeat none", "a base repeat model") == [
        "first_budget", "main", None, "repeat",
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"run it again with benchmark.regenerate=model"):
        told(*main, "a base repeat none")


def test_one_run_judges_an_answer_in_an_arm() -> None:
    with pytest.raises(DataError, match=r"1 a base main none: judges a .* so does 0 a base"):
        told("a base main none", "a base main none")


def test_a_run_of_another_version_is_named() -> None:
    with pytest.raises(DataError, match=r"^x: is of another version .*'regenerate'"):
        arms({Path("x"): {"model": {"name": "a"}, "condition": {"name": "base"},
                          "benchmark": {"arm": "main"}}})  # fmt: skip


def test_a_panel_that_a_model_has_joined_takes_the_place_of_the_smaller_one() -> None:
    cell = "a base main none"
    made = runs(cell, cell)
    few, many = made
    for folder, seats in ((few, "xy"), (many, "xyz")):
        made[folder] = {**made[folder], "judges": {"models": {s: {"name": s} for s in seats}}}
    assert superseded(made) == {few: many}
    assert arms(made) == {many: "main"}
    made[few] = {**made[few], "judges": {"models": {"x": {"name": "other"}}}}
    with pytest.raises(DataError, match="Remove one of the directories"):
        arms(made)
