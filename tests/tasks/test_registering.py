"""`task=compare task.action=register` as a user types it, and the comparison afterwards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Door, Ran
from tests.tasks.made_study import copied, evaluate, items, study
from trace.benchmarks.cross_lab.items import read_items
from trace.benchmarks.cross_lab.samples import questions
from trace.models.log import CompletionLog
from trace.models.open import open_model
from trace.records import Completion, Sampling
from trace.tasks import registering
from trace.tasks.answers import addressed

CLAIM: dict[str, Any] = {
    "name": "one asks less",
    "category": "values_conflict",
    "condition": "steered",
    "labels": ["clarification_derail"],
    "models_a": ["lab_one"],
    "models_b": ["lab_two"],
    "split": "all",
    "direction": "different",
    "test": "fisher",
}


def words(folder: Path, **changed: Any) -> list[str]:
    path = folder / "claim.yaml"
    path.write_text(yaml.safe_dump(CLAIM | changed), "utf-8")
    return [
        "task=compare", "task.action=register", "benchmark=cross_lab",
        f"benchmark.path={items(folder)}", f"task.registration={path}",
    ]  # fmt: skip


def stamped(ran: Ran) -> Path:
    assert ran.status == 0, ran.err
    last = ran.out.rstrip("\n").splitlines()[-1]
    assert last.startswith("registration: ")
    return Path(last.removeprefix("registration: "))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two laboratories' runs."""
    folder = tmp_path_factory.mktemp("study")
    study(folder, "lab_one", "lab_two")
    return folder


def compare(door: Door, folder: Path, claim: Path, *more: str) -> tuple[Ran, Any]:
    ran = door(
        "task=compare", f"runs={folder / 'outputs'}/runs/cross_lab/**",
        f"task.registration={claim}", "scoring.bootstrap_draws=100", *more,
    )  # fmt: skip
    assert ran.status == 0, ran.err
    found = json.loads((ran.folder / "compare.json").read_bytes())["analyses"]
    return ran, found["cross_lab_registered"]


def test_a_claim_that_was_there_first_is_registered(door: Door, tmp_path: Path) -> None:
    claim = stamped(door(*words(tmp_path)))
    assert claim.parent == tmp_path / "outputs" / "registrations"
    assert claim.name.startswith("one-asks-less-")
    assert set(yaml.safe_load(claim.read_text("utf-8"))["stamp"]) == {
        "time", "rubrics", "items", "number", "files", "code", "sha256",
    }  # fmt: skip
    study(tmp_path, "lab_one", "lab_two")
    ran, found = compare(door, tmp_path, claim)
    assert found["status"] == "registered"
    assert (found["first"]["n"], found["second"]["n"]) == (6, 6)
    assert "Registered." in ran.out
    assert "### one asks less (registered)" in (ran.folder / "tables.md").read_text("utf-8")


def test_a_claim_is_registered_once(door: Door, tmp_path: Path) -> None:
    first = stamped(door(*words(tmp_path)))
    text = first.read_bytes()
    again = door(*words(tmp_path))
    assert again.status == 2
    assert f"one asks less is registered already, as {first}" in again.err
    assert first.read_bytes() == text
    assert stamped(door(*words(tmp_path, labels=["full_compliance"]))) != first


def run_of(folder: Path, name: str) -> Path:
    (run,) = (folder / "outputs" / "runs" / "cross_lab" / name / "base").iterdir()
    return run


def test_a_claim_comes_too_late_once_there_are_responses(
    door: Door, tmp_path: Path, done: Path
) -> None:
    run = run_of(copied(done, tmp_path), "lab_one")
    for more in ([], ["dry_run=true"]):
        ran = door(*words(tmp_path), *more)
        assert ran.status == 2
        assert f"{run} holds responses of lab_one to these items" in ran.err
    assert not (tmp_path / "outputs" / "registrations").exists()
    stamped(door(*words(tmp_path, models_a=["lab_three"], models_b=["x"])))  # whom nobody asked


def test_a_run_that_has_begun_counts_and_one_of_other_items_does_not(
    door: Door, tmp_path: Path, done: Path
) -> None:
    copied(done, tmp_path)
    asked = words(tmp_path)
    path = items(tmp_path)
    path.write_text(path.read_text("utf-8").replace("Write note", "Draw note"), "utf-8")
    ran = door(*asked)
    assert ran.status == 0, ran.err
    assert "none can be told from others" in ran.out  # the log has no prompts
    items(tmp_path)
    run = run_of(tmp_path, "lab_one")
    (run / "metrics.json").unlink()
    ran = door(*words(tmp_path, labels=["full_compliance"]))
    assert ran.status == 2
    assert str(run) in ran.err


