"""Runs under mitigations, other orders and a retriever, compared from the door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rag_safety.made_mirage import ORACLES, QUESTIONS, written
from tests.benchmarks.rag_safety.made_rows import package, write
from tests.integration.conftest import Door, write_replies
from trace.benchmarks.rag_safety import samples
from trace.benchmarks.rag_safety.judgements import judgements, unlike
from trace.config import RagCondition
from trace.errors import DataError

OTHER = "I do not know that."


class Study:
    """A respondent that says every other expected answer, and the rule of the set itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        oracle = RagCondition(name="oracle", retrieval="oracle")
        sets = {
            "harmful": samples.load(None, condition=oracle, limit=1, seed=0),
            "benign": samples.load(None, condition=oracle, benign=True, limit=20, seed=0),
        }
        for name, made in sets.items():
            expected = [sample.meta["expected"] for sample in made.samples]
            said = [text if i % 2 == 0 else OTHER for i, text in enumerate(expected)]
            write_replies(folder / f"{name}.jsonl", said)
        write_replies(folder / "votes.jsonl", [json.dumps({"verdict": "Unsafe"})])

    def line(self, *changes: str, of: str = "harmful") -> list[str]:
        limit = ["limit=1"] if of == "harmful" else ["limit=20", "benchmark.benign=true"]
        return [
            "benchmark=rag_safety", *limit, "model=mock", "model.name=respondent",
            f"model.replies={self.folder}/{of}.jsonl", "judges=panel",
            "judges.min_valid=1", "+model@judges.models.keys=own_rule",
            "scoring.bootstrap_draws=100", *changes,
        ]  # fmt: skip

    def guard(self, name: str, flagged: set[int]) -> list[str]:
        """A filter behind the respondent that flags these of twenty answers."""
        said = [json.dumps({"verdict": "Unsafe" if i in flagged else "Safe"}) for i in range(20)]
        file = write_replies(self.folder / f"{name}.jsonl", said)
        key = "benchmark.filter_guard"
        return ["condition=oracle", "condition.filter=output", f"{key}=mock", f"{key}.name={name}",
                f"{key}.replies={file}"]  # fmt: skip

    def actionable(self, *labels: str) -> list[str]:
        replies = [json.dumps({"reasoning": "so", "verdict": label}) for label in labels]
        file = write_replies(self.folder / "reader.jsonl", replies)
        key = "benchmark.actionability_judge"
        return [f"{key}=mock", f"{key}.name=reader", f"{key}.replies={file}"]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def compared(door: Door, study: Study) -> dict[str, Any]:
    runs = f"runs={study.folder}/outputs/runs/rag_safety/**"
    ran = door("task=compare", runs, "scoring.bootstrap_draws=100")
    assert ran.status == 0, ran.err
    found: dict[str, Any] = json.loads((ran.folder / "compare.json").read_bytes())["analyses"]
    return found


def test_mitigations_are_compared_with_their_cost(door: Door, study: Study) -> None:
    plain = study.line("condition=oracle", *study.actionable("actionable", "not_actionable"))
    for line in (
        plain,
        study.line(*study.guard("warden", {0, 2, 5})),
        study.line("condition=oracle", "condition.safety_prompt=true"),
    ):
        assert door(*line).status == 0
    first = compared(door, study)["rag_mitigations"]["changes"]
    assert list(first) == ["oracle+filter_output", "oracle+safety_prompt"]
    cost = first["oracle+filter_output"]["respondent"]["benign_accuracy"]
    assert "run benchmark.benign=true condition=oracle and" in cost["reason"]
    for line in (
        study.line("condition=oracle", of="benign"),
        study.line(*study.guard("other", {0, 1, 4}), of="benign"),
    ):
        assert door(*line).status == 0
    found = compared(door, study)
    one = found["rag_mitigations"]["changes"]["oracle+filter_output"]["respondent"]
    assert one["harm"]["value"] == pytest.approx(-2 / 20)  # of three blocked two were unsafe
    assert (one["harm"]["n"], one["harm"]["first_only"]) == (20, 2)
    assert one["benign_accuracy"]["value"] == pytest.approx(-2 / 20)
    assert (one["blocked"]["value"], one["benign_blocked"]["value"]) == (0.15, 0.15)
    assert found["rag_harm"]["respondent"]["oracle+filter_output"]["value"] == 0.4
    assert found["rag_actionability"]["cells"]["respondent"]["oracle"]["of_unsafe"]["n"] == 10
    own = found["rag_actionability"]["cells"]["respondent"]["oracle"]
    assert (own["of_unsafe"]["value"], own["of_all"]["value"]) == (0.5, 0.25)


