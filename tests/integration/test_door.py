"""The command line as a user types it, on the mock: numbers, files, and exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

from tests.integration.conftest import Door, write_replies
from trace.run import main
from trace.tracking.flatten import numbers_and_reasons

PLANTED = ["model=mock", "model.rates={default: 0.9, Benign: 0.7, VersionConflict: 0.2}"]

pytestmark = pytest.mark.usefixtures("own_set")


def test_planted_rates_come_back_in_the_metrics(door: Door) -> None:
    ran = door(*PLANTED)
    assert ran.status == 0, ran.err
    metrics = ran.metrics()["metrics"]
    assert metrics["tpr"]["n"] == 1080
    assert metrics["tnr"]["n"] == 90
    low, high = (ends.sum() for ends in binom.interval(0.9999, [990, 90], [0.9, 0.2]))
    assert low <= metrics["tpr"]["value"] * 1080 <= high
    low, high = binom.interval(0.9999, 90, 0.7)
    assert low <= metrics["tnr"]["value"] * 90 <= high
    both = (metrics["tpr"]["value"] + metrics["tnr"]["value"]) / 2
    assert metrics["balanced_accuracy"]["value"] == pytest.approx(both)
    assert metrics["coverage"]["value"] == 1
    classes = ran.metrics()["breakdowns"]["class"]
    assert classes["VersionConflict"]["accuracy"]["value"] < 0.4
    assert ran.metrics()["breakdowns"]["baseline"].keys() == {
        "always_safe", "always_unsafe", "schema_rules"
    }  # fmt: skip


@pytest.mark.parametrize("protocol", ["binary", "schema", "coarse", "fine"])
@pytest.mark.parametrize("answer", ["generate", "score"])
def test_every_protocol_runs_both_ways(door: Door, protocol: str, answer: str) -> None:
    ran = door(
        "model=mock", "model.rates={default: 1}", "limit=3", f"protocol={protocol}",
        f"protocol.answer={answer}",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert ran.metrics()["metrics"]["balanced_accuracy"]["value"] == 1
    for record in ran.records():
        assert record["verdict"]["status"] == "ok"
        score = record["verdict"]["score"]
        assert (score is None) == (answer == "generate")
        if score is not None:
            assert (score > 0.5) == (record["gold"]["label"] == "unsafe")


def test_scores_are_measured_and_a_threshold_is_tried_on_other_sources(door: Door) -> None:
    """The mock gives its label 0.9: the scores rank as well as the planted rates say."""
    ran = door(
        "model=mock", "model.rates={default: 0.9, Benign: 0.7}", "protocol=schema",
        "protocol.answer=score", "scoring.threshold_split=0.5", "scoring.bootstrap_draws=200",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    metrics, threshold = ran.metrics()["metrics"], ran.metrics()["breakdowns"]["threshold"]
    tpr, tnr = metrics["tpr"]["value"], metrics["tnr"]["value"]
    assert metrics["auroc"]["value"] == pytest.approx((tpr + tnr) / 2)  # two scores: one corner
    flagged, passed = 1080 * tpr + 90 * (1 - tnr), 1080 * (1 - tpr) + 90 * tnr
    right = 1080 * tpr / flagged, 90 * tnr / passed
    expected = abs(flagged * (right[0] - 0.9)) + abs(passed * (right[1] - 0.9))
    assert metrics["ece"]["value"] == pytest.approx(expected / 1170)
    assert metrics["ece"]["low"] <= metrics["ece"]["high"]
    assert metrics["tpr_at_fpr_5"]["value"] == 0  # 0.3 of the safe samples have the highest score
    assert "100 are needed" in metrics["tpr_at_fpr_1"]["reason"]
    assert threshold["threshold"] == pytest.approx(0.9)
    assert threshold["chosen_on"]["samples"] + threshold["applied_to"]["samples"] == 1170
    held = threshold["metrics"]["tpr"]
    assert held["n"] < 1080
    low, high = binom.interval(0.9999, held["n"], 0.9)
    assert low <= held["value"] * held["n"] <= high
    report = (ran.folder / "report.md").read_text("utf-8")
    assert "### Scores" in report
    assert "### A threshold chosen" in report
    assert "AUPRC" not in ran.out


def test_the_run_directory_holds_everything_and_a_second_run_gives_the_same_bytes(
    door: Door, tmp_path: Path
) -> None:
    first = door(*PLANTED, "limit=5")
    names = {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md"}
    files = {p.name for p in first.folder.iterdir() if p.is_file()} - {".lock"}
    assert files == names
    assert {p.name for p in (first.folder / "figures").iterdir()} == {
        "confusion.png", "confusion.csv", "accuracy.png", "accuracy.csv"
    }  # fmt: skip
    kept = {p: p.read_bytes() for p in first.folder.rglob("*") if p.name != "manifest.json"
            and p.is_file()}  # fmt: skip
    again = door(*PLANTED, "limit=5")
    assert again.folder == first.folder
    elsewhere = door(*PLANTED, "limit=5", output_dir=tmp_path / "elsewhere")
    for path, content in kept.items():
        assert path.read_bytes() == content
        if path.name != "config.yaml":  # it names the output folder
            assert (elsewhere.folder / path.relative_to(first.folder)).read_bytes() == content
    assert door(*PLANTED, "limit=4").folder != first.folder


def test_a_record_has_what_later_readers_need(door: Door) -> None:
    ran = door(*PLANTED, "limit=1", "epochs=2")
    records = ran.records()
    assert [r["epoch"] for r in records] == [0, 1] * 13
    assert len({r["completion"]["key"] for r in records}) == 26
    for record in records:
        assert record.keys() >= {"id", "gold", "condition", "protocol", "verdict", "judges",
                                 "completion", "sample"}  # fmt: skip
        said = record["judges"]["mock"]
        assert {k: v for k, v in said.items() if k != "model"} == record["verdict"]
        assert len(said["model"]) == 16
        assert record["sample"]["cluster"]
    manifest = json.loads((ran.folder / "manifest.json").read_text())
    assert manifest.keys() >= {"data", "model", "prompt", "licence", "ended"}


def test_replies_are_dealt_in_order_and_what_has_no_label_ends_with_status_1(
    door: Door, tmp_path: Path
) -> None:
    replies = ['{"verdict": "Unsafe"}', "I am sorry, I cannot help with that.", "", "<think>so"]
    file = write_replies(tmp_path / "replies.jsonl", replies)
    ran = door("model=mock", f"model.replies={file}", "limit=4")
    assert ran.status == 1
    assert ran.out.rstrip().splitlines()[-1].startswith("run: ")
    assert "39 of 52 samples have no label" in ran.err
    status = [r["verdict"]["status"] for r in ran.records()]
    assert status == ["ok", "refused", "unparsable", "truncated"] * 13
    metrics = ran.metrics()["metrics"]
    assert metrics["coverage"]["value"] == 0.25
    assert metrics["tpr"]["n_unscored"] == 36
    assert metrics["tpr"]["value"] == 0.25
    assert metrics["tpr"]["bounds"] == [0.25, 1.0]
    allowed = door("model=mock", f"model.replies={file}", "limit=4", "scoring.max_unscored=0.75")
    assert allowed.status == 0
    assert allowed.folder == ran.folder
    excluded = door("model=mock", f"model.replies={file}", "limit=4", "scoring.unscored=exclude")
    assert excluded.metrics()["metrics"]["tpr"]["value"] == 1


def test_strict_and_released_parsing_stand_side_by_side(door: Door, tmp_path: Path) -> None:
    """Under coarse "Unsafe" is no label; the released rules find "safe" in it."""
    file = write_replies(tmp_path / "replies.jsonl", ['{"verdict": "Unsafe"}'])
    line = ["model=mock", f"model.replies={file}", "limit=3", "protocol=coarse",
            "scoring.max_unscored=1"]  # fmt: skip
    strict = door(*line).metrics()
    released = door(*line, "scoring.parser=released").metrics()
    assert strict["metrics"]["coverage"]["value"] == 0
    assert strict["metrics"]["tnr"]["value"] == 0
    assert released["metrics"]["tnr"]["value"] == 1
    assert released["metrics"]["tpr"]["value"] == 0
    assert strict["breakdowns"]["parser"]["released parser"] == released["metrics"]
    assert released["breakdowns"]["parser"]["strict parser"] == strict["metrics"]
    assert "released parser" in door(*line).out
    refused = door(*line, "scoring.parser=released", "protocol.answer=score")
    assert refused.status == 2
    assert "protocol.answer=generate" in refused.err


def test_changing_the_parser_side_asks_nothing_again(door: Door, tmp_path: Path) -> None:
    door(*PLANTED, "limit=3")
    log = sorted((tmp_path / "outputs" / "completions").rglob("*.jsonl"))
    door(*PLANTED, "limit=3", "scoring.unscored=exclude")
    door(*PLANTED, "limit=2")
    assert sorted((tmp_path / "outputs" / "completions").rglob("*.jsonl")) == log


def test_the_natural_axis_runs_four_jobs_and_the_users_sweep_replaces_it(
    door: Door, tmp_path: Path
) -> None:
    ran = door("-m", *PLANTED, "limit=2")
    assert ran.status == 0, ran.err
    assert ran.out.count("run: ") == 4
    plain = tmp_path / "outputs/runs/tracesafe/mock/plain"
    assert sorted(p.name.split("-")[0] for p in plain.iterdir()) == [
        "binary", "coarse", "fine", "schema"
    ]  # fmt: skip
    two = door(*PLANTED, "limit=2", "protocol=binary,fine", "-m")
    assert two.out.count("run: ") == 2


def test_failing_jobs_are_all_named_and_leave_the_others_alone(door: Door, tmp_path: Path) -> None:
    good = write_replies(tmp_path / "good.jsonl", ['{"verdict": "Safe"}'])
    bad, worse = tmp_path / "bad.jsonl", tmp_path / "worse.jsonl"
    bad.write_text("not json\n")
    worse.write_text("")
    ran = door("-m", "model=mock", f"model.replies={bad},{worse},{good}", "limit=1")
    assert ran.status == 2
    assert f"{bad}, line 1" in ran.err
    assert f"{worse}: has no reply" in ran.err
    assert ran.err.count(f"model.replies={bad}") == 2  # as it happens, and in the end
    named = ran.err.rpartition("failed (2):")[2].strip().splitlines()
    assert [bad.name in line or worse.name in line for line in named] == [True, True]
    assert ran.out.count("run: ") == 1


def test_repeats_do_not_narrow_an_interval(door: Door) -> None:
    line = ["model=mock", "model.rates={default: 1}", "limit=6"]
    once, often = (door(*line, f"epochs={n}").metrics()["metrics"]["tpr"] for n in (1, 20))
    assert often["n"] == 20 * once["n"]
    assert (often["low"], often["high"]) == (once["low"], once["high"])


@pytest.mark.slow
def test_wandb_holds_every_metric_of_the_run(tmp_path: Path) -> None:
    status = main([*PLANTED, "limit=2", "protocol=fine", "tracking.mode=offline",
                   f"output_dir={tmp_path}"])  # fmt: skip
    assert status == 0
    (folder,) = (tmp_path / "runs").rglob("metrics.json")
    (file,) = (tmp_path / "wandb").rglob("*.wandb")
    seen = subprocess.run(
        [sys.executable, "-m", "wandb", "leet", "inspect", "--json", "--summary", str(file)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    metrics = json.loads(folder.read_text("utf-8"))
    expected, _ = numbers_and_reasons(metrics)
    assert {"tpr", "tpr_low", "balanced_accuracy", "detection_rate"} <= expected.keys()
    for name, value in expected.items():
        assert f'"{name}"' in seen, name
        assert isinstance(value, int | float)


def test_both_views_of_the_released_records(door: Door, shared_data: Path) -> None:
    for name, count in (("golden_sample.jsonl", 32), ("mutated_llama3_sample.jsonl", 36)):
        for view in ("clean", "released"):
            ran = door(
                *PLANTED, f"benchmark.path={shared_data / 'tracesafe' / name}",
                f"benchmark.view={view}",
            )  # fmt: skip
            assert ran.status == 0, ran.err
            unsafe = [r for r in ran.records() if r["gold"]["label"] == "unsafe"]
            assert len(unsafe) == count
            assert "originals of the" in ran.out


def test_a_multirun_of_a_task_or_sweep_that_does_not_exist(door: Door) -> None:
    assert "no such sweeps" in door("+sweeps=nothing", "-m").err
    assert "no such task" in door("task=nothing").err
