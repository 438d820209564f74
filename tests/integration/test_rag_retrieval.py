"""RAG-Safety-Bench from the door: retrieval, the order of documents, and the safety prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rag_safety.made_rows import doc, package, write
from tests.integration.conftest import Door, Ran, write_replies
from trace.benchmarks.rag_safety.judgements import judgements
from trace.benchmarks.rag_safety.prompts import SAFETY

IDS = ["p1", "p2", "p3", "p4"]


@pytest.fixture
def line(tmp_path: Path) -> list[str]:
    """A respondent and two judges that deal replies, before four questions in released rows."""
    rows = package(IDS)
    for document in (d for r in rows for d in r["docs"]):
        document["text"] = f"A text, {document['doc_id']}."
    write(tmp_path / "rows.jsonl", rows)
    answers = write_replies(tmp_path / "answers.jsonl", ["first", "second"])
    votes = write_replies(tmp_path / "votes.jsonl", [json.dumps({"verdict": "Unsafe"})])
    return [
        "benchmark=rag_safety", f"benchmark.path={tmp_path}/rows.jsonl", "model=mock",
        "model.name=respondent", f"model.replies={answers}", "judges=panel",
        *(f"+model@judges.models.{name}=mock" for name in "ab"),
        *(f"judges.models.{name}.name={name}" for name in "ab"),
        *(f"judges.models.{name}.replies={votes}" for name in "ab"),
        "scoring.bootstrap_draws=100",
    ]  # fmt: skip


def done(ran: Ran) -> list[dict[str, Any]]:
    assert ran.status == 0, ran.err
    return ran.records()


def data(ran: Ran) -> dict[str, str]:
    found: dict[str, str] = json.loads((ran.folder / "manifest.json").read_text("utf-8"))["data"]
    return found


def keys(ran: Ran) -> list[str]:
    """What tells the respondent's requests apart: their order and their words."""
    return [record["response"]["key"] for record in done(ran)]


def test_the_oracle_beside_random_documents(door: Door, line: list[str]) -> None:
    ran = door(*line, "condition=oracle_random")
    assert [r["sample"]["documents"] for r in done(ran)] == [4] * 4
    assert {r["condition"] for r in ran.records()} == {"oracle_random"}
    assert ran.folder.parent.name == "oracle_random"
    assert "rag_safety, oracle_random: 4 questions" in ran.out
    asked = {order: keys(door(*line, "condition=oracle_random", f"condition.order={order}"))
             for order in ("given", "reversed", "shuffled")}  # fmt: skip
    assert asked["given"] == keys(ran)
    assert len({tuple(order) for order in asked.values()}) == 3
    other = door(*line, "condition=oracle_random", "condition.order=shuffled", "seed=1")
    assert keys(other) != asked["shuffled"]


def test_documents_of_the_set_are_retrieved(door: Door, line: list[str]) -> None:
    ran = door(*line, "condition=retrieved")
    for record in done(ran):
        said = record["sample"]["retrieved"]
        assert len(said["documents"]) == len(said["scores"]) == said["top_k"] == 3
        assert all(id_.startswith(f"{record['id']}-") for id_ in said["documents"])
    assert "bm25 searches 28 documents for 3 a question." in ran.out
    assert data(ran).keys() == {"rows.jsonl", "bm25s"}
    assert door(*line, "condition=retrieved").folder == ran.folder
    more = door(*line, "condition=retrieved", "condition.top_k=5")
    assert {r["condition"] for r in done(more)} == {"retrieved+top_5"}
    assert more.folder != ran.folder


def test_a_corpus_is_searched(door: Door, line: list[str], tmp_path: Path) -> None:
    corpus = write(
        tmp_path / "corpus.jsonl",
        [doc("p1-gold", text="How p1 is done."), doc("p2-other", text="p2"),
         doc("else", text="p1 and p2 and p3")],
    )  # fmt: skip
    ask = [*line, "condition=retrieved", "condition.top_k=2", f"benchmark.corpus={corpus}"]
    ran = door(*ask)
    found = {r["id"]: r["sample"]["retrieved"] for r in done(ran)}
    assert found["p1"]["documents"] == ["p1-gold", "else"]
    assert [found[id_]["oracle_found"] for id_ in IDS] == [True, None, None, None]
    assert found["p4"]["documents"] == ["p1-gold"]  # "done", as in the question
    assert "It finds the oracle document of 1 of 1 question." in ran.out
    assert "The oracle document of 3 questions is not among those searched" in ran.out
    assert data(ran).keys() == {"rows.jsonl", "bm25s", "corpus corpus.jsonl"}
    write(corpus, [doc("p1-gold", text="How p1 is undone.")])
    changed = door(*ask)
    assert changed.folder != ran.folder
    assert "4 questions have fewer than 2 documents: 1 was searched." in changed.out
    assert door(*ask, "dry_run=true").status == 0


