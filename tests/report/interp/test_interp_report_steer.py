"""Tables, figure and sentences of steering say what metrics.json says, and no more."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from rich.console import Console

from tests.report.interp.made import dose, grid_of, steer_result
from tests.report.legible import check_texts
from trace.report.canvas import png, write_drawings
from trace.report.interp import steer_figure
from trace.report.interp.steer_figure import steer_drawings
from trace.report.interp.steer_tables import steer_grids
from trace.report.interp.steer_words import steer_limits, steer_sentences
from trace.report.labels import make_legible

TITLE = "clarify · a_model_with_a_long_name · steer"
FIVE = (-6, -3, 0, 3, 6)
LONG = {
    "positive": ["asks_back_for_a_missing_detail_before_answering", "partially_asks_back"],
    "negative": ["answers_as_if_nothing_were_missing"],
}


def unlabelled() -> dict[str, Any]:
    """A strength without any label, and no perplexity at all."""
    return steer_result(
        [
            dose("difference", -3, None, adjusted=None, perplexity=None),
            dose("difference", 0, 20, adjusted=None, perplexity=None),
            dose("difference", 3, 22, perplexity=None),
            dose("random", 3, 20, perplexity=None),
        ]
    )


def mute() -> dict[str, Any]:
    """Every answer is empty."""
    rows = [dose("difference", alpha, None, adjusted=None, perplexity=None) for alpha in (0, 3)]
    for row in rows:
        row["coherence"] = {"repetition": None, "words": 0.0, "perplexity": None}
    return steer_result(rows)


RESULTS: dict[str, Callable[[], dict[str, Any]]] = {
    "five": lambda: steer_result(grid_of(FIVE), up=3, down=-3),
    "one": lambda: steer_result(grid_of([0])),
    "two": lambda: steer_result(grid_of([0, 3]), up=3),
    "nine": lambda: steer_result(grid_of([-6, -4, -2, -1, 0, 1, 2, 4, 6]), labels=LONG),
    "dense": lambda: steer_result(grid_of([-6, -3, -1, -0.5, -0.1, 0, 0.1, 0.5, 1, 3, 6])),
    "Chinese": lambda: steer_result(
        grid_of([-3, 0, 3]), labels={"positive": ["反问"], "negative": ["回答"]}
    ),
    "unlabelled": unlabelled,
    "mute": mute,
}


def drawn(result: dict[str, Any]) -> tuple[Axes, Axes]:
    (drawing,) = steer_drawings(TITLE, result)
    top, below = drawing.draw().axes
    return top, below


def points(axes: Axes, marker: str) -> list[tuple[float, float, Any]]:
    """Each single mark of a kind: x, y and its filling."""
    return [
        (float(x), float(y), one.get_markerfacecolor())
        for one in axes.get_lines()
        if one.get_marker() == marker and one.get_linestyle() == "-" and len(one.get_xdata()) == 1
        for x, y in [np.ravel(one.get_data())]
    ]


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_the_csv_is_the_json(tmp_path: Path, make: Callable[[], dict[str, Any]]) -> None:
    result = make()
    write_drawings(tmp_path, steer_drawings(TITLE, result))
    with (tmp_path / "doses.csv").open(encoding="utf-8", newline="") as lines:
        rows = {(row["direction"], float(row["alpha"])): row for row in csv.DictReader(lines)}
    assert len(rows) == len(result["breakdowns"]["doses"])
    for one in result["breakdowns"]["doses"]:
        row = rows[one["direction"], one["alpha"]]
        fisher, mcnemar = one["fisher"] or {}, one["mcnemar"] or {}
        wanted = {
            **{key: one[key] for key in ("ratio", "n", "n_unscored", "positives", "incoherent")},
            "share": one["share"]["value"],
            "low": one["share"]["low"],
            "high": one["share"]["high"],
            "fisher_p": fisher.get("p"),
            "fisher_adjusted": fisher.get("adjusted"),
            **{f"mcnemar_{key}": mcnemar.get(key) for key in ("b", "c", "p", "adjusted")},
            **one["coherence"],
        }
        for name, value in wanted.items():
            assert row[name] == ("" if value is None else str(value)), name


def test_marks_are_where_the_numbers_say() -> None:
    result = RESULTS["five"]()
    top, below = drawn(result)
    own = [d for d in result["breakdowns"]["doses"] if d["direction"] == "difference"]
    shown = sorted(points(top, "o"))
    assert [y for _, y, _ in shown] == [d["share"]["value"] for d in own]
    near = steer_figure._STEP * 12
    assert [x for x, _, _ in shown] == pytest.approx([d["alpha"] for d in own], abs=near)
    hollow = [same_color(face, "white") for _, _, face in shown]
    assert hollow == [d["incoherent"] > 26 for d in own] == [True, False, False, False, True]
    intervals = [
        tuple(one.get_ydata())
        for one in top.get_lines()
        if len(one.get_xdata()) == 2 and len(set(one.get_xdata())) == 1
    ]
    assert sorted(intervals) == sorted(
        (d["share"]["low"], d["share"]["high"]) for d in result["breakdowns"]["doses"]
    )
    curve = next(one for one in below.get_lines() if one.get_marker() == "o")
    assert list(curve.get_ydata()) == [d["coherence"]["perplexity"] for d in own]


def test_stars_stand_above_what_differs() -> None:
    result = RESULTS["five"]()
    top, _ = drawn(result)
    stars = sorted(
        round(float(x))
        for one in top.get_lines()
        if one.get_marker() == "*"
        for x in one.get_xdata()
    )
    assert stars == [-6, -3, 3, 6]
    assert not any(one.get_marker() == "*" for one in drawn(RESULTS["unlabelled"]())[0].get_lines())


def test_the_paired_test_decides() -> None:
    """Fisher's takes the same prompts for independent ones; it counts where the other lacks."""
    row = dose("difference", 3, 40, adjusted=0.2)
    row["fisher"] = {"p": 0.01, "adjusted": 0.02}
    (grid, *_) = steer_grids(TITLE, steer_result([row]))
    assert grid.rows[0][3] == ("80.0",)
    row["mcnemar"] = None
    (grid, *_) = steer_grids(TITLE, steer_result([row]))
    assert grid.rows[0][3] == ("80.0*",)


