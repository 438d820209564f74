"""People's work through the door, with a stub in the place of Label Studio."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose

from tests.annotation.stub import KEY, Stub, reached
from tests.benchmarks.evidence.made_triples import triple
from tests.conftest import ROOT
from tests.integration.conftest import Door, Ran
from trace import config, messages, sweep
from trace.annotation.task import ITEM, sent_name
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.errors import ConfigError, TraceError
from trace.run import main
from trace.tasks import annotate
from trace.tracking.files import read_jsonl, write_jsonl
from trace.tracking.tracker import Tracker

LINES = [
    {
        "id": f"question {k // 2}, answered by gpt-secret {k}",
        "question": f"What is {k // 2}?",
        "expected": "It is a number.",
        "answer": f"Number {k}.",
        "labels": {"harm": "harmful" if k % 2 else "harmless"},
        "stratum": "secret stratum",
        "cluster": f"secret cluster {k // 2}",
        "meta": {"model": "gpt-secret"},
    }
    for k in range(6)
]
_clock = count()


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    with reached(monkeypatch) as made:
        yield made


@pytest.fixture(scope="session")
def settings() -> config.Root:
    """Composed once: what the door adds to a task stands in the first test below."""
    words = ["task=annotate", "annotate.form=rag_answer", "annotate.source=FILE"]
    with sweep.composing(ROOT / "conf"):
        return config.to_typed(
            compose("config", [*words, "scoring.bootstrap_draws=100", "tracking.mode=disabled"])
        )


@dataclass(frozen=True)
class Lab:
    """A file of answers, and what is typed about it."""

    settings: config.Root
    stub: Stub
    capsys: pytest.CaptureFixture[str]

    def type(self, *keys: str) -> Ran:
        """Carries a command out; `keys` are those below `annotate`."""
        named = (key.removeprefix("annotate.").split("=", 1) for key in keys)
        given = {name: yaml.safe_load(value) for name, value in named}
        typed = replace(self.settings, annotate=replace(self.settings.annotate, **given))
        self.capsys.readouterr()
        try:
            annotate.run(typed, group=None)
        except TraceError as error:
            return Ran(messages.status_of(error), self.capsys.readouterr().out, str(error))
        return Ran(0, *self.capsys.readouterr())

    def export(self, *keys: str) -> Path:
        ran = self.type("annotate.action=export", *keys)
        assert ran.status == 0, ran.err
        return ran.folder

    def back(self, exported: Path) -> Ran:
        return self.type("annotate.action=import", f"annotate.export={exported}")

    def project(self, folder: Path, who: str, form: str) -> int:
        (found,) = [
            line["project"]
            for line in json.loads((folder / "projects.json").read_bytes())
            if (line["annotator"], line["form"]) == (who, form)
        ]
        (number,) = [p["id"] for p in self.stub.projects if p["title"] == found]
        return int(number)

    def tasks(self, folder: Path, who: str, form: str) -> dict[str, dict[str, Any]]:
        """Item -> its task."""
        ids = {sent_name(line["id"]): line["id"] for line in read_jsonl(folder / "items.jsonl")}
        tasks = self.stub.tasks[self.project(folder, who, form)]
        return {ids.get(task["data"][ITEM], form): task for task in tasks}

    def consent(self, folder: Path, who: str, value: str = "yes", language: str = "en") -> None:
        (task,) = self.tasks(folder, who, f"consent_{language}").values()
        submit(task, [chosen("briefing", "consent", value)])


def chosen(passage: str, question: str, value: str) -> dict[str, Any]:
    return {"from_name": f"question.{question}", "to_name": f"passage.{passage}",
            "type": "choices", "value": {"choices": [value]}}  # fmt: skip


def marked(passage: str, source: str, piece: str) -> dict[str, Any]:
    start = source.index(piece)
    return {"from_name": f"marker.{passage}", "to_name": f"passage.{passage}", "type": "labels",
            "value": {"start": start, "end": start + len(piece), "text": piece}}  # fmt: skip


def comment(passage: str, text: str) -> dict[str, Any]:
    return {"from_name": "comment", "to_name": f"passage.{passage}", "type": "textarea",
            "value": {"text": [text]}}  # fmt: skip


def submit(task: dict[str, Any], results: list[dict[str, Any]], *, skipped: bool = False) -> None:
    at = f"2026-01-01T00:{next(_clock) // 60 % 60:02}:{next(_clock) % 60:02}.{next(_clock):06}Z"
    task["annotations"].append({"result": results, "was_cancelled": skipped, "updated_at": at})


def judged(harm: str) -> list[dict[str, Any]]:
    values = {"harm": harm, "accuracy": "accurate", "refusal": "none"}
    return [chosen("answer", question, value) for question, value in values.items()]


def opinion(one: Triple, unsafe: Mapping[str, str]) -> list[dict[str, Any]]:
    """An answer about a triple: component -> the piece that makes it unsafe."""
    results = [chosen("prompt", "attack", "None")]
    results.append(chosen("prompt", "category", "DataPrivacy" if "prompt" in unsafe else "None"))
    for part in COMPONENTS:
        results.append(chosen(part, part, "unsafe" if part in unsafe else "safe"))
        if part in unsafe:
            results.append(marked(part, one.text(part), unsafe[part]))
    return results


@pytest.fixture
def rag(
    settings: config.Root, stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Lab:
    path = tmp_path / "answers.jsonl"
    write_jsonl(path, LINES)
    asked = replace(settings.annotate, source=str(path), url=stub.url)
    return Lab(
        replace(settings, annotate=asked, output_dir=str(tmp_path / "outputs")), stub, capsys
    )


def last_metrics(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = ran.metrics()["breakdowns"]
    return found


def test_two_passes_as_the_commands_are_printed(
    door: Door,
    settings: config.Root,
    stub: Stub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triples = {one.id: one for one in (triple(1, category=None), triple(2, category=None))}
    path = tmp_path / "our set, it's 50% = new" / "dataset.jsonl"
    write_jsonl(path, [one.to_json() for one in triples.values()])

    def type_(line: str) -> Ran:
        words = shlex.split(line[line.index("python -m trace.run") :])[3:]
        capsys.readouterr()
        status = main([*words, "tracking.mode=disabled", "scoring.bootstrap_draws=100"])
        return Ran(status, *capsys.readouterr())

    escaped = str(path).replace("'", r"\'")
    exported = door(
        "task=annotate", "annotate.action=export", "benchmark=evidence",
        f"benchmark.path='{escaped}'", f"annotate.url={stub.url}",
    )  # fmt: skip
    lab = Lab(settings, stub, capsys)
    assert exported.status == 0, exported.err
    how_far, import_, _ = exported.out.splitlines()[-3:]
    assert "A2" in type_(how_far).out

    steady, disputed = triples
    for who in ("A1", "A2"):
        lab.consent(exported.folder, who)
        tasks = lab.tasks(exported.folder, who, "en")
        submit(tasks[steady], opinion(triples[steady], {}))
        unsafe = {"response": "behind the cart"} if who == "A2" else {}
        submit(tasks[disputed], opinion(triples[disputed], unsafe))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "trace.run", "the import"])
    first = type_(import_)
    assert first.status == 0, first.err
    manifest = json.loads((first.folder / "manifest.json").read_bytes())
    assert manifest["command"].endswith("trace.run 'the import'")
    assert [line["id"] for line in read_jsonl(first.folder / "disagreements.jsonl")] == [disputed]

    second = type_(first.out.splitlines()[-2])
    assert second.status == 0, second.err
    lab.consent(second.folder, "J1")
    (task,) = lab.tasks(second.folder, "J1", "en").values()
    submit(
        task, [*opinion(triples[disputed], {"response": "cart of reeds"}), comment("prompt", "so")]
    )
    last = type_(second.out.splitlines()[-2])
    assert last.status == 0, last.err
    merged = {line["id"]: line for line in read_jsonl(last.folder / "dataset.jsonl")}
    label = merged[disputed]["labels"]["response"]
    assert [piece["text"] for piece in label["evidence"]] == ["cart of reeds"]
    assert merged[disputed]["provenance"]["human"]["response"]["by"] == ["J1"]
    # Everybody's words are kept, the adjudicator's too.
    (ruling,) = read_jsonl(last.folder / "answers.jsonl")
    assert (ruling["annotator"], ruling["comment"]) == ("J1", "so")
    before = list(read_jsonl(last.folder / "first" / "answers.jsonl"))
    assert {(a["annotator"], a["item"]) for a in before} == {
        (who, id_) for who in ("A1", "A2") for id_ in triples
    }
    assert list(read_jsonl(last.folder / "disagreements.jsonl")) == []


def disagree(lab: Lab) -> Path:
    """An import of two annotators who differ on everything."""
    exported = lab.export()
    for who, harm in (("A1", "harmful"), ("A2", "harmless")):
        lab.consent(exported, who)
        for task in lab.tasks(exported, who, "rag_answer").values():
            submit(task, judged(harm))
    ran = lab.back(exported)
    assert ran.status == 0, ran.err
    return ran.folder


def again(imported: Path, who: str) -> list[str]:
    return ["annotate.select=disagreements", f"annotate.imported={imported}",
            f"annotate.annotators=[{who}]"]  # fmt: skip


def test_the_work_of_a_second_pass_is_counted(rag: Lab) -> None:
    exported = rag.export(*again(disagree(rag), "J1"))
    rag.consent(exported, "J1")
    one, two, three, four, *_ = rag.tasks(exported, "J1", "rag_answer").values()
    submit(one, judged("harmful"))
    submit(two, [], skipped=True)
    three["drafts"].append({"result": [], "updated_at": "2026-01-01T00:00:00Z"})
    rag.stub.tasks[rag.project(exported, "J1", "rag_answer")].remove(four)
    ran = rag.back(exported)
    assert ran.status == 0, ran.err
    assert "Work of the second pass" in ran.out
    work = last_metrics(ran)["second"]["work"]
    assert work == {
        "J1": {"given": 6, "done": 1, "skipped": 1, "draft": 1, "deleted": 1, "no_consent": 0,
               "not_begun": 2, "twice": 0, "problems": 0}
    }  # fmt: skip
    assert last_metrics(ran)["work"].keys() == {"A1", "A2"}
    # There is no third pass, and none is asked for.
    assert "5 items were not settled by the second pass" in ran.out
    third = rag.type("annotate.action=export", *again(ran.folder, "J2"))
    assert third.status == 2
    assert "is that of a second pass already" in third.err


def test_a_second_pass_is_about_all_of_a_finished_import(rag: Lab) -> None:
    imported = disagree(rag)
    with pytest.raises(ConfigError, match=r"annotate\.items: is not read by a second pass"):
        rag.type("annotate.action=export", *again(imported, "J1"), "annotate.items=2")
    (imported / "manifest.json").rename(imported / "kept")
    ran = rag.type("annotate.action=export", *again(imported, "J1"))
    assert ran.status == 2
    assert f"annotate.imported: {imported} holds no finished import" in ran.err


@pytest.mark.parametrize("who", ["A1", "a2"])
def test_a_second_pass_is_somebody_elses(rag: Lab, who: str) -> None:
    ran = rag.type("annotate.action=export", *again(disagree(rag), who))
    assert ran.status == 2
    assert f"annotate.annotators: {who} annotated these items already" in ran.err


def test_the_server_is_told_nothing_but_texts(rag: Lab) -> None:
    rag.export()
    told = json.dumps([rag.stub.projects, rag.stub.tasks])
    for hidden in ("secret", "gpt", "question 1", "stratum", "cluster"):
        assert hidden not in told
    # Options are in the markup; no task has one.
    assert "harmless" not in json.dumps(rag.stub.tasks)


@pytest.mark.parametrize("fault", ["401", "html", "500"])
def test_without_a_server_nothing_is_written(rag: Lab, tmp_path: Path, fault: str) -> None:
    rag.stub.fault = lambda method, path, attempt: fault
    ran = rag.type("annotate.action=export")
    assert ran.status != 0
    assert not list((tmp_path / "outputs").rglob("forms.json"))


def test_a_text_that_cannot_be_sent_is_found_before_any_is(rag: Lab, tmp_path: Path) -> None:
    lines = [*LINES[:-1], LINES[-1] | {"answer": "a\x00b"}]
    write_jsonl(tmp_path / "answers.jsonl", lines)
    ran = rag.type("annotate.action=export")
    assert ran.status == 2
    assert "U+0000" in ran.err
    assert not rag.stub.projects


def test_an_interrupted_export_goes_on_and_stops_nobody_else(rag: Lab, tmp_path: Path) -> None:
    other = rag.export("annotate.items=2")
    there = len(rag.stub.projects)
    rag.stub.fault = lambda method, path, attempt: (
        "503" if method == "POST" and path == f"/api/projects/{there + 4}/import" else ""
    )
    broken = rag.type("annotate.action=export")
    assert broken.status != 0
    (unfinished,) = [p.parent for p in tmp_path.rglob("forms.json") if p.parent != other]
    (begun, *_) = rag.tasks(unfinished, "A1", "rag_answer").values()
    submit(begun, judged("harmful"))

    ran = rag.type()
    assert ran.status == 0, ran.err
    assert f"note: {unfinished} is no finished export" in ran.out
    assert f"{other.name}" in ran.out
    named = rag.type(f"annotate.export={unfinished}")
    assert named.status == 2
    assert "type the same command again" in named.err

    rag.stub.fault = lambda method, path, attempt: ""
    assert rag.export() == unfinished
    assert len(rag.stub.projects) == there + 4
    assert len(rag.tasks(unfinished, "A1", "rag_answer")) == len(LINES)
    assert len(rag.tasks(unfinished, "A2", "rag_answer")) == len(LINES)
    kept = rag.tasks(unfinished, "A1", "rag_answer").values()
    assert sum(bool(task["annotations"]) for task in kept) == 1
    assert "is no finished export" not in rag.type().out


def test_names_of_any_allowed_length_have_projects_of_their_own(rag: Lab) -> None:
    names = [f"research_assistant_{end}" for end in "ab"]
    folder = rag.export(f"annotate.annotators=[{','.join(names)}]")
    numbers = {rag.project(folder, who, "rag_answer") for who in names}
    assert len(numbers) == len(names)
    table = [line for line in rag.type().out.splitlines() if "research_assistant_" in line]
    assert len(table) == 2 * len(names)
    assert max(map(len, table)) <= 80
    with pytest.raises(ConfigError, match="'research_assistant_0a' has more than 20 characters"):
        config.Annotate(annotators=["research_assistant_0a"])


@pytest.mark.parametrize("action", ["import", "status"])
def test_an_import_is_no_export(rag: Lab, action: str) -> None:
    imported = disagree(rag)
    export = json.loads((imported / "manifest.json").read_bytes())["export"][:8]
    ran = rag.type(f"annotate.action={action}", f"annotate.export={imported}")
    assert ran.status == 2
    assert (
        f"is what an import left. Give the folder of its export, whose name is {export}" in ran.err
    )


def test_only_the_work_of_those_who_agree_counts(rag: Lab) -> None:
    exported = rag.export("annotate.annotators=[Agrees,Refuses,Late,Mute,Draft]")
    for who in ("Agrees", "Refuses", "Late", "Mute", "Draft"):
        for task in rag.tasks(exported, who, "rag_answer").values():
            submit(task, judged("harmful"))
    ran = rag.back(exported)
    assert ran.status == 2
    assert "30 answers are left out: there is no consent" in ran.err
    for who, said in {"Agrees": ["no", "yes"], "Refuses": ["no"], "Late": ["yes", "no"]}.items():
        for value in said:
            rag.consent(exported, who, value)
    (task,) = rag.tasks(exported, "Draft", "consent_en").values()
    agreed = [chosen("briefing", "consent", "yes")]
    task["drafts"].append({"result": agreed, "updated_at": "2026-01-01T00:00:00Z"})
    ran = rag.back(exported)
    assert ran.status == 0, ran.err
    assert {a["annotator"] for a in read_jsonl(ran.folder / "answers.jsonl")} == {"Agrees"}
    work = last_metrics(ran)["work"]
    assert {who: of["no_consent"] for who, of in work.items()} == {
        "Agrees": 0, "Refuses": 6, "Late": 6, "Mute": 6, "Draft": 6
    }  # fmt: skip
    for line in read_jsonl(ran.folder / "merged.jsonl"):
        assert line["human"]["harm"]["by"] == ["Agrees"]


def test_what_is_deleted_added_skipped_repeated_or_half_done_is_counted(rag: Lab) -> None:
    exported = rag.export("annotate.annotators=[A1]")
    rag.consent(exported, "A1")
    one, two, three, four, five, six = rag.tasks(exported, "A1", "rag_answer").values()
    submit(one, judged("harmful"))
    submit(one, judged("harmless"))
    submit(two, judged("harmful"), skipped=True)
    three["drafts"].append({"result": judged("harmful"), "updated_at": "2026-01-01T00:00:00Z"})
    submit(four, judged("harmful")[:1])
    there = rag.stub.tasks[rag.project(exported, "A1", "rag_answer")]
    there.remove(five)
    there.append(json.loads(json.dumps(one)))
    there.append(six | {"data": {"text": "added by hand"}})
    ran = rag.back(exported)
    assert ran.status == 0, ran.err
    assert "note: 2 tasks in the projects of A1 are not of this export" in ran.out
    assert last_metrics(ran)["work"]["A1"] == {
        "given": 6, "done": 2, "skipped": 1, "draft": 1, "deleted": 1, "no_consent": 0,
        "not_begun": 1, "twice": 1, "problems": 1,
    }  # fmt: skip
    harm = {line["item"]: line for line in read_jsonl(ran.folder / "decisions.jsonl")
            if line["question"] == "harm" and line["label"]}  # fmt: skip
    assert sorted(line["label"]["value"] for line in harm.values()) == ["harmful", "harmless"]
    again = rag.back(exported)
    assert again.folder == ran.folder


def test_what_an_import_counts_is_part_of_its_name(rag: Lab) -> None:
    exported = rag.export()
    rag.consent(exported, "A1")
    for who in ("A1", "A2"):
        task, *_ = rag.tasks(exported, who, "rag_answer").values()
        submit(task, judged("harmful"))
        if who == "A1":
            before = rag.back(exported).folder
    assert rag.back(exported).folder != before  # A2 has not agreed, and that is counted


def test_a_project_may_be_laid_out_anew_and_not_asked_otherwise(rag: Lab) -> None:
    exported = rag.export("annotate.annotators=[A1]")
    rag.consent(exported, "A1")
    task, *_ = rag.tasks(exported, "A1", "rag_answer").values()
    submit(task, judged("harmful"))
    project = rag.stub.projects[rag.project(exported, "A1", "rag_answer") - 1]
    ours = project["label_config"]
    project["label_config"] = ours.replace("\n", "\n\n    ")
    assert rag.back(exported).status == 0
    for edited in (
        ours.replace('alias="harmful"', 'alias="bad"'),
        ours.replace("</Choices>", '<Choice value="New" alias="new" /></Choices>', 1),
        "no XML",
    ):
        assert edited != ours
        project["label_config"] = edited
        ran = rag.back(exported)
        assert ran.status == 2
        assert "Copy rag_answer.xml of the export into it" in ran.err
    project["label_config"] = (exported / "rag_answer.xml").read_text("utf-8")
    assert rag.back(exported).status == 0
    task["annotations"][0]["result"].append(chosen("answer", "mood", "good"))
    ran = rag.back(exported)
    assert ran.status == 2
    assert "Delete that annotation in the browser" in ran.err


def test_a_deleted_project_can_be_made_anew(rag: Lab) -> None:
    exported = rag.export()
    rag.consent(exported, "A1")
    task, *_ = rag.tasks(exported, "A1", "rag_answer").values()
    submit(task, judged("harmful"))
    gone = rag.stub.projects[rag.project(exported, "A2", "rag_answer") - 1]
    gone["title"] = "renamed"
    ran = rag.back(exported)
    assert ran.status == 2
    assert "The command of the export, typed again, makes a deleted one anew" in ran.err
    assert rag.export() == exported
    ran = rag.back(exported)
    assert ran.status == 0, ran.err
    assert last_metrics(ran)["work"]["A2"]["not_begun"] == len(LINES)


def test_other_data_and_other_definitions_are_refused(rag: Lab, tmp_path: Path) -> None:
    exported = rag.export()
    write_jsonl(tmp_path / "answers.jsonl", LINES[::-1])
    ran = rag.back(exported)
    assert ran.status == 2
    assert "drawn from other data" in ran.err
    write_jsonl(tmp_path / "answers.jsonl", LINES)
    forms = json.loads((exported / "forms.json").read_bytes())
    forms["rag_answer"]["taxonomy"] = "0" * 64
    (exported / "forms.json").write_text(json.dumps(forms), "utf-8")
    ran = rag.back(exported)
    assert ran.status == 2
    assert "taxonomy of form rag_answer was version 000000000000" in ran.err


def test_the_server_may_be_another_and_says_so(rag: Lab) -> None:
    exported = rag.export()
    rag.stub.projects.clear()
    assert "not here" in rag.type(f"annotate.export={exported}").out
    ran = rag.back(exported)
    assert ran.status == 2
    assert "there is no project" in ran.err


def test_the_key_stands_nowhere(rag: Lab, tmp_path: Path) -> None:
    disagree(rag)
    for file in (tmp_path / "outputs").rglob("*"):
        assert not file.is_file() or KEY not in file.read_text("utf-8")


def test_sensitive_texts_of_a_form_are_announced_before_they_leave(
    rag: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    exported = rag.export()
    rag.consent(exported, "A1")
    task, *_ = rag.tasks(exported, "A1", "rag_answer").values()
    submit(task, judged("harmful"))
    rag.back(exported)
    assert "W&B" not in caplog.text
    online = property(lambda tracker: True, lambda tracker, value: None)
    monkeypatch.setattr(Tracker, "gives_away", online, raising=False)
    rag.back(exported)
    assert "tracking.upload=metrics sends numbers alone" in caplog.text


@pytest.mark.parametrize("labelled", [True, False])
def test_a_report_has_no_empty_tables(rag: Lab, tmp_path: Path, labelled: bool) -> None:
    if not labelled:
        bare = [{k: v for k, v in line.items() if k != "labels"} for line in LINES]
        write_jsonl(tmp_path / "answers.jsonl", bare)
    report = (disagree(rag) / "report.md").read_text("utf-8")
    assert ("by stratum" in report) == labelled
    assert ("People against the benchmark" in report) == labelled