def test_completions_in_the_log_are_found_by_their_keys(
    door: Door, tmp_path: Path, done: Path
) -> None:
    """An interrupted run leaves no directory, and what was answered is in the log."""
    logs = copied(done, tmp_path) / "outputs" / "completions"
    shutil.rmtree(tmp_path / "outputs" / "runs")
    ran = door(*words(tmp_path))
    assert ran.status == 0, ran.err
    assert "lab_one is no file of conf/model" in ran.out  # it cannot be told, and that is said
    model = registering._model("gpt_5")
    assert model is not None
    (request,) = questions(read_items(items(tmp_path)).items[-1:], "base", Sampling(), 1)
    key = addressed([request], model)[0].key(open_model(model).identity)
    for logged, status in (("0" * 64, 0), (key, 2)):
        with CompletionLog(logs / "gpt_5") as log:
            log.append([Completion(key=logged, text="A note.")])
        ran = door(*words(tmp_path, models_a=["gpt_5"], models_b=["x"]))
        assert ran.status == status, ran.err
        assert "conf/model" not in ran.out
    assert f"{logs / 'gpt_5'} holds responses of gpt_5 to these items" in ran.err


def test_every_way_to_be_too_late_is_told_when_compared(
    door: Door, tmp_path: Path, done: Path
) -> None:
    copied(done, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    claim = stamped(door(*words(tmp_path), output_dir=elsewhere))
    status = compare(door, tmp_path, claim)[1]["status"]
    assert "lab_one responded at" in status
    assert "before" in status
    for log in (tmp_path / "outputs" / "completions").glob("lab_one/*"):
        log.unlink()
    assert "nobody knows when lab_one responded" in compare(door, tmp_path, claim)[1]["status"]


@pytest.mark.slow
def test_some_of_the_items_are_not_what_was_registered(door: Door, tmp_path: Path) -> None:
    claim = stamped(door(*words(tmp_path)))
    for name in ("lab_one", "lab_two"):
        for condition in ("base", "steered"):
            evaluate(tmp_path, name, condition, "limit=5")
    status = compare(door, tmp_path, claim)[1]["status"]
    assert status == (
        "post hoc: lab_one was asked 5 of the 6 items; lab_two was asked 5 of the 6 items"
    )


def test_judgements_made_elsewhere_have_no_times(door: Door, tmp_path: Path) -> None:
    claim = stamped(door(*words(tmp_path)))
    path = tmp_path / "judgements.jsonl"
    lines = [
        {
            "item": f"vc-{n}", "respondent": respondent, "condition": condition, "judge": judge,
            "label": "full_compliance", "category": "values_conflict", "split": "development",
        }
        for n in range(4)
        for respondent in ("lab_one", "lab_two")
        for condition in ("base", "steered")
        for judge in ("lab_one", "lab_two", "x", "y")
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    given = ["task=compare", "benchmark=cross_lab", f"judgements={path}",
             f"task.registration={claim}", "scoring.bootstrap_draws=100"]  # fmt: skip
    ran = door(*given, f"benchmark.path={items(tmp_path)}")
    assert ran.status == 0, ran.err
    assert "Post hoc: no times: the judgements were made elsewhere." in ran.out
    ran = door(*given)
    assert "the items are not those that were registered; no times" in ran.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["task.registration=null"], "task.registration: is missing"),
        (["task.registration=nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["task.action=stamp"], "task.action: 'stamp' is not a choice"),
        (["benchmark=tracesafe", "benchmark.path=null"], "of tracesafe no claims are registered"),
        (["runs=outputs/**"], "runs: is not read by task.action=register"),
    ],
)
def test_what_cannot_be_registered_is_refused(
    door: Door, tmp_path: Path, arguments: list[str], says: str
) -> None:
    given = {argument.partition("=")[0] for argument in arguments}
    kept = [word for word in words(tmp_path) if word.partition("=")[0] not in given]
    ran = door(*kept, *arguments)
    assert ran.status == 2
    assert says in ran.err


def test_no_other_study_takes_a_claim(door: Door, tmp_path: Path) -> None:
    claim = words(tmp_path)[-1]
    ran = door("task=compare", claim, f"runs={tmp_path}/**")
    assert ran.status == 2
    assert "claims are registered of cross_lab, and this is tracesafe" in ran.err


def test_a_stamped_file_is_not_stamped_again(door: Door, tmp_path: Path) -> None:
    claim = stamped(door(*words(tmp_path)))
    ran = door(*words(tmp_path)[:-1], f"task.registration={claim}")
    assert ran.status == 2
    assert "was stamped at" in ran.err