def test_without_a_label_there_is_a_dash_and_no_mark() -> None:
    result = unlabelled()
    (shares, coherence, _) = steer_grids(TITLE, result)
    assert shares.rows[0][3] == ("–¹",)
    assert [row[-1] for row in coherence.rows] == [("–",)] * 4
    top, below = drawn(result)
    assert len(points(top, "o")) == 2
    assert below.get_ylabel() == "repetition"


def test_the_ratio_of_the_push_stands_above() -> None:
    (drawing,) = steer_drawings(TITLE, RESULTS["five"]())
    (above,) = drawing.draw().axes[0].child_axes
    texts = [label.get_text() for label in above.get_xticklabels()]
    assert texts == ["0.81", "0.41", "0.00", "0.41", "0.81"]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30, unique=True))
def test_strengths_that_are_written_never_touch(alphas: list[float]) -> None:
    written = steer_figure._spaced(alphas, 5.0)
    assert set(written) <= set(alphas)
    assert all(b - a >= 5.0 for a, b in itertools.pairwise(written))
    assert min(map(abs, written)) == min(map(abs, alphas))
    for alpha in alphas:  # none is left out without need
        assert any(abs(alpha - other) < 5.0 for other in written)


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_tables_fit_a_terminal(make: Callable[[], dict[str, Any]]) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    for grid in steer_grids(TITLE, make()):
        console.print(grid.terminal())
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_no_text_is_cut_or_overlaps(make: Callable[[], dict[str, Any]]) -> None:
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        (drawing,) = steer_drawings(TITLE, make())
        figure = drawing.draw()
        make_legible(figure, {})
        texts = check_texts(figure, more_than=5)
    assert figure.get_figwidth() < 6
    assert min(text.get_fontsize() for text in texts) >= 7


