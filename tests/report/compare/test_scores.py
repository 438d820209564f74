"""A table of scores that a spreadsheet wrote in another way is refused or doubted, not misread."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from trace.errors import DataError
from trace.report.compare.scores import doubts, read_scores

HEADER = "benchmark,model,score\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (HEADER + "G,alpha,0,61\n", "line 2: has 4 cells, the first line 3. A decimal point"),
        (HEADER + 'G,alpha,"0,61"\n', "line 2: '0,61' is no number"),
        (HEADER + "G,alpha\n", "line 2: has 2 cells"),
        (HEADER + "G,alpha,1_0\n", "'1_0' is no number"),
        (HEADER + "G,alpha,１\n", "is no number"),
        (HEADER + "G,alpha,inf\n", "'inf' is no number"),
        (HEADER + "G,alpha,\n", "'' is no number"),
        (HEADER + "G,alpha,1e308\n", "at most 1,000,000 in size"),
        (HEADER + "G,alpha,-1e308\n", "at most 1,000,000 in size"),
        ("benchmark;model;score\nG;alpha;0,61\n", "separated by ;"),
        ("benchmark\tmodel\tscore\nG\talpha\t0.61\n", "separated by tabs"),
        ("benchmark,model,score,score\nG,alpha,0.1,0.9\n", "score stands twice"),
        (HEADER + 'G,"alpha,0.61\nG,beta,0.62\n', "quotation mark"),
        (HEADER + 'G,"al"pha,0.61\n', "after line 1: is no CSV"),
        pytest.param(
            HEADER + f"G,{'a' * (csv.field_size_limit() + 1)},0.61\n",
            "after line 1: is no CSV",
            id="a cell as long as a file",
        ),
    ],
)
def test_what_would_be_misread_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(content, "utf-8")
    with pytest.raises(DataError, match=problem) as caught:
        read_scores(file)
    assert str(file) in str(caught.value)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes((HEADER + "Prüfung,alpha,0.61\n").encode("latin-1"))
    with pytest.raises(DataError, match="not in UTF-8"):
        read_scores(file)


def test_empty_lines_and_further_columns_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(
        "source,score,model,benchmark\n\n,0.5,a,G\nx, +1.5e1 ,b,G\n,,,\n,.5,c,G\n", "utf-8"
    )
    assert read_scores(file) == {"G": {"a": 0.5, "b": 15.0, "c": 0.5}}


def test_two_scales_on_one_benchmark_are_doubted() -> None:
    (said,) = doubts({"G": {"a": 0.61, "b": 40.0, "c": 0.55}, "H": {"a": 0.6, "b": 1.0}})
    assert "on G may be on two scales: a has 0.61, b has 40" in said
    assert doubts({"z": {"a": -0.4, "b": 1.4, "c": 0.2}, "elo": {"a": 1200.0, "b": 900.0}}) == []


def test_benchmarks_that_differ_in_case_are_doubted() -> None:
    (said,) = doubts({"GPQA": {"a": 0.5}, "gpqa": {"b": 0.5}})
    assert "GPQA, gpqa differ only in case: they are taken as 2 benchmarks" in said
