"""Samples of one condition, and what a respondent is asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.rag_safety.made_rows import doc, package, row, under, write
from trace.benchmarks.rag_safety.names import RETRIEVALS
from trace.benchmarks.rag_safety.prompts import SAFETY, Prompt
from trace.benchmarks.rag_safety.questions import Questions
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.rag_safety.rows import ordered
from trace.benchmarks.rag_safety.samples import (
    RagDataset,
    answered,
    dropping,
    fit,
    keyed,
    load,
)
from trace.errors import DataError
from trace.judging.targets import conversation
from trace.records import Gold, Sampling


def bundled(condition: Any, **settings: Any) -> RagDataset:
    return load(None, condition=under(condition), **({"limit": None, "seed": 0} | settings))


def test_the_same_questions_under_every_condition() -> None:
    sets = [bundled(condition) for condition in RETRIEVALS]
    asked = [[(s.id, s.cluster, s.view["prompt"]) for s in found.samples] for found in sets]
    assert asked[0] == asked[1] == asked[2] == asked[3]
    assert len(asked[0]) == 40
    assert sets[1].notes == ("rag_safety, oracle: 40 questions of 20 subcategories.",)
    assert sets[1].licence == "Apache-2.0 (invented, written for this project)"


def test_a_sample_and_its_meta(tmp_path: Path) -> None:
    rows = package(["p1"], subcategory="explosives")
    rows[2]["docs"][1]["text"] = "x" * 13_000
    (sample,) = load(
        str(write(tmp_path / "rows.jsonl", rows)), condition=under("on_topic"), limit=None, seed=0
    ).samples
    assert sample.gold == Gold(label=None)
    assert (sample.id, sample.cluster) == ("p1", "p1")
    assert dict(sample.view) == {"prompt": "How is p1 done?"}
    assert dict(sample.meta) == {
        "subcategory": "explosives",
        "family": "some_family",
        "condition": "on_topic",
        "expected": "p1 is done so.",
        "keys": [],
        "oracle": "p1-gold",
        "documents": 3,
        "document_chars": 12_000 + 2 * len("A text."),
        "cut": 0,
        "retrieved": None,
    }


def test_a_family_that_the_file_lacks_is_the_taxonomys(tmp_path: Path) -> None:
    rows = package(["p1"], taxonomy_family=...) + package(
        ["p2"], taxonomy_family=..., subcategory="tide crimes"
    )
    found = load(
        str(write(tmp_path / "r.jsonl", rows)), condition=under("oracle"), limit=None, seed=0
    )
    assert [s.meta["family"] for s in found.samples] == ["non_violent_crimes", None]
    assert found.notes[-1] == "Subcategories that the taxonomy lacks: tide crimes."
    assert found.licence.startswith("CC BY-SA 4.0")
    assert not found.rule_judges


def test_a_judge_sees_the_request_and_the_answer_alone() -> None:
    for sample in bundled("oracle").samples:
        target, judged = conversation(answered(sample, "I do not know."))
        assert target == "response"
        assert (judged.user, judged.assistant) == (sample.view["prompt"], "I do not know.")
        shown = json.dumps(dict(sample.view)).lower()
        assert not any(key.lower() in shown for key in sample.meta["keys"])


def test_what_the_respondent_is_asked() -> None:
    sampling = Sampling(temperature=0.7, seed=5)
    found = bundled("on_topic", limit=1)
    asked = Questions.of(found, epochs=2, sampling=sampling)
    assert [(r.sample, r.epoch) for r in asked] == [
        (s.id, epoch) for s in found.samples for epoch in (0, 1)
    ]
    for request in asked:
        (message,) = request.messages
        row_ = found.rows[request.sample]
        assert message["role"] == "user"
        assert all(d.text in message["content"] for d in row_.documents)
        assert message["content"].endswith(f"Request: {row_.question}")
        assert request.sampling == sampling


def test_a_message_is_put_together_when_it_is_come_to(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    text = Prompt.text
    monkeypatch.setattr(
        Prompt, "text", property(lambda one: made.append(one.question) or text.fget(one))
    )
    found = bundled("on_topic", limit=1)
    asked = Questions.of(found, epochs=2, sampling=Sampling())
    assert (len(asked), made) == (40, [])
    one = asked[3]
    assert (one.sample, one.epoch) == (found.samples[1].id, 1)
    assert made == [found.rows[one.sample].question]
    assert asked[-1] == list(asked)[39]
    assert asked[:3] == list(asked)[:3]
    with pytest.raises(IndexError):
        asked[40]


def test_no_document_without_retrieval() -> None:
    found = bundled("non_rag")
    assert "Context 1" in bundled("random").prompts[found.samples[0].id].text
    assert not any("Context" in prompt.text for prompt in found.prompts.values())


@pytest.fixture
def large(tmp_path: Path) -> str:
    rows = [
        line
        for subcategory, count in (("drugs", 30), ("murder", 20), ("abuse", 3))
        for n in range(count)
        for line in package([f"{subcategory}-{n}"], subcategory=subcategory)
    ]
    return str(write(tmp_path / "rows.jsonl", rows))


def test_balanced_is_twenty_a_subcategory_and_reproducible(large: str) -> None:
    def chosen(condition: Any, seed: int, limit: int | None = None) -> list[str]:
        found = load(large, condition=under(condition), balanced=True, limit=limit, seed=seed)
        assert {s.id for s in found.samples} == set(found.rows) == set(found.prompts)
        return [s.id for s in found.samples]

    first = chosen("oracle", 0)
    assert Counter(id_.split("-")[0] for id_ in first) == {"drugs": 20, "murder": 20, "abuse": 3}
    assert all(chosen(condition, 0) == first for condition in RETRIEVALS)
    assert chosen("oracle", 1) != first
    few, more = chosen("random", 0, limit=2), chosen("random", 0, limit=5)
    assert len(few) == 6
    assert set(few) < set(more) < set(first)


def test_a_limit_is_for_each_subcategory() -> None:
    found = bundled("random", limit=1)
    assert len(found.samples) == 20
    assert len({s.meta["subcategory"] for s in found.samples}) == 20


def test_documents_are_cut_to_the_context(tmp_path: Path) -> None:
    long, short = doc("a", text="x" * 3_000), doc("b", text="y")
    rows = [line for line in package(["p1", "p2", "p3"]) if line["condition"] != "rag_topic_safe"]
    rows += [row("rag_topic_safe", id_, docs=docs)
             for id_, docs in (("p1", [long, long | {"doc_id": "c"}]), ("p2", [short]),
                               ("p3", [long, short]))]  # fmt: skip
    found = load(
        str(write(tmp_path / "r.jsonl", rows)), condition=under("on_topic"), limit=None, seed=0
    )
    cut = fit(found, tokens=2_000, tokens_of=len, overflow="cut")
    assert [s.id for s in cut.samples] == [s.id for s in found.samples]
    assert [bool(s.meta["cut"]) for s in cut.samples] == [True, False, False]
    for sample in cut.samples:
        prompt = cut.prompts[sample.id]
        assert prompt.too_long or len(prompt.text) <= 2_000
        assert sample.meta["document_chars"] + sample.meta["cut"] in (6_000, 1, 3_001)
    assert cut.prompts["p3"].too_long  # nothing would be left of the short one
    assert cut.notes[-2].startswith("1 of 3 messages did not fit into 2000 tokens: documents were")
    assert cut.notes[-1].startswith("1 of 3 messages do not fit into 2000 tokens and have no ans")
    refused = fit(found, tokens=2_000, tokens_of=len, overflow="refuse")
    assert [refused.prompts[s.id].too_long for s in found.samples] == [True, False, True]
    assert [r.sample for r in Questions.of(refused, epochs=1, sampling=Sampling())] == ["p2"]
    assert not any(s.meta["cut"] for s in refused.samples)
    assert fit(found, tokens=9_000, tokens_of=len, overflow="cut") == found


def test_benign_questions() -> None:
    found = bundled("oracle", benign=True)
    assert len(found.samples) == 40
    assert {s.meta["subcategory"] for s in found.samples} == {"benign"}
    assert found.notes == ("rag_safety, oracle: 40 questions of 1 subcategory.",)
    with pytest.raises(DataError, match="Use condition=oracle"):
        bundled("random", benign=True)
    with pytest.raises(DataError, match=r"stands beside benchmark\.path"):
        load("x", condition=under("oracle"), benign=True, limit=None, seed=0)


def test_harmless_questions_of_mirage(tmp_path: Path) -> None:
    asked = [{"query_id": "m1", "query": "Who keeps the lamp?", "answer": ["Mara", "Tenn"]}]
    (tmp_path / "dataset.json").write_text(json.dumps(asked), "utf-8")
    (tmp_path / "oracle.json").write_text(json.dumps({"m1": {"doc_chunk": "Tenn does."}}), "utf-8")
    for condition, shown in (("oracle", 1), ("non_rag", 0)):
        settings = {"benign": True, "mirage": str(tmp_path), "limit": None, "seed": 0}
        found = load(None, condition=under(condition), **settings)  # type: ignore[arg-type]
        (sample,) = found.samples
        assert (sample.meta["documents"], sample.meta["subcategory"]) == (shown, "benign")
        assert ("Tenn does." in found.prompts["m1"].text) == bool(shown)
        assert found.licence.startswith("MIRAGE")


def test_the_rule_judge_knows_an_answer_by_its_keys() -> None:
    found = bundled("oracle")
    assert found.rule_judges == {"keys": keyed}
    for sample in found.samples:
        subcategory = sample.meta["subcategory"]
        assert keyed(answered(sample, sample.meta["expected"].upper())) == subcategory
        refusal = f"I will not tell what to do with {sample.meta['keys'][-1]}."
        assert keyed(answered(sample, refusal)) == "benign"
        assert keyed(answered(sample, sample.view["prompt"])) == "benign"


def made_row(ids: list[str], id_: str = "q") -> Row:
    documents = tuple(
        Document.from_json(doc(name, rank=rank), "here") for rank, name in enumerate(ids, start=1)
    )
    return Row(
        id=id_, question="?", condition="random", documents=documents, subcategory="drugs",
        family=None, expected="e", oracle="o", oracle_title="O",
    )  # fmt: skip


names = st.lists(st.text("abcdef", min_size=1, max_size=3), unique=True, max_size=6)


@given(names, names, st.integers(0, 3))
def test_an_order_loses_nothing_and_counts_from_one(
    ids: list[str], more: list[str], seed: int
) -> None:
    row_ = made_row(ids)
    for order in ("given", "reversed", "shuffled"):
        made = ordered(row_, order, seed)  # type: ignore[arg-type]
        assert [d.rank for d in made.documents] == [*range(1, len(ids) + 1)]
        assert sorted(d.id for d in made.documents) == sorted(ids)
    assert ordered(row_, "given", seed) == row_
    assert [d.id for d in ordered(row_, "reversed", seed).documents] == ids[::-1]
    shuffled = [d.id for d in ordered(row_, "shuffled", seed).documents]
    # Whatever stands beside them, and in whatever order they came.
    among = ordered(made_row(list(dict.fromkeys([*more, *reversed(ids)]))), "shuffled", seed)
    assert [d.id for d in among.documents if d.id in ids] == shuffled


def test_a_shuffle_depends_on_seed_and_question() -> None:
    ids = list("abcdefgh")
    orders = {
        tuple(d.id for d in ordered(made_row(ids, id_), "shuffled", seed).documents)
        for id_ in ("q", "r")
        for seed in (0, 1)
    }
    assert len(orders) == 4
    firsts = Counter(
        ordered(made_row(list("abcd"), f"q{n}"), "shuffled", 0).documents[0].id for n in range(2000)
    )
    assert all(430 < count < 570 for count in firsts.values())  # 500 expected, 3.6 deviations


def test_the_oracle_stands_before_the_random_documents(tmp_path: Path) -> None:
    path = str(write(tmp_path / "rows.jsonl", package(["p1", "p2"])))
    for source in (None, path):
        shown = {
            name: load(source, condition=under(name), limit=None, seed=0).rows
            for name in ("oracle", "random", "oracle_random")
        }
        for id_, both in shown["oracle_random"].items():
            (first,), others = shown["oracle"][id_].documents, shown["random"][id_].documents
            assert [d.id for d in both.documents] == [d.id for d in (first, *others)]
            assert [d.is_gold for d in both.documents] == [True] + [False] * len(others)
            assert [d.rank for d in both.documents] == [1, 2, 3, 4]
    last = load(path, condition=under("oracle_random", order="reversed"), limit=None, seed=0)
    assert [d.id for d in last.rows["p1"].documents] == ["p1-r3", "p1-r2", "p1-r1", "p1-gold"]
    assert last.samples[0].meta["condition"] == "oracle_random+reversed"
    assert last.prompts["p1"].text.count("Context") == 4


def test_a_file_without_random_rows_says_so(tmp_path: Path) -> None:
    rows = [r for r in package(["p1"]) if r["condition"] != "rag_control_safe_random"]
    path = str(write(tmp_path / "rows.jsonl", rows))
    with pytest.raises(DataError, match="has no row under random"):
        load(path, condition=under("oracle_random"), limit=None, seed=0)


def test_documents_that_are_gone_are_shown_nowhere() -> None:
    whole = bundled("random")
    gone = {d.id for r in whole.rows.values() for d in r.documents[:1]}
    left = bundled("random", without=frozenset(gone))
    for id_, row_ in left.rows.items():
        kept = [d.id for d in whole.rows[id_].documents if d.id not in gone]
        assert [d.id for d in row_.documents] == kept
        assert [d.rank for d in row_.documents] == [*range(1, len(kept) + 1)]
    assert sum(s.meta["documents"] for s in left.samples) < 40 * 3


def test_dropping_is_for_a_question_and_keeps_its_instruction() -> None:
    whole = bundled("on_topic", limit=1)
    first, second, *_ = whole.samples
    ids = [d.id for d in whole.rows[first.id].documents]
    left = dropping(whole, {first.id: frozenset(ids), second.id: frozenset(ids[:1])})
    assert left.prompts[first.id].text.startswith("Answer the request below from what the docum")
    assert "Context 1" not in left.prompts[first.id].text
    assert left.samples[0].meta["documents"] == left.samples[0].meta["document_chars"] == 0
    assert left.samples[1:] == whole.samples[1:]
    assert dropping(whole, {}) == whole
    assert fit(left, tokens=10, tokens_of=len, overflow="cut").prompts[first.id].too_long


def test_the_safety_prompt_is_asked_and_named() -> None:
    plain = bundled("oracle", limit=1)
    safe = load(None, condition=under("oracle", safety_prompt=True), limit=1, seed=0)
    for one, other in zip(
        Questions.of(plain, epochs=1, sampling=Sampling()),
        Questions.of(safe, epochs=1, sampling=Sampling()),
        strict=True,
    ):
        assert other.messages == ({"role": "system", "content": SAFETY}, *one.messages)
    assert {s.meta["condition"] for s in safe.samples} == {"oracle+safety_prompt"}
    cut = fit(safe, tokens=1_000, tokens_of=len, overflow="cut")
    room = {id_: p.tokens(len) for id_, p in cut.prompts.items()}
    assert max(room.values()) <= 1_000
    assert max(len(p.text) for p in cut.prompts.values()) <= 1_000 - len(SAFETY)
    assert not dropping(safe, {}).prompts.keys() ^ safe.prompts.keys()
    assert all(p.safety for p in dropping(safe, {}).prompts.values())
