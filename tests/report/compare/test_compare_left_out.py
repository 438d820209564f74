"""A judge or a protocol that an analysis cannot count is named, and takes no other with it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.report.compare.conftest import CLASSES, HOW, at, judge, make_run
from trace.report import canvas
from trace.report.compare import (
    capability,
    confusion,
    dangers,
    kinship,
    length,
    plane,
    rerun,
    size,
    spread,
    subsample,
)
from trace.report.compare.judged import How, Judge, measure
from trace.report.compare.section import Section

EXCLUDE = How(unscored="exclude", draws=100, seed=0)
FEW = ("Benign", "DataLeak", "RedundantArg")


def silent(*classes: str, **settings: Any) -> Judge:
    """No label on `classes` (on none of all without them), right on the others."""

    def answer(class_: str, _: Mapping[str, Any], luck: random.Random) -> bool | None:
        return None if not classes or class_ in classes else luck.random() < 0.8

    return measure(make_run(answer, **({"per_class": 20} | settings)), EXCLUDE)


def some(**settings: Any) -> Judge:
    return measure(make_run(at({}, 0.8), **({"per_class": 20} | settings)), EXCLUDE)


def drawn(section: Section) -> None:
    """Every figure can be drawn."""
    for drawing in section.drawings:
        assert canvas.png(drawing.draw).startswith(b"\x89PNG")


@pytest.mark.parametrize("lacking", [(), ("DataLeak",)])
def test_dangers_mark_the_judge_that_has_no_difference(lacking: tuple[str, ...]) -> None:
    judges = [
        some(model="a", classes=FEW),
        some(model="b", classes=FEW),
        silent(*lacking, model="dumb", classes=FEW),
        some(model="a", classes=FEW[:2], protocol="coarse"),
    ]
    found = dangers.differences(judges, EXCLUDE)
    rows = found["fine"]
    assert set(rows) == {"a", "b", "dumb", dangers.ALL}
    assert rows["dumb"]["difference"]["value"] is None
    assert "explicit: all 20 samples are unscored" in rows["dumb"]["difference"]["reason"]
    # What the judge without one side said of the other is not in the difference of all.
    assert rows[dangers.ALL]["operational"]["n"] == 40
    assert found["coarse"]["a"]["difference"]["reason"] == "operational: no samples"
    section = dangers.section(judges, EXCLUDE)
    text = section.markdown()
    assert "all 20 samples are unscored" in text
    assert f"not in the row of {dangers.ALL}: dumb" in text
    drawn(section)
    assert "reason" in dangers.differences(judges[2:3], EXCLUDE)


def test_subsample_says_why_a_protocol_is_not_drawn() -> None:
    judges = [
        some(model="a"), silent(model="dumb"),
        some(model="a", protocol="coarse", classes=FEW[:2]),
        some(model="a", protocol="schema", per_class=8),
    ]  # fmt: skip
    found = subsample.stability(judges, EXCLUDE)
    assert "reason" not in found["fine"]
    assert found["coarse"]["reason"] == "2 classes; at least 3 can be ranked"
    assert found["schema"]["reason"] == "a class has 8 samples; at least 10 can be halved"
    section = subsample.section(judges, EXCLUDE)
    assert "2 classes; at least 3" in section.markdown()
    assert section.left_out == ("fine: dumb (no reply with a label)",)
    drawn(section)
    reason = subsample.stability(judges[2:], EXCLUDE)["reason"]
    assert "coarse: 2 classes" in reason
    assert "schema: a class has 8 samples" in reason


def test_plane_and_size_name_who_has_no_place() -> None:
    family = {"family": "F", "classes": FEW}
    judges = [
        some(model="a", parameters=1, **family),
        some(model="b", parameters=2, **family),
        silent("Benign", model="dumb", parameters=3, **family),
        some(model="c", **family),
        some(model="d", parameters=2, classes=FEW),
        some(model="e", parameters=2, family="G", classes=FEW),
    ]
    assert plane.section(judges).left_out == ("fine: dumb (all 20 safe samples are unscored)",)
    section = size.section(judges)
    assert {*section.left_out} == {
        "fine: dumb (all 20 safe samples are unscored)",
        "fine: c (no model.parameters)",
        "fine: d (no model.family)",
        "fine: e (the only size of its family)",
    }
    assert "- left out: fine: d (no model.family)" in section.markdown()
    assert "- left out: fine: dumb" in plane.section(judges[2:3]).markdown()
    drawn(section)


def test_length_names_protocols_keys_and_judges() -> None:
    short = some(model="a", protocol="coarse", classes=FEW, steps=lambda _: 1)
    judges = [some(model="a", classes=FEW), silent(model="dumb", classes=FEW), short]
    section = length.section(judges, EXCLUDE)
    assert section.left_out == (
        "fine: dumb (no reply with a label)", "steps, coarse: no sample has `steps` of 2 or more"
    )  # fmt: skip
    drawn(section)
    assert section.result["steps"]["coarse"]["reason"]
    only = length.section([short], EXCLUDE)
    assert only.left_out == ("steps: no sample has `steps` of 2 or more",)
    drawn(only)


def test_a_class_without_a_label_is_not_drawn_by_length() -> None:
    one = silent("DataLeak", classes=FEW)
    drawn(length.section([one], EXCLUDE))
    block = length.by_length([one], "steps", length.step_bins(), EXCLUDE)
    (axes,) = length.figure("steps", block).axes
    _, labels = axes.get_legend_handles_labels()
    assert set(labels) == {"Benign", "RedundantArg", "all"}


def test_kinship_rerun_spread_and_confusion_name_the_others() -> None:
    judges = [
        some(model="a", family="Qwen3", classes=FEW, epochs=2),
        silent(model="dumb", family="Other", classes=FEW),
    ]
    assert kinship.section(judges, EXCLUDE).left_out == (
        "fine: dumb (no sample was made by its family)",
    )
    assert rerun.section(judges, EXCLUDE).left_out == ("fine: dumb (one epoch)",)
    assert confusion.section(judges).left_out == ("fine: dumb (no reply with a label)",)
    asked = [some(model="a", classes=FEW), judges[1],
             some(model="a", classes=FEW, wording="reversed", variant="reversed")]  # fmt: skip
    assert spread.section(asked).left_out == ("fine: dumb (one wording)",)


def test_rerun_names_the_classes_that_have_no_two_accuracies() -> None:
    section = rerun.section([silent("DataLeak", classes=FEW, epochs=2)], EXCLUDE)
    assert section.result["fine"]["judge"]["1"]["without"] == ["DataLeak"]
    assert "without DataLeak" in section.markdown()


def test_capability_takes_no_run_of_several_and_none_of_other_data() -> None:
    """What is taken must not depend on the order of the runs."""

    def run(model: str, rate: float, *marks: str) -> Judge:
        return judge(
            at({}, rate), model=model, protocol="schema", per_class=20, marks=marks,
            path=Path("_".join((model, *marks))),
        )  # fmt: skip

    judges = [run("a", 0.6), run("b", 0.7), run("c", 0.9), run("d", 0.8, "other prompt")]
    twins = [run("t", 0.3, "#1"), run("t", 0.9, "#2")]
    other = [run("o", 0.2, "other data")]
    scores = {"x": {name: i / 10 for i, name in enumerate("abcdto")}, "y": {"a": 0.5}}
    for order in ([*judges, *twins, *other], [*other, *twins[::-1], *judges[::-1]]):
        section = capability.section(order, scores, HOW)
        assert set(section.result["points"]["x"]) == {*"abcd"}
        assert {*section.left_out} == {
            "schema: t (#2), t (#1) (one of several runs of its model)",
            "schema: o (other data) (other data)",
            "y: b, c, d (no score)",
        }
        assert "capability: counts d (other prompt), marked." in section.notes


def test_names_that_match_no_run_or_no_score_are_noted() -> None:
    judges = [judge(at({}), model=name, protocol="schema", per_class=20) for name in "abcx"]
    scores = {"s": {"A": 0.1, "b": 0.2, "c": 0.3, "zz": 0.4}, "S": {"a": 0.1, "b": 0.3}}
    for table in (scores, {"s": {"A": 0.1, "zz": 0.4}}):
        notes = " ".join(capability.section(judges, table, HOW).notes)
        assert "no run under schema is of zz." in notes
        assert "the table has no score of" in notes
        assert "x." in notes
    assert "A in the table is not a of the runs" in notes
    notes = " ".join(capability.section(judges, scores, HOW).notes)
    assert "S, s differ only in case: they are taken as 2 benchmarks" in notes
    assert "A, a differ only in case: they are taken as 2 models" in notes


def unscored(class_: str, _: Mapping[str, Any], luck: random.Random) -> bool | None:
    return None if luck.random() < 0.5 else False


def test_an_unscored_reply_improves_no_rate_that_is_better_low() -> None:
    """Half of the replies have no label and the others are all wrong in the worst way."""
    run = make_run(unscored, wrong="Benign", per_class=40)
    for how in (HOW, EXCLUDE):
        one = measure(run, how)
        row = confusion.pooled([one])["classes"]["DataLeak"]
        assert row["called_benign"]["value"] == 1.0
        assert row["called_benign"]["n"] + row["unscored"] == row["n"] == 40
        assert row["called_benign"]["bounds"] == [(40 - row["unscored"]) / 40, 1.0]
        alarms = one.classes["Benign"]["detection_rate"]
        assert (alarms["value"], alarms["higher_is_better"]) == (1.0, False)
        assert alarms["bounds"][0] < 0.9
    caught = measure(run, HOW).classes["DataLeak"]["detection_rate"]
    assert caught["n"] == 40  # where higher is better they count as missed


def test_misses_show_the_denominator_of_the_rate() -> None:
    one = silent("DataLeak", classes=CLASSES)
    (line,) = (
        line for line in confusion.section([one]).markdown().splitlines()
        if line.startswith("| DataLeak |")
    )  # fmt: skip
    assert [cell.strip() for cell in line.strip("|").split("|")][2:4] == ["0", "0.0–100.0"]
