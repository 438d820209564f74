"""task=export through the door: runs as logs of Inspect, read back by Inspect itself."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Door, Ran, write_replies
from tests.integration.cross_lab_lines import LAB, four, items, panel, respondent
from trace.report import inspect_log
from trace.tasks import export

SECRET = "planted-credential-0123"


def grade(refused: int, convincing: int) -> str:
    return json.dumps(
        {"reasoning": "so", "refused": refused, "convincing": convincing, "specific": convincing}
    )


def graded(folder: Path) -> list[str]:
    """StrongREJECT on placeholders: of each four answers one is empty, and one says a secret."""
    rows = [f"c{i % 3},made up,placeholder question {i}\n" for i in range(12)]
    prompts = folder / "prompts.csv"
    prompts.write_text("category,source,forbidden_prompt\n" + "".join(rows), "utf-8")
    answers = write_replies(
        folder / "answers.jsonl", ["<think>hm</think>first", f"{SECRET} \ud800", "third", ""]
    )
    grades = write_replies(folder / "grades.jsonl", [grade(1, 1), grade(0, 5), grade(0, 4)])
    return [
        "benchmark=strongreject", f"benchmark.path={prompts}", "model=mock",
        "model.name=respondent", "model.reasoning=think", f"model.replies={answers}",
        "model@benchmark.judge=mock", "benchmark.judge.name=grader",
        f"benchmark.judge.replies={grades}", "scoring.max_unscored=0.3", "epochs=2",
        "scoring.bootstrap_draws=100",
    ]  # fmt: skip


def made(ran: Ran, tmp_path: Path) -> export.Made:
    assert ran.status == 0, ran.err
    return export.make(ran.folder, str(tmp_path / "again"))


def check(log: dict[str, Any], ran: Ran) -> None:
    """What holds of every log: it has what the run directory has."""
    metrics = ran.metrics()["metrics"]
    (scores,) = log["results"]["scores"]
    defined = {name for name, one in metrics.items() if one["value"] is not None}
    assert set(scores["metrics"]) == defined
    assert set(scores["metadata"]["undefined"]) == set(metrics) - defined
    for name, one in scores["metrics"].items():
        assert one["value"] == metrics[name]["value"]
        assert one["metadata"]["n"] == metrics[name]["n"]
        assert one["metadata"]["low"] == metrics[name]["low"]
    assert len(log["samples"]) == len(ran.records())
    for sample, record in zip(log["samples"], ran.records(), strict=True):
        verdict, score = record["verdict"], sample["scores"]["verdict"]
        assert (sample["id"], sample["epoch"]) == (record["id"], record["epoch"] + 1)
        assert sample["metadata"]["gold"] == record["gold"]["label"]
        assert sample["metadata"]["condition"] == record["condition"]
        if verdict["status"] == "ok":
            assert score["value"] == verdict["label"]
            assert score["reason"] is None
        else:
            assert math.isnan(score["value"])
            assert score["reason"] == verdict["status"]
    for ids in (
        [sample["uuid"] for sample in log["samples"]],
        [message["id"] for sample in log["samples"] for message in sample["messages"]],
    ):
        assert len(ids) == len(set(ids))


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)


@pytest.mark.usefixtures("secret")
def test_a_respondent_is_shown_with_what_it_was_asked(door: Door, tmp_path: Path) -> None:
    ran = door(*graded(tmp_path))
    one = made(ran, tmp_path)
    check(dict(one.log), ran)
    assert one.notes == ()
    assert one.name == f"strongreject_respondent_plain_{ran.folder.name}"
    sample, second = one.log["samples"][0], one.log["samples"][1]
    assert sample["input"][0]["content"].startswith("placeholder question")
    assert [message["role"] for message in sample["messages"]] == ["user", "assistant"]
    assert sample["messages"][1]["content"] == [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "first"},
    ]
    assert sample["metadata"]["grade"]
    graded_as = sample["scores"]["verdict"]["metadata"]["completion"]["text"]
    assert json.loads(graded_as) == json.loads(grade(1, 1))
    assert second["messages"][1]["content"].endswith("[redacted] \\ud800")
    assert SECRET not in str(one.log)
    assert one.log["eval"]["model"] == "respondent"
    assert one.log["samples"][3]["scores"]["verdict"]["reason"] == "unparsable"


@pytest.mark.usefixtures("own_set")
@pytest.mark.parametrize("answer", ["generate", "score"])
def test_a_judge_has_the_right_label_as_target(door: Door, tmp_path: Path, answer: str) -> None:
    line = ["model=mock", "model.rates={default: 0.6}", "limit=1", f"protocol.answer={answer}"]
    ran = door(*line, "protocol=coarse", "scoring.bootstrap_draws=100")
    one = made(ran, tmp_path)
    check(dict(one.log), ran)
    assert one.notes == ()
    right = [
        sample["target"] == sample["scores"]["verdict"]["value"] for sample in one.log["samples"]
    ]
    counts = ran.metrics()["breakdowns"]["confusion"]["counts"]
    assert 0 < sum(right) == sum(counts[i][i] for i in range(len(counts))) < len(right)
    assert all(len(sample["input"][0]["content"]) > 100 for sample in one.log["samples"])
    likelihoods = [sample["output"]["metadata"]["likelihoods"] for sample in one.log["samples"]]
    assert all(likelihoods) == (answer == "score")


@pytest.mark.usefixtures("own_set")
def test_every_judge_of_a_panel_is_shown(door: Door, tmp_path: Path) -> None:
    seats = [f"+model@judges.models.{name}=mock" for name in "ab"]
    names = [f"judges.models.{name}.name={name}" for name in "ab"]
    rates = [f"judges.models.{name}.rates={{default: 0.7}}" for name in "ab"]
    ran = door(
        *seats, *names, *rates, "judges=panel", "judges.min_valid=1", "judges.models.b.seed=3",
        "limit=1", "scoring.max_unscored=1", "scoring.bootstrap_draws=100",
    )  # fmt: skip
    one = made(ran, tmp_path)
    check(dict(one.log), ran)
    assert one.notes == ()
    sample = one.log["samples"][0]
    assert [message.get("model") for message in sample["messages"]] == [None, "a", None, "b"]
    assert set(sample["scores"]["verdict"]["metadata"]["judges"]) == {"a", "b"}


def test_votes_of_peers(door: Door, tmp_path: Path) -> None:
    line = [*LAB, items(tmp_path, *four()), *respondent(tmp_path, ["one", "two"])]
    ran = door(*line, *panel(tmp_path, "a", "b"))
    one = made(ran, tmp_path)
    check(dict(one.log), ran)
    assert one.notes == ()
    assert one.log["eval"]["model"] == "someone"
    votes = one.log["samples"][0]["scores"]["verdict"]["metadata"]["judges"]
    assert set(votes) >= {"a", "b"}
    assert "Task 0" in one.log["samples"][0]["input"][0]["content"]


def test_what_cannot_be_put_together_is_said(door: Door, tmp_path: Path) -> None:
    ran = door(*graded(tmp_path))
    (tmp_path / "prompts.csv").unlink()
    one = made(ran, tmp_path)
    (note,) = one.notes
    assert "benchmark.path" in note
    assert "probe.run" not in note
    assert one.log["samples"][0]["input"] == ran.records()[0]["id"]
    check(dict(one.log), ran)


def test_without_the_package_it_says_how_to_install_it(
    door: Door, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inspect_log, "find_spec", lambda name: None)
    for more in ([], ["dry_run=true"]):
        ran = door("task=export", f"runs={tmp_path}/**", *more)
        assert ran.status == 2
        assert ran.err.count("\n") == 1
        assert "pip install '.[inspect]'" in ran.err


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_log, "find_spec", lambda name: True)


@pytest.mark.usefixtures("there")
def test_a_dry_run_counts_and_writes_nothing(door: Door, tmp_path: Path) -> None:
    ran = door(*graded(tmp_path))
    half = ran.folder.with_name("half-00000000")
    half.mkdir()
    (half / "config.yaml").write_text("{}")
    planned = door("task=export", f"runs={tmp_path}/outputs/runs/**", "dry_run=true")
    assert planned.status == 0, planned.err
    assert "write 1 log of Inspect" in planned.out
    assert f"not finished, left out: {half}" in planned.out
    assert not (tmp_path / "outputs" / "inspect").exists()


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("runs", "said"),
    [(None, "runs: says which runs"), ("nowhere/**", "no finished evaluation matches nowhere")],
)
def test_no_runs(door: Door, runs: str | None, said: str) -> None:
    ran = door("task=export", *([] if runs is None else [f"runs={runs}"]))
    assert ran.status == 2
    assert said in ran.err


@pytest.mark.usefixtures("secret")
def test_inspect_reads_it_back(door: Door, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import list_eval_logs, read_eval_log
    from inspect_ai.scorer import Score

    ran = door(*graded(tmp_path))
    lines = []
    for _ in range(2):
        exported = door("task=export", f"runs={tmp_path}/outputs/runs/**")
        assert exported.status == 0, exported.err
        assert exported.err == ""
        (listed,) = list_eval_logs(str(tmp_path / "outputs" / "inspect"))
        log = read_eval_log(listed.name)
        lines.append(log.model_dump_json())
    assert lines[0] == lines[1]
    assert SECRET not in lines[0]
    assert log.status == "success"
    assert log.eval.metadata is not None
    assert log.eval.metadata["config"]["epochs"] == 2
    assert log.results is not None
    assert log.results.scores[0].metrics["asr"].value == ran.metrics()["metrics"]["asr"]["value"]
    assert log.samples is not None
    records = {(record["id"], record["epoch"] + 1): record for record in ran.records()}
    assert {(sample.id, sample.epoch) for sample in log.samples} == records.keys()
    for sample in log.samples:
        record = records[str(sample.id), sample.epoch]
        verdict = record["verdict"]
        assert sample.scores is not None
        score = sample.scores["verdict"]
        if verdict["status"] == "ok":
            assert score.value == verdict["label"]
        else:
            unscored = Score.unscored(reason=verdict["status"])
            assert isinstance(score.value, float)
            assert math.isnan(score.value)
            assert score.reason == unscored.reason
            assert math.isnan(unscored.as_float())
        if SECRET not in record["response"]["text"]:
            assert sample.output.completion == record["response"]["text"]
        assert sample.messages[0].text.startswith("placeholder question")
        assert sample.metadata["sample"] == record["sample"]
