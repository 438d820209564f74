"""RAGTruth and StrongREJECT from the door, on invented files: planted truths come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from tests.integration.conftest import Door, Ran, write_replies
from trace.benchmarks.ragtruth.taxonomy import RELEASED
from trace.report.compare.scores import read_scores

EACH = 60


@pytest.fixture
def ragtruth(tmp_path: Path) -> Path:
    """60 faithful texts about 60 businesses, and 60 with a span of each kind."""
    folder = tmp_path / "ragtruth"
    folder.mkdir()
    businesses = [
        {"source_id": str(i), "task_type": "Data2txt", "source": "Yelp", "prompt": "Write.",
         "source_info": {"name": f"Cafe {i}", "business_stars": 3.5, "attributes": None}}
        for i in range(EACH)
    ]  # fmt: skip
    answers = [
        {"id": f"{i}-{kind}", "source_id": str(i), "model": "writer", "temperature": 0.7,
         "labels": [{"label_type": kind, "start": 0, "end": 1}] if kind else [], "split": "test",
         "quality": "good", "response": f"Cafe {i} has 3.5 stars. {kind}"}
        for i in range(EACH)
        for kind in ("", *RELEASED)
    ]  # fmt: skip
    for name, rows in (("source_info", businesses), ("response", answers)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return folder


RATES = "model.rates={default: 0.8, Faithful: 0.6, SubtleBaseless: 0.1}"


def expect(metric: dict[str, Any], rate: float) -> None:
    low, high = binom.interval(1 - 1e-6, metric["n"], rate)
    assert low <= metric["value"] * metric["n"] <= high, (metric, rate)


def test_planted_rates_come_back_on_ragtruth(door: Door, ragtruth: Path) -> None:
    line = ["benchmark=ragtruth", f"benchmark.path={ragtruth}", "model=mock", RATES]
    ran = door(*line, "protocol=fine")
    assert ran.status == 0, ran.err
    classes = ran.metrics()["breakdowns"]["class"]
    assert list(classes) == ["Faithful", *RELEASED.values()]
    for name, metrics in classes.items():
        assert metrics["accuracy"]["n"] == EACH
        expect(metrics["accuracy"], {"Faithful": 0.6, "SubtleBaseless": 0.1}.get(name, 0.8))
    assert ran.metrics()["metrics"]["balanced_f1"]["bootstrap"]["clusters"] == EACH
    (record, *_) = ran.records()
    assert record["gold"]["domain"] == "Faithful"
    assert record["sample"].keys() >= {"model", "temperature", "chars", "data_chars", "cluster"}
    assert "MIT" in json.loads((ran.folder / "manifest.json").read_text("utf-8"))["licence"]


def test_the_natural_axis_of_ragtruth_and_its_scores_put_together(
    door: Door, ragtruth: Path, tmp_path: Path
) -> None:
    line = ["benchmark=ragtruth", f"benchmark.path={ragtruth}", "model=mock", RATES, "limit=5"]
    ran = door("-m", *line)
    assert ran.status == 0, ran.err
    files = sorted((tmp_path / "outputs/runs/ragtruth/mock/plain").glob("*/capability.csv"))
    assert [f.parent.name.split("-")[0] for f in files] == ["binary", "schema"]
    first, second = (f.read_text("utf-8").splitlines() for f in files)
    table = tmp_path / "scores.csv"
    table.write_text("\n".join([*first, *second[1:]]) + "\n", "utf-8")
    scores = read_scores(table)
    assert list(scores) == ["ragtruth binary", "ragtruth schema"]
    f1 = json.loads((files[1].parent / "metrics.json").read_text("utf-8"))["metrics"]["balanced_f1"]
    assert scores["ragtruth schema"] == {"mock": f1["value"]}
    assert f1["n"] == 25


def test_what_is_wrong_with_a_copy_of_ragtruth(door: Door, ragtruth: Path) -> None:
    line = ["benchmark=ragtruth", "model=mock", RATES]
    assert "benchmark.path=" in refused(door(*line))
    assert "has no source_info.jsonl" in refused(door(*line, f"benchmark.path={ragtruth.parent}"))
    (ragtruth / "response.jsonl").write_text('{"id": "1"}\n', "utf-8")
    said = refused(door(*line, f"benchmark.path={ragtruth}"))
    assert "response.jsonl:1: has no source_id" in said


def refused(ran: Ran) -> str:
    assert ran.status == 2, ran.out + ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    return ran.err


def grade(refused: int, convincing: int, specific: int) -> str:
    fields = {"refused": refused, "convincing": convincing, "specific": specific}
    return json.dumps({"reasoning": "so"} | fields)


class Study:
    """A respondent and a judge that deal replies from files, on 12 placeholder prompts."""

    def __init__(self, folder: Path) -> None:
        self.prompts = folder / "prompts.csv"
        self.answers, self.grades = folder / "answers.jsonl", folder / "grades.jsonl"
        rows = [f"c{i % 3},made up,placeholder question {i}\n" for i in range(12)]
        self.prompts.write_text("category,source,forbidden_prompt\n" + "".join(rows), "utf-8")
        # Every fourth answer is empty; the other nine are graded in turn.
        write_replies(self.answers, ["first", "second", "third", ""])
        write_replies(self.grades, [grade(1, 1, 1), grade(0, 5, 5), grade(0, 2, 3)])

    @property
    def line(self) -> list[str]:
        return [
            "benchmark=strongreject", f"benchmark.path={self.prompts}",
            "model=mock", "model.name=respondent", f"model.replies={self.answers}",
            "model@benchmark.judge=mock", "benchmark.judge.name=grader",
            f"benchmark.judge.replies={self.grades}", "scoring.max_unscored=0.3",
        ]  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def test_planted_grades_come_back_on_strongreject(door: Door, study: Study) -> None:
    ran = door(*study.line)
    assert ran.status == 0, ran.err
    metrics = ran.metrics()["metrics"]
    mean = (0 + 1 + 3 / 8) / 3
    assert metrics["asr"]["value"] == pytest.approx(mean)
    assert metrics["one_minus_asr"]["value"] == pytest.approx(1 - mean)
    assert metrics["asr"]["low"] < mean < metrics["asr"]["high"]
    assert metrics["asr"]["bounds"] == [
        pytest.approx(9 * mean / 12), pytest.approx((9 * mean + 3) / 12)
    ]  # fmt: skip
    assert metrics["answered"]["value"] == pytest.approx(2 / 3)
    assert metrics["refused"]["value"] == pytest.approx(1 / 3)
    assert metrics["coverage"]["value"] == 0.75
    assert ran.metrics()["breakdowns"]["category"].keys() == {"c0", "c1", "c2"}
    assert read_scores(ran.folder / "capability.csv") == {
        "strongreject 1-ASR": {"respondent": metrics["one_minus_asr"]["value"]}
    }
    assert "1 − ASR" in ran.out
    assert max(map(len, (line for line in ran.out.splitlines() if "note" not in line and
                         not line.startswith("run: ")))) <= 80  # fmt: skip


def test_the_run_directory_of_a_respondent(door: Door, study: Study, tmp_path: Path) -> None:
    ran = door(*study.line)
    assert ran.folder.parent == tmp_path / "outputs/runs/strongreject/respondent/plain"
    names = {p.name for p in ran.folder.iterdir()} - {".lock"}
    assert names == {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md",
                     "capability.csv"}  # fmt: skip
    records = ran.records()
    assert [r["response"]["text"] for r in records] == ["first", "second", "third", ""] * 3
    statuses = [r["verdict"]["status"] for r in records]
    assert statuses == ["ok", "ok", "ok", "unparsable"] * 3
    for record in records:
        assert record.keys() >= {"id", "gold", "condition", "protocol", "verdict", "judges",
                                 "response", "completion", "sample"}  # fmt: skip
        assert record["judges"] == {"grader": record["verdict"]}
        assert record["gold"]["label"] is None
        assert (record["completion"] is None) == (record["response"]["text"] == "")
        assert record["sample"]["category"]
    assert records[1]["grade"] == {"refused": 0, "convincing": 5, "specific": 5, "score": 1.0}
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest.keys() >= {"data", "model", "judge", "prompt", "licence", "ended"}
    assert manifest["model"] != manifest["judge"]


def test_a_second_run_asks_nothing_and_a_torn_log_is_filled_up(
    door: Door, study: Study, tmp_path: Path
) -> None:
    first = door(*study.line)
    kept = {p.name: p.read_bytes() for p in first.folder.iterdir() if p.is_file()}
    logs = {name: sorted((tmp_path / "outputs/completions" / name).iterdir())
            for name in ("respondent", "grader")}  # fmt: skip
    sizes = {name: files[0].read_bytes().count(b"\n") for name, files in logs.items()}
    assert sizes == {"respondent": 12, "grader": 9}
    again = door(*study.line)
    assert again.folder == first.folder
    for name, files in logs.items():
        assert sorted((tmp_path / "outputs/completions" / name).iterdir()) == files
    assert {p.name: p.read_bytes() for p in first.folder.iterdir() if p.is_file()} == kept
    (file,) = logs["grader"]
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:4]))
    (file,) = logs["respondent"]
    file.unlink()
    door(*study.line)
    for name in ("records.jsonl", "metrics.json", "report.md"):
        assert (first.folder / name).read_bytes() == kept[name]


def test_what_changes_a_respondents_run_directory_and_what_does_not(
    door: Door, study: Study, tmp_path: Path
) -> None:
    folder = door(*study.line).folder
    copied = study.grades.rename(tmp_path / "elsewhere.jsonl")
    study.grades = copied
    for same in ("protocol=fine", "scoring.max_unscored=0.5"):
        assert door(*study.line, same).folder == folder
    write_replies(study.grades, [grade(0, 5, 5)])
    other = door(*study.line)
    assert other.folder != folder
    assert other.metrics()["metrics"]["asr"]["value"] == 1
    limited = door(*study.line, "limit=2", "epochs=2")
    assert limited.metrics()["metrics"]["coverage"]["n"] == 12
    assert len({r["id"] for r in limited.records()}) == 6


def test_too_many_answers_without_a_grade_end_with_status_1(door: Door, study: Study) -> None:
    write_replies(study.grades, ["no grade", grade(0, 5, 5), "7"])
    ran = door(*study.line)
    assert ran.status == 1
    assert '9 of 12 answers have no grade ({"unparsable": 9})' in ran.err
    metrics = ran.metrics()["metrics"]
    assert (metrics["asr"]["n"], metrics["asr"]["value"]) == (3, 1)
    assert metrics["asr"]["bounds"] == [0.25, 1]
    assert "at least" in ran.out


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["benchmark.path=/no/such.csv"], "benchmark.path: /no/such.csv does not exist"),
        (["condition=few_shot"], "Use condition=plain"),
        (["judges=local"], "choose that model: benchmark.judge=NAME"),
        (["protocol.answer=score"], "protocol.answer: is not read by strongreject"),
        (["model.replies=null", "model.rates={default: 1}"], "model.replies=FILE"),
        (["benchmark.judge.replies=null", "benchmark.judge.rates={default: 1}"],
         "benchmark.judge.replies=FILE"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said(
    door: Door, study: Study, tmp_path: Path, changes: list[str], says: str
) -> None:
    assert says in refused(door(*study.line, *changes))
    assert not (tmp_path / "outputs/runs").exists()


def test_a_judge_has_to_be_named(door: Door, study: Study) -> None:
    without = [a for a in study.line if "judge" not in a]
    assert "benchmark.judge: no value" in refused(door(*without))
    sweetened = [a.replace("model@benchmark.judge", "benchmark.judge") for a in study.line]
    assert door(*sweetened).status == 0


def test_a_judge_of_the_family_it_judges_is_warned_of(door: Door, study: Study) -> None:
    kin = ["model.family=Ours", "benchmark.judge.family=Ours"]
    assert "both of the family Ours" in door(*study.line, *kin).out
    assert "both of the family" not in door(*study.line, kin[0], "benchmark.judge.family=Other").out


def test_a_dry_run_says_what_both_models_are_asked(
    door: Door, study: Study, tmp_path: Path
) -> None:
    ran = door(*study.line, "dry_run=true", "sampling.max_new_tokens=100", "epochs=2")
    assert ran.status == 0, ran.err
    assert "respondent: 24 requests" in ran.out
    assert "grader: 24 requests" in ran.out
    assert "prompts: n = 12." in ran.out
    assert not (tmp_path / "outputs").exists()
    assert "has no source_info" in door(
        "benchmark=ragtruth", f"benchmark.path={tmp_path}", "model=mock", RATES, "dry_run=true"
    ).err  # fmt: skip


def test_a_bad_csv_names_line_and_field(door: Door, study: Study) -> None:
    study.prompts.write_text("category,source,forbidden_prompt\na,b,c\na,b,\n", "utf-8")
    assert f"{study.prompts}, line 3: forbidden_prompt: is empty" in refused(door(*study.line))


def test_a_hosted_respondent_needs_its_terms_confirmed(door: Door, study: Study) -> None:
    line = [a for a in study.line if not a.startswith("model")]
    hosted = ["model=openai_compatible", "model.id=m", "model.base_url=http://127.0.0.1:1/v1",
              "model@benchmark.judge=mock"]  # fmt: skip
    assert "model.terms_confirmed=true" in refused(door(*line, *hosted))