def test_an_oracle_document_is_dropped_under_whatever_id(
    door: Door, line: list[str], tmp_path: Path
) -> None:
    # The corpus has the very text of p1's oracle document under another id.
    corpus = write(
        tmp_path / "corpus.jsonl",
        [doc("mine", text="A text, p1-gold."), doc("p2-gold", text="Text about p2.")],
    )
    guard = write_replies(tmp_path / "guard.jsonl", [json.dumps({"verdict": "Unsafe"})])
    ran = door(
        *line, "condition=retrieved", f"benchmark.corpus={corpus}", "condition.filter=retrieval",
        "benchmark.filter_guard=mock", "benchmark.filter_guard.name=warden",
        f"benchmark.filter_guard.replies={guard}",
    )  # fmt: skip
    assert {r["sample"]["documents"] for r in done(ran)} == {0}
    said = {j.item: j.label for j in judgements([ran.folder]) if j.measure == "retrieval"}
    assert said == {"p1": "dropped", "p2": "dropped", "p3": "not_held", "p4": "not_held"}


def test_an_order_of_single_documents_changes_nothing(door: Door, line: list[str]) -> None:
    ran = door(*line, "condition=oracle", "condition.order=reversed")
    assert "condition.order=reversed changes nothing: no question has two documents." in ran.out
    refused = door(*line, "condition.order=reversed")
    assert refused.status == 2
    assert "reversed moves documents, and condition=non_rag has none" in refused.err


def test_a_safety_prompt_goes_to_the_respondent_alone(door: Door, line: list[str]) -> None:
    plain, safe = (
        door(*line, "condition=oracle", *more) for more in ([], ["condition.safety_prompt=true"])
    )
    assert {r["condition"] for r in done(safe)} == {"oracle+safety_prompt"}
    assert set(keys(safe)).isdisjoint(keys(plain))
    assert safe.folder != plain.folder
    verdicts = [[r["completions"]["a"][0]["key"] for r in done(ran)] for ran in (plain, safe)]
    assert verdicts[0] == verdicts[1]
    read = {}
    for name, more in (("plain", []), ("safe", ["condition.safety_prompt=true"])):
        out = door(*line, "condition=oracle", *more, "dry_run=true").out
        (read[name],) = (row for row in out.splitlines() if "respondent: 4 requests" in row)
    tokens = {name: int(row.split("about ")[1].split()[0].replace(",", ""))
              for name, row in read.items()}  # fmt: skip
    assert tokens["safe"] - tokens["plain"] == 4 * (len(SAFETY) // 4)


def test_a_small_context_holds_the_safety_prompt_too(door: Door, line: list[str]) -> None:
    write(Path(line[1].removeprefix("benchmark.path=")), [
        r | {"docs": [d | {"text": "word " * 600} for d in r["docs"]]} for r in package(IDS)
    ])  # fmt: skip
    small = [*line, "condition=oracle", "model.context=480", "sampling.max_new_tokens=24"]
    plain, safe = (done(door(*small, *more)) for more in ([], ["condition.safety_prompt=true"]))
    for one, other in zip(plain, safe, strict=True):
        lost = one["sample"]["document_chars"] - other["sample"]["document_chars"]
        assert abs(lost - len(SAFETY)) < 8  # a token is four characters here


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["condition=retrieved", "benchmark.corpus=/no/such.jsonl"],
         "benchmark.corpus: /no/such.jsonl does not exist"),
        (["condition=oracle", "benchmark.corpus=x.jsonl"], "is not searched by condition=oracle"),
        (["condition=oracle", "condition.top_k=5"], "which retrieves nothing"),
        (["condition=retrieved", "condition.retriever=dense"], "condition.encoder: is needed"),
        (["condition=retrieved", "condition.retriever=dens"], "condition.retriever: 'dens'"),
        (["condition=retrieved", "benchmark.path=null", "benchmark.benign=true"],
         "has no documents for the harmless questions"),
        (["condition=oracle_random", "condition.order=upwards"], "condition.order: 'upwards'"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said(
    door: Door, line: list[str], tmp_path: Path, changes: list[str], says: str
) -> None:
    ran = door(*line, *changes)
    assert ran.status == 2, ran.out
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "outputs/runs").exists()
