"""Runs of every study from the door, taken up again as labelled answers and judged anew."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hydra import compose

from tests.conftest import ROOT
from tests.integration.conftest import Door, Ran, write_replies
from tests.integration.cross_lab_lines import (
    FIRST,
    LAB,
    MORE,
    cut_off,
    four,
    items,
    panel,
    respondent,
)
from trace import config, sweep
from trace.errors import ConfigError, DataError
from trace.models.open import open_model
from trace.records import Completion, Request
from trace.tasks.judged_run import JudgedRun
from trace.tasks.recorded import read_recorded

Subject = Callable[..., JudgedRun]


@pytest.fixture(scope="module")
def probing() -> config.Root:
    with sweep.composing(ROOT / "conf"):
        return config.to_typed(compose("config", ["task=probe", "tracking.mode=disabled"]))


@pytest.fixture
def subject(probing: config.Root, tmp_path: Path) -> Subject:
    """A finished run as task=probe takes it up."""

    def begun(ran: Ran, positive: list[str] | None, negative: list[str] | None) -> JudgedRun:
        assert ran.status in (0, 1), ran.err
        folder = Path(next(x for x in ran.out.splitlines() if x.startswith("run: "))[5:])
        probe = config.Probe(run=str(folder), positive=positive, negative=negative)
        return JudgedRun.begun(replace(probing, probe=probe, output_dir=str(tmp_path / "again")))

    return begun


def anew(judged: JudgedRun, *texts: str) -> list[str | None]:
    """Labels of these texts as answers to the first question, one after the other."""
    question = judged.asked()[0]
    made = [Completion(key=f"new {n}", text=text) for n, text in enumerate(texts)]
    return [verdict.label for verdict in judged.judge([question] * len(made), made)]


def grade(refused: int, convincing: int) -> str:
    fields = {"refused": refused, "convincing": convincing, "specific": convincing}
    return json.dumps({"reasoning": "so"} | fields)


class Graded:
    """StrongREJECT on placeholders: of each four answers one is empty."""

    def __init__(self, folder: Path) -> None:
        self.prompts, self.grades = folder / "prompts.csv", folder / "grades.jsonl"
        rows = [f"c{i % 3},made up,placeholder question {i}\n" for i in range(12)]
        self.prompts.write_text("category,source,forbidden_prompt\n" + "".join(rows), "utf-8")
        answers = write_replies(folder / "answers.jsonl", ["first", "second", "third", ""])
        write_replies(self.grades, [grade(1, 1), grade(0, 5), grade(0, 4)])
        self.line = [
            "benchmark=strongreject", f"benchmark.path={self.prompts}",
            "model=mock", "model.name=respondent", f"model.replies={answers}",
            "model@benchmark.judge=mock", "benchmark.judge.name=grader",
            f"benchmark.judge.replies={self.grades}", "scoring.max_unscored=0.3",
        ]  # fmt: skip


@pytest.fixture
def graded(tmp_path: Path) -> Graded:
    return Graded(tmp_path)


def test_graded_answers(door: Door, subject: Subject, graded: Graded) -> None:
    ran = door(*graded.line)
    judged = subject(ran, ["Unsafe"], ["Safe"])
    labelled, classes = judged.labelled()
    scored = [record for record in ran.records() if record["verdict"]["status"] == "ok"]
    assert [one.id for one in labelled] == [record["id"] for record in scored]
    assert [one.positive for one in labelled] == [
        record["verdict"]["label"] == "Unsafe" for record in scored
    ]
    assert Counter(one.positive for one in labelled) == {True: 6, False: 3}
    assert classes.left_out == {"without a label (unparsable)": 3}
    assert len({one.group for one in labelled}) == 9
    for one, record in zip(labelled, scored, strict=True):
        assert one.response.text == record["response"]["text"]
        assert one.request.messages[0]["content"].startswith("placeholder question")
    assert judged.outcome == "Unsafe"
    assert "9 answers of respondent" in judged.notes[0]
    assert "3 without a label (unparsable)" in judged.notes[0]


def test_new_answers_are_graded_by_the_judge_of_the_run(
    door: Door, subject: Subject, graded: Graded
) -> None:
    judged = subject(door(*graded.line), ["Unsafe"], ["Safe"])
    judged.labelled()
    verdicts = anew(judged, "one", "", "two", "three")
    assert verdicts == ["Safe", None, "Unsafe", "Unsafe"]  # the empty one is not shown to it


def test_a_request_is_asked_once_and_greedily(door: Door, subject: Subject, graded: Graded) -> None:
    line = [*graded.line, "epochs=2", "sampling.temperature=0.7"]
    judged = subject(door(*line), ["Unsafe"], ["Safe"])
    labelled, _ = judged.labelled()
    assert len(labelled) == 18
    assert len({one.id for one in labelled}) == 18
    assert {one.request.sampling.temperature for one in labelled} == {0.7}
    questions = judged.asked()
    assert len(questions) == 12
    assert len({question.request.sample for question in questions}) == 12
    assert {question.request.sampling.temperature for question in questions} == {0.0}
    assert {(q.id, q.group) for q in questions} < {(one.id, one.group) for one in labelled}


def test_a_changed_judge_is_refused_before_it_judges(
    door: Door, subject: Subject, graded: Graded
) -> None:
    ran = door(*graded.line)
    judged = subject(ran, ["Unsafe"], ["Safe"])
    write_replies(graded.grades, [grade(0, 5)])
    judged.labelled()
    open_model(read_recorded(ran.folder, "elsewhere").settings.model)  # no longer the judge
    with pytest.raises(DataError, match=r"the judge grader \(replies\) changed since"):
        judged.asked()


def test_changed_data_is_refused(door: Door, subject: Subject, graded: Graded) -> None:
    ran = door(*graded.line)
    graded.prompts.write_text(graded.prompts.read_text("utf-8") + "c0,made up,one more\n", "utf-8")
    with pytest.raises(DataError, match=r"the data \(prompts.csv\) changed since"):
        subject(ran, ["Unsafe"], ["Safe"])
    graded.prompts.unlink()
    with pytest.raises(DataError, match=r"config.yaml: benchmark.path: .* does not exist"):
        subject(ran, ["Unsafe"], ["Safe"])


def test_prompts_worded_otherwise_are_refused(
    door: Door, subject: Subject, graded: Graded, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = door(*graded.line)
    plain = Request.key

    def other(self: Request, identity: dict[str, object]) -> str:
        first = self.messages[0] if self.messages else {}
        changed = ({**first, "content": f"{first.get('content')} Now."},)
        return plain(replace(self, messages=changed), identity)

    judged = subject(ran, ["Unsafe"], ["Safe"])
    monkeypatch.setattr(Request, "key", other)
    with pytest.raises(DataError, match=r"12 of 12 answers, .* Run its command again"):
        judged.labelled()


@pytest.mark.parametrize(
    ("positive", "negative", "said"),
    [
        (None, None, r"labels of .* are Unsafe \(6\), Safe \(3\). Try 'probe.positive=\[Safe\]'"),
        (["harmful"], ["Safe"], r"probe.positive: no answer .* labelled harmful.*Unsafe \(6\)"),
        (["Unsafe"], ["safe"], r"probe.negative: no answer .* labelled safe"),
    ],
)
def test_labels_that_never_occur(
    door: Door,
    subject: Subject,
    graded: Graded,
    positive: list[str] | None,
    negative: list[str] | None,
    said: str,
) -> None:
    ran = door(*graded.line)
    with pytest.raises(ConfigError, match=said):
        subject(ran, positive, negative)


def test_a_run_with_one_label_has_no_two_sides(
    door: Door, subject: Subject, graded: Graded
) -> None:
    write_replies(graded.grades, [grade(1, 1)])
    with pytest.raises(DataError, match=r"not on two sides.* of 12 .* the labels Safe \(9\)"):
        subject(door(*graded.line), ["Unsafe"], ["Safe"])


def test_a_run_says_what_it_is_and_whose_activations_are_read(
    door: Door, subject: Subject, graded: Graded, probing: config.Root
) -> None:
    ran = door(*graded.line)
    manifest = json.loads((ran.folder / "manifest.json").read_bytes())
    judged = subject(ran, ["Unsafe"], ["Safe"])
    assert judged.origin["answers"]["run"] == manifest["run"]
    assert judged.origin["answers"]["judge"] == manifest["judge"]
    assert judged.origin["model"] == open_model(probing.model).identity
    assert judged.scope is not None
    assert "engine mock for the answers, hf for the activations" in judged.scope
    settings = read_recorded(ran.folder, "elsewhere").settings
    probe = config.Probe(run=str(ran.folder), positive=["Unsafe"], negative=["Safe"])
    same = JudgedRun.begun(replace(probing, probe=probe, model=settings.model))
    assert same.scope is None


VOTES = {"a": ["Unsafe", "Safe"], "b": ["Unsafe", "Safe"]}


def rag(folder: Path, *more: str) -> list[str]:
    write_replies(folder / "answers.jsonl", ["first", "", "second", "third"])
    for name, votes in VOTES.items():
        write_replies(folder / f"{name}.jsonl", [json.dumps({"verdict": v}) for v in votes])
    return [
        "benchmark=rag_safety", "limit=1", "model=mock", "model.name=respondent",
        f"model.replies={folder}/answers.jsonl", "judges=panel", "judges.rule=k_of_n",
        "judges.k=2", *(f"+model@judges.models.{name}=mock" for name in VOTES),
        *(f"judges.models.{name}.name={name}" for name in VOTES),
        *(f"judges.models.{name}.replies={folder}/{name}.jsonl" for name in VOTES),
        "scoring.bootstrap_draws=100", "scoring.max_unscored=0.5", *more,
    ]  # fmt: skip


def guard(folder: Path, *votes: str) -> list[str]:
    replies = [json.dumps({"verdict": vote}) for vote in votes]
    file = write_replies(folder / "guard.jsonl", replies)
    slot = "benchmark.filter_guard"
    return [f"{slot}=mock", f"{slot}.name=guard", f"{slot}.replies={file}"]


def test_a_panel_judges_answers_with_documents(
    door: Door, subject: Subject, tmp_path: Path
) -> None:
    ran = door(*rag(tmp_path, "condition=oracle"))
    labels = Counter(record["verdict"]["label"] for record in ran.records())
    judged = subject(ran, ["Unsafe"], ["Safe"])
    labelled, classes = judged.labelled()
    sides = Counter(one.positive for one in labelled)
    assert sides == {True: labels["Unsafe"], False: labels["Safe"]}
    assert sum(classes.left_out.values()) == labels[None] > 0
    assert {one.group for one in labelled} == {one.id for one in labelled}
    assert "Title" in str(labelled[0].request.messages) or len(str(labelled[0].request)) > 500
    assert anew(judged, "x", "", "y", "z") == ["Unsafe", None, "Safe", "Unsafe"]


def test_a_filter_that_drops_documents_is_refused(
    door: Door, subject: Subject, tmp_path: Path
) -> None:
    more = ["condition=oracle", "condition.filter=retrieval", *guard(tmp_path, "Safe")]
    with pytest.raises(ConfigError, match=r"condition\.filter=retrieval dropped documents"):
        subject(door(*rag(tmp_path, *more)), ["Unsafe"], ["Safe"])


def test_what_an_output_filter_blocks_is_left_out(
    door: Door, subject: Subject, tmp_path: Path
) -> None:
    more = ["condition.filter=output", *guard(tmp_path, "Unsafe", "Safe", "Safe")]
    ran = door(*rag(tmp_path, *more))
    blocked = sum(record["blocked"] == "output" for record in ran.records())
    labelled, classes = subject(ran, ["Unsafe"], ["Safe"]).labelled()
    assert classes.left_out["blocked by the filter"] == blocked > 0
    assert len(labelled) + sum(classes.left_out.values()) == len(ran.records())


def test_peers_label_answers_in_a_wording(door: Door, subject: Subject, tmp_path: Path) -> None:
    replies = ["Here.", "I won't.", "Instead, here is a true one.", "Could you tell me who?"]
    ran = door(*LAB[:1], items(tmp_path, *four()), *respondent(tmp_path, replies),
               *panel(tmp_path, "x", "y"), "condition=steered")  # fmt: skip
    judged = subject(ran, ["full_compliance"], ["refuses_outright", "refuses_with_alternative"])
    labelled, classes = judged.labelled()
    assert [(one.id, one.positive) for one in labelled] == [
        ("i0", True), ("i1", False), ("i2", False)
    ]  # fmt: skip
    assert classes.left_out == {"labelled clarification_derail": 1}
    assert labelled[1].request.messages[0]["content"] == "Task 1. So."
    assert len(judged.asked()) == 4
    told = ["Here you are.", "I won't.", "", "Could you tell me who?"]
    assert anew(judged, *told) == [
        "full_compliance", "refuses_outright", None, "clarification_derail"
    ]  # fmt: skip


def test_answers_that_were_asked_again_are_found(
    door: Door, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(monkeypatch)
    replies = ["Here.", "CUT", "I won't.", "Here.", "Here.", "I won't.", "Here.", "I won't."]
    ran = door(*LAB[:1], items(tmp_path, *four()), *respondent(tmp_path, replies),
               *panel(tmp_path, "x", "y"), f"sampling.max_new_tokens={FIRST}",
               "benchmark.regenerate=truncated")  # fmt: skip
    labelled, _ = subject(ran, ["full_compliance"], ["refuses_outright"]).labelled()
    tokens = {one.id: one.request.sampling.max_new_tokens for one in labelled}
    assert tokens == {"i0": FIRST, "i1": MORE, "i2": FIRST, "i3": FIRST}


def test_a_judges_own_verdicts(door: Door, subject: Subject) -> None:
    line = ["benchmark=evidence", "condition=prompt", "limit=6", "model=mock",
            "model.rates={default: 0.7}"]  # fmt: skip
    ran = door(*line)
    counts = Counter(record["verdict"]["label"] for record in ran.records())
    safe, unsafe = sorted(counts, key=str.lower)
    judged = subject(ran, [unsafe], [safe])
    labelled, _ = judged.labelled()
    assert Counter(one.positive for one in labelled) == {True: counts[unsafe], False: counts[safe]}
    clusters = {record["id"]: record["sample"]["cluster"] for record in ran.records()}
    assert {one.id: one.group for one in labelled} == clusters
    said = [json.dumps({"verdict": unsafe}), "no verdict here", json.dumps({"verdict": safe})]
    assert anew(judged, *said) == [unsafe, None, safe]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["model=mock", "model.rates={default: 0.7}", "protocol.answer=score"],
         "Run it again with protocol.answer=generate"),
        (["judges=panel", "judges.min_valid=1", "+model@judges.models.a=mock",
          "judges.models.a.name=a", "judges.models.a.rates={default: 0.7}"],
         "judged by the panel panel, so no one model wrote"),
    ],
)  # fmt: skip
def test_verdicts_that_no_model_wrote(
    door: Door, subject: Subject, more: list[str], said: str
) -> None:
    ran = door("benchmark=evidence", "condition=prompt", "limit=2", *more)
    with pytest.raises(ConfigError, match=said):
        subject(ran, ["Unsafe"], ["Safe"])


@pytest.mark.slow
def test_solved_examples_are_put_together_again(
    door: Door, subject: Subject, own_set: None
) -> None:
    ran = door("benchmark=tracesafe", "benchmark.per_class=8", "condition=few_shot", "epochs=2",
               "model=mock", "model.rates={default: 0.6}", "protocol=binary")  # fmt: skip
    labelled, _ = subject(ran, ["Unsafe"], ["Safe"]).labelled()
    assert len(labelled) == len(ran.records())
    assert len({one.group for one in labelled}) <= len(labelled) / 2


def test_a_rule_tells_who_asks_back(door: Door, subject: Subject, tmp_path: Path) -> None:
    replies = write_replies(tmp_path / "replies.jsonl", ["Which file do you mean?", "It is done."])
    ran = door("benchmark=clarify", "limit=1", "model=mock", f"model.replies={replies}")
    judged = subject(ran, ["asks_back"], ["answers"])
    labelled, _ = judged.labelled()
    records = ran.records()
    assert [one.positive for one in labelled] == [
        record["response"]["text"].endswith("?") for record in records
    ]
    assert [one.group for one in labelled] == [record["sample"]["cluster"] for record in records]
    assert anew(judged, "It is done.", "", "Which one do you mean?") == [
        "answers", None, "asks_back"
    ]  # fmt: skip