@pytest.mark.parametrize("panel", [0, 1])
def test_every_line_goes_through_what_is_without_a_push(panel: int) -> None:
    rows = [row for row in grid_of([-3, 0, 3]) if row["direction"] != "random" or row["alpha"]]
    (zero,) = [row for row in rows if not row["alpha"]]
    value = (zero["share"]["value"], zero["coherence"]["perplexity"])[panel]
    axes = drawn(steer_result(rows))[panel]
    lines = [one for one in axes.get_lines() if len(one.get_xdata()) == 3]
    ways = {one.get_linestyle(): one for one in lines if one.get_linestyle() != "None"}
    assert ways.keys() == {"-", "--"}
    for one in ways.values():
        assert float(np.ravel(one.get_xdata())[1]) == pytest.approx(0, abs=0.1)
        assert float(np.ravel(one.get_ydata())[1]) == value


def test_it_says_what_changed() -> None:
    said = steer_sentences(RESULTS["five"]())
    assert said[0] == (
        "Without a push 50.0% (95% interval 38.0% to 62.0%) of 50 answers are “asks_back”."
    )
    assert said[1].startswith("α = +3 is the smallest push up that raises the share")
    assert "; −3 is the smallest push down that lowers it, to 12.0%" in said[1]
    assert "random direction" in said[2]
    assert "at no strength" in said[2]
    assert "(difference of means, α = −6, +6)" in said[3]
    assert steer_sentences(RESULTS["two"]())[1].endswith(", q = 0.0100.")  # none down was tried


@pytest.mark.parametrize(
    ("positives", "adjusted", "incoherent", "said"),
    [
        (20, 0.3, 0, "; no push down lowers it significantly."),
        (45, 0.001, 0, "; at α = −3 it changes against the direction of the push."),
        (45, 0.001, 40, "q = 0.0100."),
    ],
)
def test_it_says_what_the_other_way_did(
    positives: int, adjusted: float, incoherent: int, said: str
) -> None:
    down = dose("difference", -3, positives, adjusted=adjusted, incoherent=incoherent)
    result = steer_result([*grid_of([0, 3]), down], up=3)
    assert steer_sentences(result)[1].endswith(said)


def test_gibberish_changes_nothing() -> None:
    rows = [dose("difference", 0, 20, adjusted=None),
            *(dose(name, 3, 2, adjusted=0.001, incoherent=40)
              for name in ("difference", "random"))]  # fmt: skip
    said = steer_sentences(steer_result(rows))
    assert said[1] == "Whether a push changes the share of “asks_back” is not known."
    assert not any("of equal length changed" in sentence for sentence in said)


def test_it_says_that_nothing_changed() -> None:
    result = steer_result([dose("difference", 0, 20, adjusted=None), dose("difference", 3, 22)])
    assert steer_sentences(result)[1] == (
        "No push changes the share of “asks_back” significantly (smallest adjusted p 0.4000)."
    )


def test_a_change_the_wrong_way_is_neither_no_change_nor_an_effect() -> None:
    rows = [dose("difference", 0, 20, adjusted=None), dose("difference", 3, 2, adjusted=0.001)]
    assert steer_sentences(steer_result(rows))[1] == (
        "At α = +3 the share of “asks_back” changes significantly, but against the direction of "
        "the push."
    )


def test_a_random_direction_that_acts_is_said_to() -> None:
    rows = [*grid_of([0, 3]), dose("random", 6, 45, adjusted=0.001)]
    said = " ".join(steer_sentences(steer_result(rows, up=3)))
    assert "changed the share as well, at α = +6: what the vector does at such a length" in said


def test_limits_are_those_of_the_run() -> None:
    result = steer_result(grid_of(FIVE), scope="another engine")
    limits = " ".join(steer_limits(result))
    assert "not that the model uses it" in limits
    assert "no longer language" in limits
    assert "steering.tokens=generated" in limits
    result["breakdowns"]["vector"]["tokens"] = "generated"
    assert "steering.tokens=generated" not in " ".join(steer_limits(result))
    assert steer_sentences(result)[-1] == "Illustrative only: another engine."


def test_equal_numbers_give_equal_bytes() -> None:
    (drawing,), (again,) = (steer_drawings(TITLE, RESULTS["five"]()) for _ in range(2))
    assert png(drawing.draw) == png(again.draw)
