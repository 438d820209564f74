"""`task=build benchmark=cross_lab` as a user types it: collect, propose, edit, freeze, use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmarks.cross_lab.made_responses import GOOD, proposed, reply
from tests.integration.conftest import Door, Ran, write_replies
from tests.tasks.made_study import DEVELOPMENT, SECRET, copied, evaluate, items, study
from trace.benchmarks.cross_lab.rubric import read_rubrics
from trace.tracking.files import read_jsonl, write_jsonl


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two laboratories' runs."""
    folder = tmp_path_factory.mktemp("study")
    study(folder, "lab_one", "lab_two")
    return folder


@pytest.fixture
def words(done: Path, tmp_path: Path) -> list[str]:
    """A build from them."""
    return words_of(copied(done, tmp_path))


def words_of(folder: Path) -> list[str]:
    runs = folder / "outputs" / "runs" / "cross_lab" / "**"
    return [
        "task=build", "benchmark=cross_lab", f"benchmark.path={items(folder)}",
        f"benchmark.responses={runs}",
    ]  # fmt: skip


def proposer(folder: Path, *replies: str) -> list[str]:
    path = write_replies(folder / f"proposer-{len(replies)}.jsonl", replies)
    return ["benchmark.proposer=mock", f"benchmark.proposer.replies={path}"]


def manifest(ran: Ran) -> Any:
    return json.loads((ran.folder / "manifest.json").read_bytes())


def collected(ran: Ran) -> list[Any]:
    return list(read_jsonl(ran.folder / "responses.jsonl"))


def test_development_responses_are_collected_without_names(door: Door, words: list[str]) -> None:
    ran = door(*words, "stage=collect")
    assert ran.status == 0, ran.err
    assert ran.folder.parts[-4:-1] == ("runs", "cross_lab", "build")
    lines = collected(ran)
    assert [(r["item"], r["condition"], r["respondent"]) for r in lines] == [
        (f"vc-{n}", condition, name)
        for n in range(DEVELOPMENT)
        for condition in ("base", "steered")
        for name in ("lab_one", "lab_two")
    ]
    assert all(r["text"].startswith("I am [model], or [model]. This is note") for r in lines)
    assert lines[0]["masked"] == ["GPT-5", "lab_one"]
    counts = {"lab_one": DEVELOPMENT, "lab_two": DEVELOPMENT}
    assert manifest(ran)["counts"] == {"values_conflict": {"base": counts, "steered": counts}}
    everything = "".join(p.read_text("utf-8") for p in ran.folder.iterdir())
    assert SECRET not in everything


def test_held_out_responses_are_not_even_looked_at(door: Door, words: list[str]) -> None:
    before = door(*words, "stage=collect")
    expected = collected(before)
    runs = before.folder.parent.parent
    for records in runs.glob("lab_*/*/*/records.jsonl"):
        lines = list(read_jsonl(records))
        assert SECRET in str(lines)
        kept = [x if x["sample"]["split"] == "development" else {"id": x["id"]} for x in lines]
        write_jsonl(records, kept)
    again = door(*words, "stage=collect")
    assert again.status == 0, again.err
    assert collected(again) == expected


def test_runs_of_other_items_arms_and_conditions(door: Door, tmp_path: Path) -> None:
    base = evaluate(tmp_path, "lab_one", "base")
    evaluate(tmp_path, "lab_one", "base", "benchmark.arm=repeat")
    ran = door(*words_of(tmp_path), "stage=collect")
    assert ran.status == 0, ran.err
    assert len(collected(ran)) == DEVELOPMENT  # the arm is left out
    assert "1 run of other studies or arms left out" in ran.out
    assert "lab_one: 4 development items answered in one condition only" in ran.out
    asked = words_of(tmp_path)
    path = items(tmp_path)
    path.write_text(path.read_text("utf-8").replace("Probes", "Asks"), "utf-8")
    ran = door(*asked, "stage=collect")
    assert ran.status == 2
    assert f"{base}: was not asked the items of this items.jsonl" in ran.err


def test_the_same_response_in_two_runs_counts_once_and_another_is_refused(
    door: Door, tmp_path: Path
) -> None:
    evaluate(tmp_path, "lab_one", "base")
    evaluate(tmp_path, "lab_one", "base", "judges.min_valid=2")
    ran = door(*words_of(tmp_path), "stage=collect")
    assert ran.status == 0, ran.err
    assert len(collected(ran)) == DEVELOPMENT
    evaluate(tmp_path, "lab_one", "base", "sampling.max_new_tokens=64")
    ran = door(*words_of(tmp_path), "stage=collect")
    assert ran.status == 2
    assert "both hold an answer of lab_one to vc-0 (base), and not the same" in ran.err


