"""From a set of triples through the door, a browser and back: the spans and labels are found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.annotation.browser.conftest import Lab
from tests.benchmarks.evidence.made_triples import triple
from trace.annotation import briefing
from trace.annotation.form import Form
from trace.benchmarks.evidence.human_form import forms
from trace.benchmarks.evidence.triple import Triple
from trace.run import main
from trace.tracking.files import read_jsonl, write_jsonl

if TYPE_CHECKING:
    from tests.annotation.browser.work import Work

pytestmark = pytest.mark.slow

FORM = forms()["en"]
CONSENT, _ = briefing.consent("en", "evidence")


def carry_out(lab: Lab, folder: Path, out: Sequence[str], *arguments: str) -> None:
    given = [f"annotate.data_dir={lab.settings.data_dir}", f"output_dir={folder / 'outputs'}"]
    assert main(["task=annotate", *arguments, *given, "tracking.mode=disabled"]) == 0, out


def last_folder(capsys: pytest.CaptureFixture[str]) -> Path:
    *_, last = capsys.readouterr().out.rstrip("\n").splitlines()
    return Path(last.removeprefix("run: "))


def answer(work: Work, form: Form, values: dict[str, str]) -> None:
    """Chooses the options of those values, wherever they are asked."""
    for question in form.questions:
        shown = {option.value: option.shown for option in question.options}
        work.choose(question.title, shown[values[question.name]])


def test_two_triples_are_labelled_anew(
    lab: Lab, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safe, unsafe = triple(1, category=None), triple(2, ["prompt", "response"])
    path = tmp_path / "set" / "dataset.jsonl"
    write_jsonl(path, [one.to_json() for one in (safe, unsafe)])
    data = ["benchmark=evidence", f"benchmark.path={path}"]

    carry_out(lab, tmp_path, [], *data, "annotate.action=export", "annotate.annotators=[A1]")
    exported = last_folder(capsys)
    consent, project = json.loads((exported / "projects.json").read_bytes())
    order = list(read_jsonl(exported / "assignments.jsonl"))[1]["items"]
    titles = {passage.name: passage.title for passage in FORM.passages}

    work.begin(consent["url"].partition("/data")[0])
    work.open_passage(CONSENT.passages[0].title)
    answer(work, CONSENT, {briefing.QUESTION: briefing.YES})
    work.submit()

    work.begin(project["url"].partition("/data")[0])
    for id_ in order:
        assert not any(work.text(title).is_visible() for title in titles.values())
        for title in titles.values():
            work.open_passage(title)
        # The safe one is called unsafe in its response, which the set will then say.
        marked = ["prompt", "response"] if id_ == unsafe.id else ["response"]
        values = {part: "unsafe" if part in marked else "safe" for part in titles}
        named = {"attack": "None", "category": "None" if id_ == safe.id else "DataPrivacy"}
        answer(work, FORM, values | named)
        for part in marked:
            quote = "gate of Zell" if part == "prompt" else "cart of reeds"
            work.select_text(titles[part], quote)
        work.submit()
    assert work.done()

    carry_out(lab, tmp_path, [], *data, f"annotate.export={exported}")
    assert "A1" in capsys.readouterr().out
    carry_out(lab, tmp_path, [], *data, f"annotate.export={exported}", "annotate.action=import")
    imported = last_folder(capsys)

    merged = {line["id"]: line for line in read_jsonl(imported / "dataset.jsonl")}
    for one in merged.values():
        Triple.from_json(one, "merged")  # its spans are what stands in its texts
    changed = merged[safe.id]["labels"]["response"]
    assert changed["safety"] == "unsafe"
    assert [piece["text"] for piece in changed["evidence"]] == ["cart of reeds"]
    kept = merged[unsafe.id]
    assert [piece["text"] for piece in kept["labels"]["prompt"]["evidence"]] == ["gate of Zell"]
    assert kept["category"] == "DataPrivacy"
    human: dict[str, Any] = merged[safe.id]["provenance"]["human"]["response"]
    assert human["by"] == ["A1"]
    assert human["replaced"]["safety"] == "safe"
    metrics = json.loads((imported / "metrics.json").read_bytes())["metrics"]
    assert metrics["response_agreement"]["value"] == 0.5
    assert metrics["prompt_agreement"]["value"] == 1
    assert metrics["done"]["value"] == 1
