"""`task=build` as a user types it, and the set it writes read back."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Door, write_replies
from trace import config
from trace.benchmarks.tracesafe.samples import load

pytestmark = pytest.mark.usefixtures("own_set")
SMALL = ("task=build", "benchmark.per_class=4", "benchmark.decoys=0.5")


def _lines(folder: Path) -> list[Any]:
    text = (folder / "dataset.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def test_a_set_is_built_and_read_back(door: Door) -> None:
    ran = door(*SMALL)
    assert ran.status == 0, ran.err
    assert ran.folder.parts[-4:-1] == ("runs", "tracesafe", "build")
    assert re.fullmatch("[0-9a-f]{8}", ran.folder.name)
    assert "the tool was called before" in " ".join(ran.out.split())
    names = {".lock", "dataset.jsonl", "manifest.json", "card.md", "spotcheck.html"}
    assert {path.name for path in ran.folder.iterdir()} == names
    records = _lines(ran.folder)
    assert len(records) == 52
    fresh = load(config.TraceSafe(per_class=4, decoys=0.5), limit=None, seed=0)
    for path in (ran.folder, ran.folder / "dataset.jsonl"):
        read = load(config.TraceSafe(path=str(path)), limit=None, seed=0)
        assert read.samples == fresh.samples
        assert read.notes == ()

    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    total: Counter[str] = Counter()
    for class_, generators in manifest["counts"].items():
        assert list(generators) == ["bfcl-ground-truth"]
        total[class_] += sum(generators["bfcl-ground-truth"].values())
    assert set(total.values()) == {4}
    assert len(total) == 13
    assert manifest["seeds"] == {"builder": 0}
    assert manifest["ended"]
    assert set(manifest["licences"].values()) == {"Apache-2.0"}
    for name, reasons in manifest["refused"].items():
        assert sum(reasons.values()) + manifest["suitable"][name] == 1142
    card = (ran.folder / "card.md").read_text("utf-8")
    for word in ("Intended use", "Limits", "Licences", "48 mutants of 12 classes", "per_class=4"):
        assert word in card


def test_the_spot_check_page_is_safe_and_shows_every_record(door: Door) -> None:
    ran = door(*SMALL)
    page = (ran.folder / "spotcheck.html").read_text("utf-8")
    assert "<script" not in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert page.count("<article>") == page.count("</article>") == 52
    for record in _lines(ran.folder):
        assert record["id"] in page
    assert "&#x27;" in page  # quotes of the records are escaped
    assert "<ins>" in page
    tags = set(re.findall(r"<(\w+)", page))
    assert tags <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "nav", "a"),
        *("article", "code", "pre", "div", "ins", "del"),
    }


def test_the_same_command_gives_the_same_bytes_and_another_seed_other_records(
    door: Door, tmp_path: Path
) -> None:
    first = door(*SMALL)
    kept = {p.name: p.read_bytes() for p in first.folder.iterdir() if p.name != "manifest.json"}
    again = door(*SMALL, output_dir=tmp_path / "elsewhere")
    assert again.folder.name == first.folder.name
    for name, content in kept.items():
        assert (again.folder / name).read_bytes() == content
    other = door(*SMALL, "seed=1")
    assert other.folder.name != first.folder.name
    ids = [{record["id"] for record in _lines(ran.folder)} for ran in (first, other)]
    assert len(ids[0] & ids[1]) < 5  # a benign prefix may be chosen again


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("benchmark.path=README.md", "benchmark.base=FILE"),
        ("limit=3", "benchmark.per_class=3"),
        ("stage=half", "no stage of the build"),
        ("benchmark.base=nowhere.jsonl", "does not exist"),
    ],
)
def test_what_cannot_be_built_is_refused(door: Door, extra: str, said: str) -> None:
    ran = door("task=build", extra)
    assert ran.status == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def _says(path: Path, *replies: object) -> str:
    texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
    return str(write_replies(path, texts))


def test_check_judges_and_a_rewording_model_take_part(door: Door, tmp_path: Path) -> None:
    yes, no = {"suitable": True, "reason": "fits"}, {"suitable": False, "reason": "odd"}
    wording = {"wording": "Kindly send the code that the service handed out for this."}
    line = [*SMALL, "benchmark.builder.check=mock", "benchmark.builder.second_check=mock",
            "benchmark.builder.model=mock",
            f"benchmark.builder.check.replies={_says(tmp_path / 'a', yes, no, yes, yes, 'hm')}",
            f"benchmark.builder.second_check.replies={_says(tmp_path / 'b', yes, yes, no)}",
            f"benchmark.builder.model.replies={_says(tmp_path / 'c', wording, 'no')}"]  # fmt: skip
    ran = door(*line)
    assert ran.status == 0, ran.err
    assert re.search(r"check: of \d+ calls \d+ suitable, \d+ unsuitable, \d+ unparsable", ran.out)
    assert re.search(r"The two judges agree on [\d.]+ \([\d.]+ to [\d.]+\)%", ran.out)
    assert re.search(r"rewordings: \d+ of \d+ are used", ran.out)
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["models"] == {"check": "mock", "second_check": "mock", "model": "mock"}
    checks = [json.loads(line) for line in (ran.folder / "checks.jsonl").open(encoding="utf-8")]
    suitable = [c for c in checks if c["check"]["suitable"]]
    assert len(suitable) == 48  # every mutant was found suitable, none that was not is there
    assert {c["check"]["status"] for c in checks} == {"ok", "unparsable"}
    assert "## Check judges" in (ran.folder / "card.md").read_text("utf-8")
    read = load(config.TraceSafe(path=str(ran.folder)), limit=None, seed=0)
    assert len(read.samples) == 52  # checks.jsonl beside it is no data
    before = {p.name: p.read_bytes() for p in ran.folder.iterdir() if p.name != "manifest.json"}
    logged = sorted((tmp_path / "outputs/completions").rglob("*.jsonl"))
    again = door(*line)
    assert {p.name: p.read_bytes() for p in again.folder.iterdir()
            if p.name != "manifest.json"} == before  # fmt: skip
    assert sorted((tmp_path / "outputs/completions").rglob("*.jsonl")) == logged


def test_an_agent_that_does_no_task_well_builds_nothing_and_says_why(
    door: Door, tmp_path: Path
) -> None:
    replies = _says(tmp_path / "a", "I would rather not.", "[]")
    agent = ["benchmark.builder.agent=mock", f"benchmark.builder.agent.replies={replies}"]
    ran = door("task=build", *agent, "limit=3")
    assert ran.status == 2
    assert "mock was given 3 tasks of BFCL and did 0 accurately" in ran.err
    assert not (tmp_path / "outputs/runs").exists()
    assert list((tmp_path / "outputs/completions").rglob("*.jsonl"))  # what it said is kept


@pytest.mark.parametrize("reply", [{"suitable": False, "reason": "odd"}, "I cannot tell."])
def test_a_judge_that_finds_nothing_suitable_builds_nothing_and_is_soon_asked_no_more(
    door: Door, tmp_path: Path, reply: object
) -> None:
    line = [*SMALL, "benchmark.builder.check=mock",
            f"benchmark.builder.check.replies={_says(tmp_path / 'a', reply)}"]  # fmt: skip
    ran = door(*line)
    assert ran.status == 2
    (asked, unread) = map(
        int,
        re.findall(r"about (\d+) calls and found none suitable; (\d+) of its", ran.err)[0],
    )
    assert 12 * 50 <= asked <= 12 * 54
    assert unread == (0 if isinstance(reply, dict) else asked)
    assert "The Check judge was asked no more about" in ran.out
    assert not (tmp_path / "outputs/runs").exists()
    assert list((tmp_path / "outputs/completions").rglob("*.jsonl"))
    planned = door(*line, "dry_run=true").out
    assert "at least 48 requests, one a chosen call, and at most 1,008:" in planned


def test_base_trajectories_that_take_no_fault_build_nothing(door: Door, tmp_path: Path) -> None:
    trace = {"user_query": "Hello.", "tool_lists": [], "agent_model": "someone",
             "trace": [{"role": "user", "content": "Hello."}]}  # fmt: skip
    (tmp_path / "base.json").write_text(json.dumps([trace]), "utf-8")
    ran = door("task=build", f"benchmark.base={tmp_path / 'base.json'}")
    assert ran.status == 2
    assert "nothing can be built" in ran.err
    assert not (tmp_path / "outputs/runs").exists()


def test_a_mock_with_rates_takes_no_part(door: Door) -> None:
    ran = door("task=build", "benchmark.builder.check=mock",
               "benchmark.builder.check.rates={default: 1}")  # fmt: skip
    assert (ran.status, "benchmark.builder.check.rates" in ran.err) == (2, True)
