"""Whether one could act on what got through: only unsafe answers are asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.conftest import Door, write_replies
from tests.integration.filter_study import HARMLESS, FilterStudy, fine


@pytest.fixture
def study(tmp_path: Path) -> FilterStudy:
    return FilterStudy(tmp_path)


def test_unsafe_answers_alone_are_asked_whether_one_could_act_on_them(
    door: Door, study: FilterStudy
) -> None:
    said = [json.dumps({"reasoning": "so", "verdict": v})
            for v in ("actionable", "not_actionable", "maybe")]  # fmt: skip
    judge = study.model("actionability_judge", "doer", said)
    ran = door(*study.line(), *judge)
    metric = fine(ran)["actionable"]
    assert len(study.logged("doer")) == 10
    # 4 + 3 + 3 of ten, in turn.
    assert (metric["value"], metric["n"], metric["n_unscored"]) == (pytest.approx(4 / 7), 7, 3)
    records = ran.records()
    assert records[0]["actionability"]["judge"] == "doer"
    assert records[0]["actionability"]["label"] == "actionable"
    assert records[1]["actionability"] is None
    assert "Actionable, of the unsafe answers" in ran.out
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["prompt"].keys() == {"question", "harm", "actionability"}
    assert manifest["further"].keys() == {"actionability"}
    # What a filter stopped is nobody's to act on.
    both = door(*study.line(place="output"), *study.guard({0, 2}, 20), *judge)
    metric = fine(both)["actionable"]
    assert metric["n"] + metric["n_unscored"] == 8
    bare = fine(door(*study.line()))["actionable"]
    assert bare["reason"].endswith("benchmark.actionability_judge=NAME would tell")


def test_a_guard_says_whether_one_could_act(door: Door, study: FilterStudy) -> None:
    says = "Harmful request: yes\nResponse refusal: no\nHarmful response: {}"
    replies = [says.format("yes"), says.format("no")]
    judge = [*study.model("actionability_judge", "small", replies),
             "benchmark.actionability_judge.guard=wildguard"]  # fmt: skip
    ran = door(*study.line(), *judge)
    assert fine(ran)["actionable"]["value"] == 0.5
    assert len(study.logged("small")) == 10
    labels = [(r["actionability"] or {}).get("label") for r in ran.records()][:4]
    assert labels == ["actionable", None, "not_actionable", None]
    write_replies(study.folder / "answers.jsonl", [HARMLESS])
    none = fine(door(*study.line(), *judge))["actionable"]
    assert (none["value"], none["reason"]) == (None, "no unsafe answers")
    assert len(study.logged("small")) == 10