def test_labels_are_proposed_edited_frozen_and_used(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    asked = [*words, *proposer(tmp_path, reply(*GOOD))]
    ran = door(*asked, "stage=propose")
    assert ran.status == 0, ran.err
    path = ran.folder / "rubrics_proposed.yaml"
    assert path.read_text("utf-8").startswith("# Labels that a model proposed.")
    rubrics = read_rubrics(path)
    assert rubrics.status == "proposed"
    made = rubrics.of["values_conflict"]
    assert made.names == ("does", "declines", "asks_back")
    assert set(made.labels[0].derived_from) <= {"lab_one", "lab_two"}
    assert len(made.labels[1].derived_from) == 1  # it was seen in one response
    edited = tmp_path / "edited.yaml"
    tree = yaml.safe_load(path.read_text("utf-8"))
    tree["categories"]["values_conflict"]["labels"][0]["name"] = "does_it"
    edited.write_text(yaml.safe_dump(tree), "utf-8")
    ran = door(*asked, "stage=freeze", f"benchmark.edited={edited}")
    assert ran.status == 0, ran.err
    frozen = read_rubrics(ran.folder / "rubrics.yaml")
    assert (frozen.status, frozen.version) == ("frozen", rubrics.version + 1)
    told = manifest(ran)
    assert told["frozen"]["rubrics"] == frozen.hash
    assert told["frozen"]["sha256"] == frozen.fingerprint["rubrics.yaml"]
    assert told["responses"] == tree["responses"]
    assert "values_conflict/does_it: added" in (ran.folder / "CHANGES.md").read_text("utf-8")
    used = evaluate(tmp_path, "lab_one", "base", f"benchmark.rubrics={ran.folder / 'rubrics.yaml'}")
    assert json.loads((used / "manifest.json").read_bytes())["rubrics"] == frozen.hash
    metrics = json.loads((used / "metrics.json").read_bytes())
    assert set(metrics["breakdowns"]["category"]["values_conflict"]) == {
        "does_it", "declines", "asks_back",
    }  # fmt: skip


def test_nothing_is_asked_twice_and_the_next_stage_goes_on(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    asked = [*words, *proposer(tmp_path, reply(*GOOD))]
    first = door(*asked, "stage=collect")
    second = door(*asked, "stage=propose")
    assert first.folder == second.folder
    log = first.folder.parents[3] / "completions" / "mock"
    size = sum(path.stat().st_size for path in log.iterdir())
    text = (second.folder / "rubrics_proposed.yaml").read_bytes()
    third = door(*asked, "stage=propose")
    assert (third.folder / "rubrics_proposed.yaml").read_bytes() == text
    assert sum(path.stat().st_size for path in log.iterdir()) == size
    told = manifest(third)
    door(*asked, "stage=collect")
    assert manifest(third) == told  # an earlier stage takes nothing away


def test_many_parts_are_merged_and_useless_replies_counted(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    """Two requests on responses, of which one is answered uselessly; none is left to merge."""
    narrow = ["benchmark.proposer.context=960", "sampling.max_new_tokens=64"]
    ran = door(*words, *proposer(tmp_path, reply(*GOOD), "Sorry."), *narrow, "stage=propose")
    assert ran.status == 0, ran.err
    told = manifest(ran)["proposal"]
    assert told["unusable"]["not in the form"] >= 1
    assert f"of {told['replies']} replies propose nothing that can be used" in ran.out
    merge = [proposed("does", 1, 4), proposed("declines", 2, 5), proposed("asks_back", 3, 6)]
    both = proposer(tmp_path, reply(*GOOD), reply(*GOOD), reply(*merge))
    ran = door(*words, *both, *narrow, "stage=propose")
    assert ran.status == 0, ran.err
    told = manifest(ran)["proposal"]
    assert told == {"replies": 3, "unusable": {}, "categories": ["values_conflict"]}
    planned = door(*words, *both, *narrow, "stage=propose", "dry_run=true")
    assert "mock (proposer): 3 requests" in planned.out


def test_a_proposer_that_is_too_small_is_told_so(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    asked = [*words, *proposer(tmp_path, "I would love to help!")]
    ran = door(*asked, "stage=propose")
    assert ran.status == 2
    assert "mock has proposed no labels that can be used, as small models do" in ran.err
    assert "1 not in the form" in ran.err
    assert list((tmp_path / "outputs").rglob("rubrics_proposed.yaml")) == []
    by_hand = tmp_path / "by_hand.yaml"
    labels = [
        {"name": n, "definition": "It.", "boundary": "No.", "example": "So.", "derived_from": []}
        for n in ("does", "declines")
    ]
    tree = {
        "version": 1,
        "status": "proposed",
        "categories": {"values_conflict": {"question": "What?", "labels": labels}},
    }
    by_hand.write_text(yaml.safe_dump(tree), "utf-8")
    ran = door(*asked, "stage=freeze", f"benchmark.edited={by_hand}")
    assert ran.status == 0, ran.err
    assert "nothing is proposed for values_conflict" in ran.out
    assert read_rubrics(ran.folder / "rubrics.yaml").labels == {
        "values_conflict": ("does", "declines")
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["stage=all"], "stage: 'all' is no stage of the build of rubrics"),
        (["stage=collect", "benchmark.responses=null"], "benchmark.responses: is missing"),
        (["stage=collect", "benchmark.responses='\"'"], "is no pattern"),
        (["stage=collect", "benchmark.responses=nowhere/**"], "no finished run of cross_lab"),
        (["stage=propose"], "benchmark.proposer: is missing"),
        (["stage=propose", "benchmark.proposer=mock", "benchmark.proposer.rates={default: 1}",
          "benchmark.proposer.replies=null"], "benchmark.proposer.rates"),
        (["stage=freeze", "benchmark.proposer=smollm2"], "benchmark.edited: is missing"),
        (["stage=collect", "benchmark.edited=x.yaml"], "is not read by stage=collect"),
        (["task=compare", "runs=x"], "benchmark.responses: is not read by task=compare"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(
    door: Door, tmp_path: Path, arguments: list[str], says: str
) -> None:
    given = {argument.partition("=")[0] for argument in arguments}
    kept = [word for word in words_of(tmp_path) if word.partition("=")[0] not in given]
    ran = door(*kept, *arguments)
    assert ran.status == 2
    assert says in ran.err


def test_a_run_without_development_items_makes_no_labels(door: Door, tmp_path: Path) -> None:
    evaluate(tmp_path, "lab_one", "base", "limit=1", "seed=1")  # this one is held out
    ran = door(*words_of(tmp_path), "stage=collect")
    assert ran.status == 2
    assert "hold no response to a development item" in ran.err
