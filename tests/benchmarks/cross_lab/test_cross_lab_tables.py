"""Tables and the figure: what metrics.json says, and nothing else."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.cross_lab.made_items import RUBRICS, item, outcome
from trace.benchmarks.cross_lab.scores import measure
from trace.benchmarks.cross_lab.tables import drawings, further, labels
from trace.report.canvas import LEGEND, write_drawings


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    made = [
        outcome({"a": label, "b": label}, of=item(id=str(n)))
        for n, label in enumerate(["does", "does", "does", "declines"])
    ]
    return measure([*made, outcome({}, of=item(id="z"), text="")], RUBRICS, {"a": "A", "b": "B"},
                   draws=50, seed=0)  # fmt: skip


def test_each_label_has_a_row_with_its_share_and_what_is_unscored(result: dict[str, Any]) -> None:
    shown = labels("x", result).markdown().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown if "|" in line]
    found = {row[1]: row for row in rows if row[1].startswith("d")}
    assert found["does"][0] == "values\\_conflict" or found["does"][0] == "values_conflict"
    assert found["does"][2].startswith("75.0")
    assert found["declines"][4:] == ["4", "1"]


def test_every_judge_and_their_agreement_have_rows(result: dict[str, Any]) -> None:
    text = "\n".join(grid.markdown() for grid in further(result))
    assert "labelled by A" in text
    assert "A, B" in text
    assert "Agreement by category" in text
    assert "trace" not in text.lower().replace("traces", "")


def test_the_numbers_behind_the_figure_are_written_beside_it(
    tmp_path: Path, result: dict[str, Any]
) -> None:
    """A figure called as the legend of unreadable characters loses its numbers to it."""
    paths = write_drawings(tmp_path, drawings("x", result))
    assert [path.suffix for path in paths] == [".png", ".csv"]
    assert all(path.is_file() for path in paths)
    assert LEGEND not in {path.name for path in paths}
    with paths[1].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["label"], row["value"], row["n"]) for row in rows] == [
        ("does", "0.75", "4"), ("declines", "0.25", "4"),
    ]  # fmt: skip
