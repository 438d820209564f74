"""Runs of one guard on three components are one row, and are compared within a component."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.evidence.conftest import HOW, TRIPLES, exactly, make_run, right_at, runs_of
from trace.report import asked
from trace.report.compare.judged import measure
from trace.report.evidence.guards import (
    COMPONENTS,
    by_component,
    components_of,
    guards_of,
    names_in,
    own_metric,
    without,
)
from trace.report.gather import _marked
from trace.report.runs import Run
from trace.tasks import compare_runs


def config(condition: dict[str, Any], **protocol: Any) -> dict[str, Any]:
    return {
        "condition": condition,
        "benchmark": {},
        "protocol": {"answer": "generate", "variant": "plain"} | protocol,
        "scoring": {"parser": "strict"},
        "sampling": {"temperature": 0.0, "top_p": 1.0, "max_new_tokens": 1024},
    }


def test_a_component_is_no_way_of_asking() -> None:
    picks = config({"name": "trace", "part": "reasoning"})
    assert asked.component(picks) == "trace"
    assert list(asked.unusual(picks)) == []
    how = config({"name": "needle_6k", "part": None, "tokens": 6000})
    assert asked.component(how) == ""
    assert list(asked.unusual(how)) == ["needle_6k"]
    assert list(asked.unusual(config({"name": "trace", "part": "reasoning", "examples": 4}))) == [
        "4 examples"
    ]
    assert asked.settings(picks) != asked.settings(config({"name": "trace", "part": "response"}))


def test_three_components_are_not_three_runs_of_one_name() -> None:
    runs, notes = _marked(runs_of(exactly))
    assert notes == []
    assert [(run.name, run.under) for run in runs] == [
        ("guard", "binary, prompt"), ("guard", "binary, trace"), ("guard", "binary, response")
    ]  # fmt: skip


def test_samples_and_twins_are_checked_within_a_component() -> None:
    runs = runs_of(exactly)
    short = make_run(exactly, "trace", model="other", triples=TRIPLES[:20])
    _, notes = _marked([*runs, short])
    assert len(notes) == 1
    assert "differ in their samples under binary, trace" in notes[0]
    twin = make_run(exactly, "trace", path=runs[0].path / "again", digest="again")
    _, notes = _marked([*runs, twin])
    assert "guard stands 2 times under binary, trace" in notes[0]


def test_what_differs_in_one_component_marks_the_guard_and_does_not_split_it() -> None:
    others = [*runs_of(exactly, "a"), *runs_of(exactly, "b")]
    asked_less = runs_of(exactly, "c")
    asked_less[1] = make_run(exactly, "trace", model="c", triples=TRIPLES[:20])
    runs, _ = _marked([*others, *asked_less])
    assert [g.name for g in guards_of(runs, HOW)] == ["a", "b", "c (other samples)"]
    assert [len(g.runs) for g in guards_of(runs, HOW)] == [3, 3, 3]


def test_other_runs_of_a_guard_on_other_data_are_another_row() -> None:
    others = [*runs_of(exactly, "a"), *runs_of(exactly, "b")]
    again = [make_run(exactly, c, model="a", data={"file": "xyz"}, path=Path("again") / c)
             for c in COMPONENTS]  # fmt: skip
    found = guards_of(_marked([*others, *again])[0], HOW)
    assert [(g.name, len(g.runs)) for g in found] == [("a", 3), ("a (other data)", 3), ("b", 3)]


def test_a_component_that_stands_twice_is_told_apart() -> None:
    again = make_run(exactly, "trace", settings={"sampling": "hot"}, path=Path("again"))
    found = guards_of(_marked([*runs_of(exactly), *runs_of(exactly, "b"), again])[0], HOW)
    assert {(g.name, len(g.runs)) for g in found} == {
        ("guard", 3), ("guard (other sampling)", 1), ("b", 3)
    }  # fmt: skip


def test_a_row_a_guard_in_the_order_of_family_and_size() -> None:
    big = runs_of(exactly, "big", family="A", parameters=8.0)
    small = runs_of(exactly, "small", family="A", parameters=1.0)
    first = runs_of(exactly, "zero", family="0", parameters=70.0)[1:2]
    guards = guards_of([*reversed(big), *small, *first], HOW)
    assert [guard.name for guard in guards] == ["zero", "small", "big"]
    assert list(guards[-1].runs) == ["prompt", "trace", "response"]
    assert components_of(guards) == ["prompt", "trace", "response"]
    cells = by_component(guards, lambda g, c: 1)
    assert list(cells["prompt"]) == ["small", "big"]
    assert names_in(cells) == ["zero", "small", "big"]
    assert without(guards, lambda g, c: "why" if g.name == "zero" else None) == (
        "zero (trace): why",
    )


def test_a_model_under_two_protocols_has_two_rows() -> None:
    runs = [*runs_of(exactly), *runs_of(exactly, protocol="evidence")]
    assert [g.name for g in guards_of(runs, HOW)] == ["guard, binary", "guard, evidence"]


def test_what_a_run_did_not_write_is_undefined_with_a_reason() -> None:
    run: Run = make_run(right_at(0.5), "prompt")
    metric = own_metric(run, "token_f1")
    assert metric["value"] is None
    assert "run it anew" in metric["reason"]


def test_each_study_has_its_own_analyses() -> None:
    """Mixed on purpose, runs of two studies stand in the tables of each, and in no other's."""
    evidence = [measure(run, HOW) for run in runs_of(exactly)]
    other = measure(make_run(exactly, "prompt", benchmark="tracesafe", condition=""), HOW)
    of_evidence = compare_runs.sections(evidence, None, HOW, None)
    assert all(section.name.startswith("evidence_") for section in of_evidence)
    both = compare_runs.sections([*evidence, other], None, HOW, None)
    assert [section.name for section in both][-len(of_evidence) :] == [
        section.name for section in of_evidence
    ]
    assert list(both[0].result["binary"]) == ["guard"]
    assert [one.result for one in both[-len(of_evidence) :]] == [one.result for one in of_evidence]


def test_unscored_samples_are_misses_or_left_out_as_is_told() -> None:
    silent = runs_of(lambda component, triple, luck: None if triple["unsafe"][component] else False)
    (as_wrong,) = guards_of(silent, HOW)
    metrics = as_wrong.detected["prompt"]
    assert (metrics["fnr"]["value"], metrics["f1"]["value"]) == (1.0, 0.0)
    assert metrics["coverage"]["value"] == pytest.approx(0.4)
    (excluded,) = guards_of(silent, replace(HOW, unscored="exclude"))
    assert excluded.detected["prompt"]["f1"]["value"] is None
    assert excluded.detected["prompt"]["f1"]["reason"]
