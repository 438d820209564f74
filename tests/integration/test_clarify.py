"""Clarify from the door: planted answers come back as numbers, and as classes for probes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir

from tests.conftest import ROOT
from tests.integration.conftest import Door, write_replies
from trace import config
from trace.config.store import register
from trace.config.typed import to_typed
from trace.records import Completion
from trace.tasks.clarify_subject import ClarifySubject

ASKS, TELLS = "Which language would you like?", "It is done. Let me know if you need more."
FILES = {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md"}


def own(path: Path, pairs: int) -> Path:
    rows = [
        {"id": f"p{i}-{kind[0]}", "pair": f"p{i}", "kind": kind, "topic": f"t{i % 2}",
         "text": f"{kind} request number {i}"}
        for i in range(pairs)
        for kind in ("underspecified", "specified")
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def study(folder: Path, answers: list[str], pairs: int = 4) -> list[str]:
    """Answers are dealt in the order of the requests: of each pair, what lacks something first."""
    return [
        "benchmark=clarify", f"benchmark.path={own(folder / 'own.jsonl', pairs)}",
        "model=mock", "model.name=respondent",
        f"model.replies={write_replies(folder / 'answers.jsonl', answers)}",
        "scoring.bootstrap_draws=100", "scoring.max_unscored=0.5",
    ]  # fmt: skip


def composed(*overrides: str) -> config.Root:
    register()
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        return to_typed(compose("config", overrides=list(overrides)))


def test_planted_answers_come_back(door: Door, tmp_path: Path) -> None:
    ran = door(*study(tmp_path, [ASKS, TELLS, ASKS, ASKS, ASKS, "", TELLS, TELLS]))
    assert ran.status == 0, ran.out + ran.err
    result = ran.metrics()
    metrics, found = result["metrics"], result["breakdowns"]
    lacks, has, difference = (
        metrics[name] for name in ("underspecified", "specified", "difference")
    )
    assert (lacks["value"], lacks["n"], lacks["n_unscored"]) == (0.75, 4, 0)
    assert (has["value"], has["n"], has["n_unscored"]) == (pytest.approx(1 / 3), 3, 1)
    assert has["bounds"] == [0.25, 0.5]
    assert (difference["value"], difference["n"]) == (pytest.approx(1 / 3), 3)
    assert difference["low"] < 0 < difference["high"]
    assert found["pairs"] == {"n": 3, "only_underspecified": 1, "only_specified": 0, "p": 1.0}
    assert found["status"]["unparsable"] == 1
    assert metrics["coverage"]["value"] == 7 / 8
    assert found["topic"]["t0"]["underspecified"]["value"] == 1
    assert found["topic"]["t1"]["underspecified"]["value"] == 0.5
    assert {p.name for p in ran.folder.iterdir()} - {".lock"} == FILES
    assert ran.folder.parent == tmp_path / "outputs/runs/clarify/respondent/plain"
    first, *_, empty = ran.records()[:6]
    assert first["response"]["text"] == ASKS
    assert first["verdict"]["label"] == first["judges"]["own_rule"]["label"] == "asks_back"
    assert first["sample"] == {
        "cluster": "p0", "pair": "p0", "kind": "underspecified", "topic": "t0"
    }  # fmt: skip
    assert (empty["judges"], empty["verdict"]["label"]) == ({}, None)
    assert (
        max(len(line) for line in ran.out.splitlines() if not line.startswith(("note", "run")))
        <= 80
    )


def test_the_same_command_asks_nothing_again(door: Door, tmp_path: Path) -> None:
    line = study(tmp_path, [ASKS, TELLS])
    first = door(*line)
    before = (first.folder / "records.jsonl").read_bytes()
    again = door(*line)
    assert again.folder == first.folder
    assert (again.folder / "records.jsonl").read_bytes() == before


def test_a_panel_votes(door: Door, tmp_path: Path) -> None:
    votes = [json.dumps({"verdict": verdict}) for verdict in ("asks_back", "answers", "perhaps")]
    file = write_replies(tmp_path / "votes.jsonl", votes)
    ran = door(
        *study(tmp_path, [ASKS, TELLS]), "limit=1", "judges=panel",
        "+model@judges.models.own_rule=own_rule", "+model@judges.models.voter=mock",
        "judges.models.voter.name=voter", f"judges.models.voter.replies={file}",
    )  # fmt: skip
    assert ran.status == 0, ran.out + ran.err
    labels = [one["verdict"]["label"] for one in ran.records()]
    assert labels == ["asks_back", "answers", None, None]  # no vote; then one against the other
    found = ran.metrics()["breakdowns"]
    assert found["judge"]["voter"]["underspecified"]["n"] == 1
    assert found["agreement"]["all"]["percent"]["n"] == 3


def test_a_dry_run_says_what_would_be_asked(door: Door, tmp_path: Path) -> None:
    ran = door("benchmark=clarify", "judges=local", "dry_run=true")
    assert ran.status == 0, ran.err
    assert "smollm2: 120 requests" in ran.out
    assert "gemma3_270m (judge): 120 requests" in ran.out
    assert "pairs of requests: n = 60" in ran.out
    assert not (tmp_path / "outputs").exists()
    assert "24 requests" in door("benchmark=clarify", "limit=1", "dry_run=true").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["protocol=binary"], "protocol=binary"),
        (["benchmark.label=request"], "benchmark.label"),
        (["model=mock", "model.rates={default: 1}"], "model.rates"),
        (["condition=reason_first"], "condition=reason_first"),
        (["benchmark.path=absent.jsonl"], "absent.jsonl does not exist"),
    ],
)
def test_what_does_not_fit_is_refused(door: Door, line: list[str], said: str) -> None:
    ran = door("benchmark=clarify", *line)
    assert ran.status == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def subject(folder: Path, answers: list[str], *further: str, pairs: int) -> ClarifySubject:
    line = study(folder, answers, pairs)
    return ClarifySubject(composed(*line, "task=probe", f"output_dir={folder}/outputs", *further))


def test_classes_of_the_response_where_both_are_large_enough(tmp_path: Path) -> None:
    answers = [ASKS, TELLS] * 15 + [TELLS, ASKS] * 16 + ["", TELLS]
    found = subject(tmp_path, answers, pairs=32)
    labelled, classes = found.labelled()
    assert [one.positive for one in labelled] == [True] * 15 + [False] * 16
    assert len({one.group for one in labelled}) == 31
    assert (classes.positive, classes.negative) == (("asks_back",), ("answers",))
    assert classes.left_out == {"specified": 32, "unparsable": 1}
    assert "15 ask back and 16 do not" in found.notes[-1]
    asked = found.asked()
    assert len(asked) == 32  # steering may fill an answer that is empty
    assert {one.id for one in labelled} < {one.id for one in asked}
    assert found.origin["data"].keys() == {"own.jsonl"}
    assert found.fresh


def test_classes_of_the_request_where_one_is_too_small(tmp_path: Path) -> None:
    answers = [ASKS, TELLS] * 14 + [TELLS, ASKS] * 16
    found = subject(tmp_path, answers, pairs=30)
    labelled, classes = found.labelled()
    assert [one.positive for one in labelled] == [True, False] * 30
    assert (classes.positive, classes.negative) == (("underspecified",), ("specified",))
    assert "14 ask back and 16 do not, and 15 of each are needed" in found.notes[-1]
    assert len(found.asked()) == 60
    forced = subject(tmp_path, answers, "benchmark.label=response", pairs=30)
    assert len(forced.labelled()[0]) == 30
    assert not forced.fresh


def test_new_answers_are_judged_in_the_order_of_the_questions(tmp_path: Path) -> None:
    found = subject(tmp_path, [ASKS, TELLS], pairs=2)
    first, *_, last = found.asked()
    said = [(last, TELLS), (first, ASKS), (first, ""), (last, ASKS)]
    answers: list[Any] = [Completion(key=str(i), text=text) for i, (_, text) in enumerate(said)]
    verdicts = found.judge([question for question, _ in said], answers)
    assert [found.positive(verdict) for verdict in verdicts] == [False, True, None, True]
    filtered = replace(answers[0], finish="content_filter")
    (verdict,) = found.judge([first], [filtered])
    assert (verdict.status, found.positive(verdict)) == ("refused", None)
