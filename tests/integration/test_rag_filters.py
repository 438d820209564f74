"""A guard before and behind a respondent, from the door.

Every other answer is the expected one, which the set's own rule calls unsafe: what a filter takes
away can be counted.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.conftest import Door, write_replies
from tests.integration.filter_study import FilterStudy, dataset, fine
from trace import config
from trace.benchmarks.rag_safety import samples
from trace.benchmarks.rag_safety.judgements import judgements
from trace.config import RagCondition
from trace.errors import DataError
from trace.tasks.answering import Answering


@pytest.fixture
def study(tmp_path: Path) -> FilterStudy:
    return FilterStudy(tmp_path)


def test_answers_that_a_guard_flags_are_not_delivered(door: Door, study: FilterStudy) -> None:
    bare = door(*study.line())
    plain = fine(bare)
    assert (plain["harm"]["value"], plain["accuracy"]["value"]) == (0.5, 0.5)
    ran = door(*study.line(place="output"), *study.guard({0, 2, 5}, 20, frozenset({6})))
    metrics, records = fine(ran), ran.records()
    assert [i for i, r in enumerate(records) if r["blocked"]] == [0, 2, 5]
    assert {r["blocked"] for r in records} == {None, "output"}
    assert (metrics["harm"]["value"], metrics["harm"]["n"]) == (0.4, 20)  # two of three were unsafe
    assert (metrics["accuracy"]["value"], metrics["accuracy"]["n"]) == (0.4, 20)
    assert (metrics["blocked"]["value"], metrics["filter_unscored"]["value"]) == (0.15, 0.05)
    assert records[6]["filter"][0]["status"] == "unparsable"
    assert records[6]["verdict"]["label"] == "Unsafe"  # it went on
    assert [r["response"]["text"] for r in records] == study.answers
    assert records[0]["judges"] == {}
    assert (records[0]["verdict"]["status"], records[0]["verdict"]["label"]) == ("ok", "Safe")
    assert records[0]["accuracy"]["label"] == "inaccurate"
    assert records[0]["phrases"] is records[0]["keys"] is None
    assert {r["condition"] for r in records} == {"oracle+filter_output"}
    assert {r["sample"]["condition"] for r in records} == {"oracle+filter_output"}
    assert ran.folder.parent == bare.folder.parent
    assert ran.folder != bare.folder
    assert "note: warden blocked 3 of 20 answers." in ran.out
    assert "note: warden gave no verdict on 1 of 20 answers, which went on" in ran.out
    assert "What condition.filter blocks counts as an answer without harm" in ran.out
    report = (ran.folder / "report.md").read_text("utf-8")
    assert "rag_safety/respondent/oracle+filter_output/binary judged by panel" in report
    assert "warden blocked 3 of 20 answers" in report
    assert "Blocked, of the answers" in report
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["filter"]["engine"] == "mock"
    assert manifest["prompt"].keys() == {"question", "harm", "filter"}
    assert "filter" in manifest["seconds"]


def test_requests_that_a_guard_flags_are_not_put_to_the_respondent(
    door: Door, study: FilterStudy
) -> None:
    ran = door(*study.line(place="input"), *study.guard({0, 1, 4}, 20))
    metrics, records = fine(ran), ran.records()
    assert (metrics["harm"]["value"], metrics["blocked"]["value"]) == (0.4, 0.15)
    assert len(study.logged("respondent")) == 17
    for i, record in enumerate(records):
        if i in (0, 1, 4):
            assert (record["blocked"], record["response"]) == ("input", None)
        else:
            assert (record["blocked"], record["response"]["text"]) == (None, study.answers[i])
    assert ran.metrics()["breakdowns"]["finish"]["stop"] == 17
    nobody = door(*study.line(place="input"), *study.guard(set(range(20)), 20))
    assert fine(nobody)["harm"]["value"] == 0
    assert len(study.logged("respondent")) == 17


def test_documents_that_a_guard_flags_leave_their_question(door: Door, study: FilterStudy) -> None:
    # The second document of every question, and all of the fourth.
    flagged = {3 * i + 1 for i in range(20)} | {9, 10, 11}
    ran = door(*study.line("on_topic", "retrieval"), *study.guard(flagged, 60))
    metrics, records = fine(ran), ran.records()
    rows = dataset("on_topic").rows
    for i, record in enumerate(records):
        shown = rows[record["id"]].documents
        left = [d for n, d in enumerate(shown) if n != 1 and i != 3]
        assert record["dropped"] == [d.id for d in shown if d not in left]
        assert record["sample"]["documents"] == len(left)
        assert record["sample"]["document_chars"] == sum(len(d.text) for d in left)
        assert [f["document"] for f in record["filter"]] == [d.id for d in shown]
    assert ran.metrics()["breakdowns"]["dropped"] == {
        "documents": 22, "any": 20, "all": 1, "questions": 20
    }  # fmt: skip
    assert metrics["blocked"]["value"] is None
    assert metrics["filter_unscored"]["n"] == 60
    assert "note: warden dropped 22 of 60 documents." in ran.out
    assert "22 documents; of 20 questions 20 lost any, 1 all" in ran.out
    assert len(study.logged("respondent")) == 20


def test_documents_that_a_guard_flags_leave_the_corpus(door: Door, study: FilterStudy) -> None:
    settings = config.RagSafety()
    held = samples.documents(settings, RagCondition(name="oracle", retrieval="oracle"))
    assert len(held) == 40  # of all questions, whatever limit draws
    flagged = {i for i in range(40) if i % 4 == 0}
    gone = {held[i].id for i in flagged}
    ran = door(*study.line(place="corpus"), *study.guard(flagged, 40))
    fine(ran)
    assert len(study.logged("warden")) == 40
    for record in ran.records():
        dropped = [id_ for id_ in [record["sample"]["oracle"]] if id_ in gone]
        assert record["dropped"] == dropped
        assert record["sample"]["documents"] == 1 - len(dropped)
    counted = ran.metrics()["breakdowns"]["dropped"]
    assert counted["any"] == counted["all"] == counted["documents"] > 0


def test_a_retriever_does_not_find_what_left_the_corpus(door: Door, study: FilterStudy) -> None:
    plain = door(*study.line("retrieved"))
    found = fine(plain)["oracle_found"]
    before = {r["id"]: r["sample"]["retrieved"] for r in plain.records()}
    assert found["value"] == sum(b["oracle_found"] for b in before.values()) / 20 > 0
    retrieved = RagCondition(name="retrieved", retrieval="retrieved")
    held = samples.documents(config.RagSafety(), retrieved)
    oracles = {r["sample"]["oracle"] for r in plain.records()}
    flagged = {i for i, document in enumerate(held) if document.id in oracles}
    ran = door(*study.line("retrieved", "corpus"), *study.guard(flagged, len(held)))
    metrics = fine(ran)
    for record in ran.records():
        now = record["sample"]["retrieved"]["documents"]
        assert not oracles & set(now)
        assert len(now) == 3  # others take their place
        assert record["dropped"] == [d for d in before[record["id"]]["documents"] if d in oracles]
    assert metrics["oracle_found"]["value"] == found["value"]  # of the whole corpus
    assert (ran.out.count("It finds"), ran.out.count("not among those searched")) == (1, 0)
    said = {j.item: j.label for j in judgements([ran.folder]) if j.measure == "retrieval"}
    assert said == {
        id_: "dropped" if one["oracle_found"] else "missed" for id_, one in before.items()
    }
    assert ran.metrics()["breakdowns"]["dropped"]["all"] == 0
    one_by_one = door(*study.line("retrieved", "retrieval"), *study.guard({0}, 60))
    assert fine(one_by_one)["oracle_found"]["value"] == found["value"]  # found, then dropped
    assert [r["sample"]["documents"] for r in one_by_one.records()] == [2, *[3] * 19]


@pytest.mark.parametrize("place", ["corpus", "output"])
def test_after_an_interruption_nothing_is_asked_twice(
    door: Door, study: FilterStudy, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    line = [*study.line(place=place), *study.guard({0, 3}, 20)]

    def stops(*_: object) -> None:
        raise DataError("it stops here. Go on.")

    with monkeypatch.context() as patch:
        patch.setattr(Answering, "sit", stops)
        assert door(*line).status == 2
    asked = {name: study.logged(name) for name in ("respondent", "warden")}
    assert len(asked["warden"]) == (40 if place == "corpus" else 20)
    ran = door(*line)
    kept = {p.name: p.read_bytes() for p in ran.folder.iterdir() if p.is_file()}
    assert {name: study.logged(name) for name in asked} == asked
    assert door(*line).folder == ran.folder
    assert {p.name: p.read_bytes() for p in ran.folder.iterdir() if p.is_file()} == kept
    (log,) = (study.folder / "outputs/completions/warden").iterdir()
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:4]))
    assert door(*line).folder == ran.folder
    assert sorted(study.logged("warden")) == sorted(asked["warden"])
    for name in ("records.jsonl", "metrics.json", "report.md"):
        assert (ran.folder / name).read_bytes() == kept[name]


def test_another_guard_or_place_is_another_run(door: Door, study: FilterStudy) -> None:
    folders = [door(*study.line()).folder]
    for place, flagged in (("input", {0}), ("output", {0}), ("output", {1})):
        folders.append(door(*study.line(place=place), *study.guard(flagged, 20)).folder)
    assert len(set(folders)) == 4
    assert len({folder.parent for folder in folders}) == 1


def test_a_guard_with_a_template_of_its_own(door: Door, study: FilterStudy) -> None:
    says = "Harmful request: {}\nResponse refusal: no\nHarmful response: {}"
    replies = [says.format("no", "yes"), says.format("yes", "no"), says.format("no", "no")]
    guard = [
        *study.model("filter_guard", "wild", replies),
        "benchmark.filter_guard.guard=wildguard",
    ]
    ran = door(*study.line(place="output"), *guard)
    fine(ran)
    assert [r["blocked"] for r in ran.records()] == (["output", None, None] * 7)[:20]
    ran = door(*study.line(place="input"), *guard)
    fine(ran)
    assert [r["blocked"] for r in ran.records()] == ([None, "input", None] * 7)[:20]
    assert "note: wild: prompt" in ran.out
    left_out = door(*study.line(place="input"), *guard, "protocol=schema")
    assert (left_out.status, left_out.err.startswith("unsupported: ")) == (0, True)


def test_every_epoch_is_screened_behind_the_respondent(door: Door, study: FilterStudy) -> None:
    more = ["epochs=2", "sampling.temperature=0.7"]
    ran = door(*study.line(place="output"), *study.guard({0, 3}, 40), *more)
    fine(ran)
    stopped = [(r["id"], r["epoch"]) for r in ran.records() if r["blocked"]]
    ids = [sample.id for sample in dataset("oracle").samples]
    assert stopped == [(ids[0], 0), (ids[1], 1)]
    before = door(*study.line(place="input"), *study.guard({0, 3}, 20), *more)
    fine(before)
    stopped = [(r["id"], r["epoch"]) for r in before.records() if r["blocked"]]
    assert stopped == [(ids[i], epoch) for i in (0, 3) for epoch in (0, 1)]


def test_a_broken_answer_is_not_shown_to_the_guard(door: Door, study: FilterStudy) -> None:
    write_replies(study.folder / "answers.jsonl", [*study.answers[:19], ""])
    ran = door(*study.line(place="output"), *study.guard({0}, 20))
    metrics, (*_, last) = fine(ran), ran.records()
    assert (last["blocked"], last["verdict"]["status"], last["filter"]) == (
        None,
        "unparsable",
        None,
    )
    assert metrics["filter_unscored"]["n"] == 19
    assert (metrics["blocked"]["n"], metrics["coverage"]["value"]) == (20, 0.95)


def test_fitting_comes_after_dropping(door: Door, study: FilterStudy) -> None:
    small = ["model.context=980", "sampling.max_new_tokens=24"]
    plain = door(*study.line("on_topic"), *small)
    fine(plain)
    assert "messages did not fit into 700 tokens" in plain.out
    flagged = {3 * i + n for i in range(20) for n in (1, 2)}
    ran = door(*study.line("on_topic", "retrieval"), *small, *study.guard(flagged, 60))
    fine(ran)
    assert "did not fit" not in ran.out
    assert [r["sample"]["cut"] for r in ran.records()] == [0] * 20


@pytest.mark.parametrize(
    ("retrieval", "place", "requests"),
    [("oracle", "corpus", 40), ("oracle", "input", 20), ("on_topic", "retrieval", 60),
     ("oracle", "output", 40)],
)  # fmt: skip
def test_a_dry_run_counts_the_filter(
    door: Door, study: FilterStudy, retrieval: str, place: str, requests: int
) -> None:
    judge = study.model("actionability_judge", "doer", ["{}"])
    line = [*study.line(retrieval, place), *study.guard(set(), 20), *judge, "epochs=2"]
    ran = door(*line, "dry_run=true")
    assert ran.status == 0, ran.err
    assert f"warden (filter): {requests} requests" in ran.out
    assert "actionability (judge): 40 requests" in ran.out
    assert not (study.folder / "outputs").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["condition.filter=output"], "condition.filter: output has no guard"),
        (["benchmark.filter_guard=llama_guard_3_1b"], "benchmark.filter_guard: has no place"),
        (["condition.filter=output", "benchmark.filter_guard=own_rule"],
         "benchmark.filter_guard: own_rule is no model"),
        (["benchmark.actionability_judge=own_rule"],
         "benchmark.actionability_judge: own_rule is no model"),
        (["condition=non_rag", "condition.filter=corpus",
          "benchmark.filter_guard=llama_guard_3_1b"], "condition=non_rag has none"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said(
    door: Door, study: FilterStudy, changes: list[str], says: str
) -> None:
    ran = door(*study.line(), *changes)
    assert ran.status == 2, ran.out
    assert says in ran.err
    assert not (study.folder / "outputs/runs").exists()
