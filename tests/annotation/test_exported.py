"""The folder of an export is read back as it was written, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trace.annotation.assign import Assignment
from trace.annotation.exported import (
    Exported,
    Pass,
    consents,
    finished,
    numbered,
    read_export,
    shown,
    title,
)
from trace.annotation.form import Form, Option, Passage, Question
from trace.annotation.item import Answer, Item, Lost
from trace.annotation.markup import markup
from trace.annotation.study import HumanStudy, Merged
from trace.config.annotate import LONGEST_NAME
from trace.errors import DataError
from trace.records import Span
from trace.tracking.files import write_json

QUESTION = Question(
    name="safety",
    title="Safe?",
    options=(Option(value="safe", shown="Safe"), Option(value="unsafe", shown="Unsafe")),
)
FORM = Form(
    study="evidence",
    name="en",
    title="",
    language="en",
    passages=(Passage(name="text", title="Text", questions=(QUESTION,)),),
    taxonomy="1" * 64,
)
PIECE = Span(start=1, end=3, text="\r\n")
ITEM = Item(
    id="i1",
    form="en",
    texts={"text": "a\r\n😀\u2028e\u0301"},
    labels={"safety": "unsafe"},
    stratum="s",
    cluster="c",
    spans={"text": (PIECE,)},
)
ANSWER = Answer(
    item="i1",
    annotator="A1",
    standing="done",
    at="2026-01-01T00:00:00Z",
    values={"safety": "unsafe"},
    spans={"text": (PIECE,)},
    comment="two\nlines",
)
FIRST = Pass(
    items=(ITEM,),
    assignments=(Assignment(annotator="A1", form="en", items=("i1",)),),
    answers=(ANSWER,),
    lost={"A1": Lost(deleted=1, no_consent=2, twice=3)},
)
STUDY = HumanStudy(
    name="evidence",
    forms={"en": FORM},
    items=(ITEM,),
    fingerprint={"set.jsonl": "2" * 64},
    merge=lambda answers, decisions: Merged(files={}),
    terms="",
)


def made(folder: Path, **more: Any) -> Exported:
    asked = {"en": FORM} | {name: form for name, (form, _) in consents("evidence").items()}
    given: dict[str, Any] = {
        "folder": folder,
        "manifest": {
            "study": "evidence",
            "selected": "random",
            "data": dict(STUDY.fingerprint),
            "run": "3" * 64,
        },
        "forms": shown(asked),
        "given": replace(FIRST, answers=(), lost={}),
    }
    return Exported(**(given | more))


def written(folder: Path, **more: Any) -> Exported:
    one = made(folder, **more)
    one.write()
    write_json(folder / "manifest.json", one.manifest)
    return one


@pytest.mark.parametrize("first", [None, FIRST])
def test_it_comes_back_as_it_was(tmp_path: Path, first: Pass | None) -> None:
    one = written(tmp_path, first=first)
    assert read_export(tmp_path) == one
    assert (tmp_path / "en.xml").read_text("utf-8") == markup(FORM) + "\n"
    assert one.passes == ((one.given, None) if first is None else (first, one.given))


def test_without_its_manifest_it_is_not_finished(tmp_path: Path) -> None:
    made(tmp_path).write()
    assert not finished(tmp_path)
    with pytest.raises(DataError, match="holds no finished export"):
        Exported.read(tmp_path)


FAULTS: list[Callable[[Path], object]] = [
    lambda folder: (folder / "items.jsonl").unlink(),
    lambda folder: (folder / "lost.json").write_text("[]"),
    lambda folder: (folder / "lost.json").write_text('{"A1": {"kept": 1}}'),
    lambda folder: (folder / "assignments.jsonl").write_text('{"annotator": "A1"}\n'),
    lambda folder: (folder / "manifest.json").write_text("{"),
    lambda folder: (folder / "manifest.json").write_text('{"run": ""}'),
    lambda folder: (folder / "manifest.json").write_text("[]"),
    lambda folder: (folder / "forms.json").write_bytes(b"\xff"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_folder_is_refused(tmp_path: Path, fault: Callable[[Path], object]) -> None:
    written(tmp_path)
    fault(tmp_path)
    with pytest.raises(DataError, match="a file in it is missing or was edited"):
        Exported.read(tmp_path)


def test_an_import_is_read_as_one_alone(tmp_path: Path) -> None:
    one = made(tmp_path)
    written(tmp_path, manifest={**one.manifest, "export": "4" * 64})
    assert Exported.read(tmp_path).given == one.given
    with pytest.raises(DataError, match=r"is what an import left.*whose name is 44444444"):
        read_export(tmp_path)


def test_answers_to_another_question_are_refused(tmp_path: Path) -> None:
    one = made(tmp_path)
    one.check(STUDY)
    reworded = replace(FORM, title="Another")
    with pytest.raises(DataError, match=f"wording.*{FORM.digest[:12]}.*{reworded.digest[:12]} now"):
        one.check(replace(STUDY, forms={"en": reworded}))
    redefined = replace(FORM, taxonomy="9" * 64)
    with pytest.raises(
        DataError, match=r"taxonomy of form en was version 111111111111.*999999999999"
    ):
        one.check(replace(STUDY, forms={"en": redefined}))
    with pytest.raises(DataError, match="version 111111111111 when it was exported, and is none"):
        one.check(replace(STUDY, forms={}))


def test_answers_about_other_data_are_refused(tmp_path: Path) -> None:
    one = made(tmp_path)
    with pytest.raises(
        DataError, match=r"set\.jsonl 222222222222 then, set\.jsonl 555555555555 now"
    ):
        one.check(replace(STUDY, fingerprint={"set.jsonl": "5" * 64}))
    with pytest.raises(DataError, match="is about evidence, and this is tracesafe"):
        one.check(replace(STUDY, name="tracesafe"))


def test_titles_tell_all_projects_of_an_export_apart() -> None:
    names = [f"{'a' * (LONGEST_NAME - 1)}{end}" for end in "bc"]
    forms = ["consent_en", "rubric_01234567", "rubric_01234568"]
    given = [Assignment(annotator=n, form=form, items=()) for n in names for form in forms]
    titles = [title("f" * 64, number, one) for number, one in numbered(given)]
    assert len(set(titles)) == len(given)
    assert max(map(len, titles)) <= 50  # Label Studio's bound
