from __future__ import annotations

import csv
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from tests.report.legible import check_texts
from trace.records import Verdict
from trace.report import figures
from trace.report.figures import write_figures
from trace.report.judged import Judged
from trace.report.metrics import evaluate


@pytest.fixture
def evaluation(planted: Any) -> dict[str, Any]:
    items, labels = planted(fine=True)
    return evaluate(items, labels, labels[0], unscored="as_wrong", draws=100, seed=0)


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def test_files_hold_the_numbers(tmp_path: Path, evaluation: dict[str, Any]) -> None:
    paths = write_figures(tmp_path / "figures", evaluation, "title")
    assert [p.name for p in paths] == [
        "confusion.png", "confusion.csv", "accuracy.png", "accuracy.csv",
    ]  # fmt: skip
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == sorted(p.name for p in paths)
    for path in paths[::2]:
        assert matplotlib.image.imread(path).shape[0] > 300

    table = evaluation["breakdowns"]["confusion"]
    header, *lines = rows(paths[1])
    assert header == ["gold", *table["columns"]]
    assert [[int(x) for x in line[1:]] for line in lines] == table["counts"]
    assert [line[0] for line in lines] == table["labels"]

    header, *lines = rows(paths[3])
    classes = evaluation["breakdowns"]["class"]
    assert len(lines) == 2 * len(classes)
    for line in lines:
        row = dict(zip(header, line, strict=True))
        metric = classes[row["class"]][row["metric"]]
        for name in ("value", "low", "high", "n", "n_unscored"):
            assert float(row[name]) == metric[name]
        bounds = [float(row["all_unscored_wrong"]), float(row["all_unscored_right"])]
        assert bounds == metric["bounds"]


def test_equal_results_give_equal_bytes(tmp_path: Path, evaluation: dict[str, Any]) -> None:
    first = write_figures(tmp_path / "a", evaluation, "title")
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9}):  # a user's own settings
        second = write_figures(tmp_path / "b", evaluation, "title")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_a_dollar_sign_is_no_formula_and_nothing_is_a_warning(tmp_path: Path) -> None:
    labels = ("$\\frac{$", "Un$afe")
    mute = [
        Judged(gold=gold, verdict=Verdict(status="error"), cluster="a", class_=f"${gold}$")
        for gold in labels
    ]
    for items in (mute, []):
        found = evaluate(items, labels, labels[0], unscored="exclude", draws=100, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(write_figures(tmp_path, found, "costs $5 or \\$6 $")) == 4


@pytest.mark.parametrize("fine", [True, False])
def test_no_text_is_cut_or_overlaps(planted: Any, fine: bool) -> None:
    items, labels = planted(fine=fine, per_class=90)
    found = evaluate(items, labels, labels[0], unscored="as_wrong", draws=100, seed=0)
    title = "tracesafe · a_model_with_a_long_name · a_condition_with_a_long_name · protocol"
    for figure in (
        figures.confusion_figure(found["breakdowns"]["confusion"], title),
        figures._accuracy_figure(found["breakdowns"]["class"], title),
    ):
        check_texts(figure, more_than=10)


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failure_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    empty = evaluate([], ("a", "b"), "a", unscored="exclude", draws=100, seed=0)
    paths = write_figures(tmp_path, empty, "title")
    before = [path.read_bytes() for path in paths]

    def full(self: Path, _: Any) -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_figures(tmp_path, empty, "another title")
    assert [path.read_bytes() for path in paths] == before
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_pyplot_is_not_imported() -> None:
    """Its figures are global and stay in memory; a multirun would pile them up."""
    code = "import sys, trace.report.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