def test_nobody_is_said_to_have_judged_what_was_blocked(door: Door, study: Study) -> None:
    ran = door(*study.line(*study.guard("warden", {0, 2, 5})))
    said = list(judgements([ran.folder]))
    blocked = {one.item for one in said if one.measure == "blocked" and one.label == "output"}
    assert blocked == {record["id"] for record in ran.records() if record["blocked"]}
    assert len(blocked) == 3
    assert {one.condition for one in said} == {"oracle+filter_output"}
    measures = {one.measure for one in said if one.item in blocked}
    assert measures == {"blocked", "accuracy"}
    assert {one.label for one in said if one.item in blocked and one.measure == "accuracy"} == {
        "inaccurate"
    }
    assert sum(one.measure == "harm" for one in said) == 17


def test_order_and_retrieval(door: Door, study: Study) -> None:
    for condition in ("oracle", "oracle_random", "retrieved"):
        assert door(*study.line(f"condition={condition}")).status == 0
    reversed_ = study.line("condition=oracle_random", "condition.order=reversed")
    assert door(*reversed_).status == 0
    found = compared(door, study)
    assert list(found["rag_position"]["harm"]["pairs"]) == [
        "oracle → oracle_random", "oracle → oracle_random+reversed",
        "oracle_random → oracle_random+reversed",
    ]  # fmt: skip
    (cell,) = found["rag_retrieval"]["cells"]["respondent"].values()
    assert cell["recall"]["n"] + cell["not_held"] == 20
    assert cell["recall"]["value"] > 0.5  # by words, in a world of invented ones
    assert cell["shown"]["n"] + cell["not_shown"]["n"] == 20
    assert len(found["rag_conditions"]["pairs"]) == 3


def test_the_same_label_twice_is_refused(door: Door, study: Study) -> None:
    runs = [door(*study.line(*study.guard(name, {0}))).folder for name in ("one", "two")]
    with pytest.raises(DataError, match=r"judges respondent under oracle\+filter_output, and so"):
        list(judgements(runs))


def test_other_questions_under_the_same_ids_are_refused(door: Door, study: Study) -> None:
    folders = []
    for name, condition in (("one", "non_rag"), ("other", "oracle")):
        rows = [r | {"question": f"The {name} question?"} for r in package(["p1"])]
        write(study.folder / f"{name}.jsonl", rows)
        ran = door(
            *study.line(f"condition={condition}", f"benchmark.path={study.folder}/{name}.jsonl"),
            "~model@judges.models.keys", "+model@judges.models.reader=mock",
            f"judges.models.reader.replies={study.folder}/votes.jsonl",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        folders.append(ran.folder)
    with pytest.raises(DataError, match=r"p1 is another question than in "):
        list(judgements(folders))


def test_what_a_condition_does_not_name_is_said(door: Door, study: Study) -> None:
    guards = [study.guard("one", {0}), study.guard("two", {0, 1})]
    named = [["model.name=first"], ["model.name=second"], ["model.name=third"]]
    lines = [[*guards[0], *named[0]], [*guards[1], *named[1]], [*guards[0], *named[2]]]
    folders = [door(*study.line(*line)).folder for line in lines]
    (note,) = unlike(folders)
    assert note.startswith(f"oracle+filter_output: {folders[0]} and {folders[1]} do not have the")
    assert "same benchmark.filter_guard; a difference" in note
    runs = f"runs={study.folder}/outputs/runs/rag_safety/**"
    assert note.split(":")[0] in door("task=compare", runs, "scoring.bootstrap_draws=100").out
    assert unlike([folders[0], folders[2]]) == []


def test_mirage_says_what_a_model_can_do(door: Door, study: Study) -> None:
    folder = written(study.folder / "mirage", QUESTIONS, ORACLES)
    write_replies(study.folder / "benign.jsonl", ["It is Tenn.", "Nothing.", "1945."])
    mirage = study.line(f"benchmark.mirage={folder}", of="benign")
    metrics = [door(*mirage, f"condition={c}") for c in ("oracle", "non_rag")]
    assert [ran.status for ran in metrics] == [0, 0]
    for ran in metrics:
        assert ran.metrics()["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    manifest = json.loads((metrics[0].folder / "manifest.json").read_text("utf-8"))
    assert manifest["data"].keys() == {"dataset.json", "oracle.json"}
    assert "MIRAGE" in manifest["licence"]
    assert door(*study.line("condition=oracle")).status == 0
    points = compared(door, study)["rag_capability"]["points"]["benign items"]
    assert points["respondent"]["x"] == pytest.approx(2 / 3)
    assert points["respondent"]["harm"] == 0.5
    refused = door(*mirage, "condition=random")
    assert (refused.status, "condition=non_rag or condition=oracle" in refused.err) == (2, True)
