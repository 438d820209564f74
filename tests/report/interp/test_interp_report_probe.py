"""Tables, figure and sentences of probes say what metrics.json says, and no more."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from rich.console import Console

from tests.report.interp.made import layer, probe_result
from tests.report.legible import check_texts
from trace.report.canvas import png, write_drawings
from trace.report.grid import Grid
from trace.report.interp.probe_figure import probe_drawings
from trace.report.interp.probe_tables import probe_grids
from trace.report.interp.probe_words import probe_limits, probe_sentences
from trace.report.labels import make_legible

TITLE = "clarify · a_model_with_a_long_name · a_condition_with_a_long_name · probe"
LONG = {
    "positive": ["asks_back_for_a_missing_detail_before_answering", "partially_asks_back"],
    "negative": ["answers_as_if_nothing_were_missing"],
}
CHINESE = {"positive": ["反问澄清"], "negative": ["直接回答"]}


def with_gaps() -> dict[str, Any]:
    """Three layers that have no number."""
    result = probe_result()
    layers = result["breakdowns"]["layers"]
    for i in (3, 9, 10):
        layers[i] = layer(layers[i]["layer"], None)
    return result


def undefined() -> dict[str, Any]:
    """Not one layer has a number."""
    result = probe_result(shuffles=0)
    for of in (result["breakdowns"], result["breakdowns"]["control"]):
        of["layers"] = [layer(one["layer"], None, shuffled=False) for one in of["layers"]]
    result["breakdowns"]["control"]["mcnemar"] = None
    nothing = {"value": None, "low": None, "high": None, "reason": "one class only", "layer": None}
    result["metrics"] = {name: one | nothing for name, one in result["metrics"].items()}
    return result


RESULTS: dict[str, Callable[[], dict[str, Any]]] = {
    "20 layers": probe_result,
    "1 layer": lambda: probe_result([7]),
    "80 layers": lambda: probe_result(range(80)),
    "gaps": with_gaps,
    "nothing beside it": lambda: probe_result(shuffles=0, control=None, baselines=False),
    "long names": lambda: probe_result(labels=LONG, control="a_provider/" + "long-name-" * 5),
    "Chinese": lambda: probe_result(labels=CHINESE),
    "undefined": undefined,
    "noise": lambda: probe_result(top=0.45, p=0.7),
}


def drawn(result: dict[str, Any]) -> Axes:
    (drawing,) = probe_drawings(TITLE, result)
    return drawing.draw().axes[0]


def line(axes: Axes, label: str) -> Line2D:
    (found,) = [one for one in axes.get_lines() if str(one.get_label()).startswith(label)]
    return found


def data(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    xs, ys = line(axes, label).get_data()
    return list(map(float, np.asarray(xs))), list(map(float, np.asarray(ys)))


def printed(grids: list[Grid]) -> str:
    console = Console(width=80, record=True, file=io.StringIO())
    for grid in grids:
        console.print(grid.terminal())
    return console.export_text()


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_the_csv_is_the_json(tmp_path: Path, make: Callable[[], dict[str, Any]]) -> None:
    result = make()
    write_drawings(tmp_path, probe_drawings(TITLE, result))
    with (tmp_path / "layers.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found = result["breakdowns"]
    expected = [("model", one) for one in found["layers"]]
    expected += [("control", one) for one in (found["control"] or {"layers": []})["layers"]]
    expected += [(one["name"], one) for one in found["baselines"]]
    assert [row["curve"] for row in rows] == [curve for curve, _ in expected]
    for row, (_, one) in zip(rows, expected, strict=True):
        null, seeds = one.get("null") or {}, one.get("seeds") or {}
        wanted = {
            "layer": one.get("layer"),
            "balanced_accuracy": one["balanced_accuracy"]["value"],
            "low": one["balanced_accuracy"]["low"],
            "high": one["balanced_accuracy"]["high"],
            "auc": one["auc"]["value"],
            "p": one.get("p"),
            "selectivity": one.get("selectivity"),
            "cosine_difference": one.get("cosine_difference"),
            **{f"null_{name}": null.get(name) for name in ("mean", "q95", "q99", "max")},
            **{f"seeds_{name}": seeds.get(name) for name in ("low", "high", "mean")},
        }
        for name, value in wanted.items():
            assert row[name] == ("" if value is None else str(value)), name
        assert [float(c) for c in row["strengths"].split()] == list(one.get("strength") or [])


def test_marks_are_where_the_numbers_say() -> None:
    result = probe_result()
    axes, found = drawn(result), result["breakdowns"]
    xs, ys = data(axes, "probe")
    assert xs == [row["layer"] for row in found["layers"]]
    assert ys == [row["balanced_accuracy"]["value"] for row in found["layers"]]
    for row in found["baselines"]:
        assert set(data(axes, row["name"])[1]) == {row["balanced_accuracy"]["value"]}
    for label, name in (("mean", "mean"), ("95% quantile", "q95"), ("highest", "max")):
        _, values = data(axes, f"shuffled labels: {label}")
        assert values == [row["null"][name] for row in found["layers"]]
    peak = result["metrics"]["peak"]
    assert data(axes, "peak") == ([peak["layer"]], [peak["value"]])
    assert set(data(axes, "from here on")[0]) == {found["shuffles"]["first_layer"]}
    assert set(data(axes, "chance")[1]) == {0.5}


def test_the_band_is_the_interval() -> None:
    result = probe_result(control=None)
    axes = drawn(result)
    corners = axes.collections[0].get_paths()[0].vertices
    for row in result["breakdowns"]["layers"]:
        at = corners[corners[:, 0] == row["layer"], 1]
        assert {at.min(), at.max()} == {row["balanced_accuracy"][end] for end in ("low", "high")}


def test_the_control_stands_at_its_relative_depth() -> None:
    result = probe_result()  # layers 0 to 76 beside 0 to 15
    axes = drawn(result)
    xs, ys = data(axes, "control: llama_3_2_1b")
    assert xs == pytest.approx([0, 4 / 15 * 76, 8 / 15 * 76, 12 / 15 * 76, 76])
    control = result["breakdowns"]["control"]["layers"]
    assert ys == [row["balanced_accuracy"]["value"] for row in control]
    assert "relative depth" in axes.get_xlabel()
    assert "relative depth" not in drawn(probe_result(control=None)).get_xlabel()


def test_what_is_not_known_is_a_gap_and_a_dash() -> None:
    result = with_gaps()
    _, ys = data(drawn(result), "probe")
    assert [i for i, y in enumerate(ys) if np.isnan(y)] == [3, 9, 10]
    row = probe_grids(TITLE, result)[1].rows[3]
    assert row[1] == ("–¹",)
    assert all(cell[0].startswith("–") or not cell[0] for cell in row[1:])
    assert "¹ one class only" in probe_grids(TITLE, result)[1].footnotes()


def test_without_shuffles_and_control_there_is_none_of_them() -> None:
    result = RESULTS["nothing beside it"]()
    labels = {str(one.get_label()) for one in drawn(result).get_lines()}
    assert labels == {"probe (band: 95% interval)", "peak, layer 76", "chance"}
    summary, layers = probe_grids(TITLE, result)
    assert "probe.permutations=0" in summary.notes["p:"]
    assert not any("Null" in name or name == "p" for name in layers.header)
    assert "Null" not in layers.notes[""]
    assert "not known" in probe_sentences(result)[0]


def test_the_summary_has_every_number() -> None:
    text = printed(probe_grids(TITLE, probe_result())[:1])
    for number in (
        "42", "58", "87.0", "(81.0–93.0)", "0.0050", "80.3–86.9", "72.0", "61.0", "66.0",
        "+2.1 to +27.0", "0.0059", "21 against 6", "8,192", "60 groups",
    ):  # fmt: skip
        assert number in text, number
    assert "First layer: 40;" in text


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_tables_fit_a_terminal(make: Callable[[], dict[str, Any]]) -> None:
    text = printed(probe_grids(TITLE, make()))
    assert "…" not in text
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_no_text_is_cut_or_overlaps(make: Callable[[], dict[str, Any]]) -> None:
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        (drawing,) = probe_drawings(TITLE, make())
        figure = drawing.draw()
        make_legible(figure, {})
        texts = check_texts(figure, more_than=5)
    assert figure.get_figwidth() < 6
    assert min(text.get_fontsize() for text in texts) >= 7


def test_it_says_what_is_beyond_chance() -> None:
    said = " ".join(probe_sentences(probe_result()))
    assert "“asks_back” and “answers” can be told apart at layer 76" in said
    assert "From layer 40 on" in said
    assert "15.0 points above, and its interval begins above that" in said
    assert "so the model tells more than its control" in said
    assert "Illustrative" not in said


def test_it_says_what_is_not() -> None:
    result = probe_result(top=0.6, p=0.21)
    result["breakdowns"]["shuffles"] |= {"first_layer": None, "plateau": None}
    result["breakdowns"]["control"] |= {
        "gap": {"value": -0.03, "low": -0.11, "high": 0.05},
        "mcnemar": {"b": 9, "c": 12, "p": 0.66},
    }
    said = probe_sentences(result)
    assert said[0].startswith("No layer tells")
    assert "p = 0.2100" in said[0]
    assert said[1] == "There is no layer from which on all later ones beat every shuffle."
    assert said[2].endswith("the model's layers tell no more than that.")
    assert "−3.0 points (95% interval −11.0 to +5.0)" in said[3]
    assert said[3].endswith("so it is not shown that one tells more than the other.")


def test_too_few_shuffles_are_said_to_be_too_few() -> None:
    assert "cannot be below 0.0909" in probe_sentences(probe_result(p=1 / 11, shuffles=10))[0]
    assert "cannot be below" not in probe_sentences(probe_result(p=0.21))[0]


def test_a_baseline_within_the_interval_is_said_to_be() -> None:
    result = probe_result()
    result["breakdowns"]["baselines"][0]["balanced_accuracy"] |= {"value": 0.85}
    assert "its interval includes that" in " ".join(probe_sentences(result))


def test_no_result_is_said_with_its_reason() -> None:
    result = undefined()
    result["breakdowns"]["scope"] = "another engine"
    assert probe_sentences(result) == [
        "Nothing came out: one class only.",
        "Illustrative only: another engine.",
    ]
    summary = probe_grids(TITLE, result)[0]
    assert [row[1] for row in summary.rows[2:4]] == [("–¹",), ("–¹",)]
    assert not any(str(one.get_label()).startswith("peak") for one in drawn(result).get_lines())


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ("prompt_end", "before the answer"),
        ("response_last", "question mark"),
        ("response_end", "no end token"),
        ("response_mean", "over the whole answer"),
    ],
)
def test_limits_are_those_of_the_position(position: str, words: str) -> None:
    limits = " ".join(probe_limits(probe_result(position=position)))
    assert words in limits
    assert "does not show that the model uses it" in limits
    assert ("before the model committed to it" in limits) == (position != "prompt_end")


def test_one_layer_is_no_choice() -> None:
    assert "optimistic" in " ".join(probe_limits(probe_result()))
    assert "optimistic" not in " ".join(probe_limits(probe_result([7])))


def test_equal_numbers_give_equal_bytes() -> None:
    (drawing,), (again,) = (probe_drawings(TITLE, probe_result()) for _ in range(2))
    assert png(drawing.draw) == png(again.draw)
