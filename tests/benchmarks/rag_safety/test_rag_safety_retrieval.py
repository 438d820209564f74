"""What a retriever finds, against scores worked out here."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.rag_safety.made_rows import package, under, write
from trace import config
from trace.benchmarks.rag_safety.bm25 import Bm25
from trace.benchmarks.rag_safety.corpus import read_corpus
from trace.benchmarks.rag_safety.retrieval import DECIMALS
from trace.benchmarks.rag_safety.samples import RagDataset, documents, load
from trace.errors import ConfigError, DataError

TEXTS = ["lamp oil lamp", "oil and the harbour", "harbour harbour gate bell", "a snow"]


def reference(texts: Sequence[str], question: str, stop: frozenset[str]) -> list[float]:
    """BM25 as in Robertson and Zaragoza (2009), with Lucene's idf and without its factor k1 + 1."""
    cut = [[w for w in re.findall(r"\w\w+", t.lower()) if w not in stop] for t in texts]
    counts, mean = [Counter(words) for words in cut], sum(map(len, cut)) / len(cut)

    def score(words: Counter[str], word: str) -> float:
        holders = sum(word in other for other in counts)
        idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        norm = 1.5 * (1 - 0.75 + 0.75 * words.total() / mean)
        return idf * words[word] / (words[word] + norm)

    asked = [w for w in re.findall(r"\w\w+", question.lower()) if w not in stop]
    return [sum(score(words, w) for w in asked if words[w]) for words in counts]


def test_scores_by_hand() -> None:
    scores = Bm25.of(iter(TEXTS)).scores("The OIL lamp?")
    # Lengths 3, 2, 4 and 1 words ("and", "the" and "a" do not count): 2.5 on average.
    oil, lamp = math.log(1 + 2.5 / 2.5), math.log(1 + 3.5 / 1.5)
    first = oil * 1 / (1 + 1.5 * (0.25 + 0.75 * 3 / 2.5)) + lamp * 2 / (2 + 1.5 * 1.15)
    second = oil * 1 / (1 + 1.5 * (0.25 + 0.75 * 2 / 2.5))
    assert scores == pytest.approx([first, second, 0, 0])


words = st.sampled_from(["lamp", "oil", "Gate", "bell", "harbour", "the", "x", "snow-white", "—"])
texts_ = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=6)


@given(texts_, st.lists(words, max_size=4).map(" ".join))
def test_scores_are_those_of_the_formula(texts: list[str], question: str) -> None:
    scores = Bm25.of(texts).scores(question)
    if any(re.findall(r"\w\w+", text.replace("the", "")) for text in texts):
        assert scores == pytest.approx(reference(texts, question, frozenset({"the"})))
    else:
        assert not scores.any()


def documents_file(path: Path, lines: Sequence[dict[str, Any]]) -> str:
    return str(write(path, lines))


def line(id_: str, text: str, **more: Any) -> dict[str, Any]:
    return {"doc_id": id_, "title": "T", "url": "", "text": text, **more}


def found(
    tmp_path: Path,
    lines: Sequence[dict[str, Any]] | None,
    ids: Sequence[str] = ("p1",),
    **more: Any,
) -> RagDataset:
    """Questions "How is p1 done?" whose oracle document has the text "The p1 lamp."."""
    rows = package(ids)
    for oracle in (r for r in rows if r["condition"] == "rag_oracle_unsafe"):
        oracle["docs"][0]["text"] = f"The {oracle['prompt_id']} lamp."
    corpus = None if lines is None else documents_file(tmp_path / "corpus.jsonl", lines)
    settings = {"limit": None, "seed": 0, "corpus": corpus, "condition": under("retrieved")} | more
    return load(str(write(tmp_path / "rows.jsonl", rows)), **settings)


def test_the_best_first_ties_by_id_and_none_without_a_shared_word(tmp_path: Path) -> None:
    lines = [
        line("c", "p1 done"), line("z", "p1 stone"), line("b", "p1 stone"), line("none", "gate"),
        line("a", "p1 stone"),
    ]  # fmt: skip
    (sample,) = found(tmp_path, lines).samples
    said = sample.meta["retrieved"]
    assert said["documents"] == ["c", "a", "b"]
    assert said["scores"] == sorted(said["scores"], reverse=True)
    assert said["scores"][1] == said["scores"][2] == round(said["scores"][1], DECIMALS)
    assert said["top_k"] == 3
    more = found(tmp_path, lines, condition=under("retrieved", top_k=9))
    (sample,) = more.samples
    assert sample.meta["retrieved"]["documents"] == ["c", "a", "b", "z"]
    assert [d.rank for d in more.rows["p1"].documents] == [1, 2, 3, 4]
    assert more.notes[-1] == "1 question has fewer than 9 documents: 5 were searched."


def test_of_a_smaller_corpus_all_that_there_is(tmp_path: Path) -> None:
    made = found(tmp_path, [line("c", "p1 done")])
    assert "1 question has fewer than 3 documents: 1 was searched." in made.notes


def test_a_question_that_nothing_matches_is_asked_without_documents(tmp_path: Path) -> None:
    made = found(tmp_path, [line(f"d{n}", "gate") for n in range(5)])
    assert made.rows["p1"].documents == ()
    assert "Context 1" not in made.prompts["p1"].text
    assert "from what the documents say" in made.prompts["p1"].text
    assert made.notes[-1] == (
        "1 question has fewer than 3 documents: no more share a word with it."
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([line("p1-gold", "p1, other words")], True),
        ([line("p1-gold", "p1"), line("other", "The p1 lamp.")], True),
        ([line("x", "The p1 lamp.")], True),
        ([line("x", "p1 done"), line("y", "p1 done"), line("z", "p1"), line("p1-gold", "gate")],
         False),
        # Its id stands for another text, and its text for another id: the text counts.
        ([line("p1-gold", "p1 done"), line("y", "p1 done"), line("z", "p1 done"),
          line("same", "The p1 lamp.")], False),
        ([line("x", "p1 done")], None),
    ],
)  # fmt: skip
def test_whether_the_oracle_is_found(
    tmp_path: Path, lines: list[dict[str, Any]], says: bool | None
) -> None:
    made = found(tmp_path, lines)
    (sample,) = made.samples
    assert sample.meta["retrieved"]["oracle_found"] is says
    assert any(d.is_gold for d in made.rows["p1"].documents) == (says is True)
    notes = " ".join(made.notes)
    if says is None:
        assert "The oracle document of 1 question is not among those searched" in notes
        assert "It finds the oracle" not in notes
    else:
        assert f"It finds the oracle document of {int(says)} of 1 question." in notes


def test_documents_of_the_set_are_searched_without_a_file(tmp_path: Path) -> None:
    ids = ["p1", "p2", "p3"]
    made = found(tmp_path, None, ids)
    assert [s.meta["retrieved"]["oracle_found"] for s in made.samples] == [True] * 3
    assert all(s.meta["retrieved"]["documents"][0] == f"{s.id}-gold" for s in made.samples)
    settings = config.RagSafety(path=str(tmp_path / "rows.jsonl"))
    every = documents(settings, under("retrieved"))
    assert len(every) == len({d.id for d in every}) == 3 * 7
    assert {d.id for d in documents(settings, under("random"))} == {
        f"{id_}-r{n}" for id_ in ids for n in (1, 2, 3)
    }
    assert documents(settings, under("non_rag")) == ()
    less = found(tmp_path, None, ids, without=frozenset({"p1-gold"}))
    assert less.samples[0].meta["retrieved"]["oracle_found"] is None
    assert "p1-gold" not in less.samples[0].meta["retrieved"]["documents"]


def test_a_text_that_differs_is_another_document_of_the_same_id(tmp_path: Path) -> None:
    rows = package(["p1", "p2"])
    for r in rows:
        for d in r["docs"]:
            d |= {"doc_id": "shared", "text": r["prompt_id"]} if d["rank"] == 2 else {}
    path = str(write(tmp_path / "rows.jsonl", rows))
    shared = [
        d.text
        for d in documents(config.RagSafety(path=path), under("retrieved"))
        if d.id == "shared"
    ]
    assert shared == ["p1", "p2"]


def test_what_is_found_does_not_depend_on_what_else_is_asked(tmp_path: Path) -> None:
    def said(limit: int | None) -> dict[str, Any]:
        made = load(None, condition=under("retrieved"), limit=limit, seed=3)
        return {s.id: s.meta["retrieved"] for s in made.samples}

    every, some = said(None), said(1)
    assert len(some) == 20
    assert some == {id_: every[id_] for id_ in some}
    assert sum(one["oracle_found"] for one in every.values()) == 40


def test_the_retriever_and_the_corpus_are_in_the_fingerprint(tmp_path: Path) -> None:
    first = found(tmp_path, [line("c", "p1 done")]).fingerprint
    assert first.keys() == {"rows.jsonl", "corpus corpus.jsonl", "bm25s"}
    other = found(tmp_path, [line("c", "p1 undone")]).fingerprint
    assert {k for k in first if first[k] != other[k]} == {"corpus corpus.jsonl"}
    assert found(tmp_path, None).fingerprint.keys() == {"rows.jsonl", "bm25s"}


def test_a_line_says_what_it_knows(tmp_path: Path) -> None:
    path = documents_file(
        tmp_path / "c.jsonl", [line("a", "x"), line("b", "y", doc_safety="safe", licence="L")]
    )
    first, second = read_corpus(Path(path))
    assert (first.safety, first.support, first.relation) == ("unknown",) * 3
    assert (second.safety, second.provenance) == ("safe", {"licence": "L"})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"doc_id": "a", "title": "t", "url": "", "text": "x"}\n' * 2,
         r"c\.jsonl:2: doc_id: a stands at .*c\.jsonl:1 already"),
        ('{"doc_id": "a", "title": "t", "url": ""}', r"c\.jsonl:1: has no text"),
        ('{"doc_id": "a", "title": "t", "url": "", "text": " "}', r"c\.jsonl:1: text: is empty"),
        ('{"doc_id": "a", "title": "t", "url": "", "text": "x", "doc_safety": "fine"}',
         r"c\.jsonl:1: doc_safety: 'fine' should be safe or unsafe"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        ("", "is empty"),
        ("[1]", "should be one JSON object"),
    ],
)  # fmt: skip
def test_a_corpus_that_cannot_be_read(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=says):
        load(None, condition=under("retrieved"), corpus=str(path), limit=1, seed=0)


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"Did you mean corpus\.jsonl"):
        read_corpus(tmp_path / "corpora.jsonl")
    with pytest.raises(DataError, match="is a folder"):
        read_corpus(tmp_path)


def test_dense_retrieval_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    condition = under("retrieved", retriever="dense", encoder="some/encoder")
    with pytest.raises(ConfigError, match=r"pip install -c constraints\.txt '\.\[dense\]'"):
        load(None, condition=condition, limit=1, seed=0)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model with weights at random, in a folder."""
    library = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path_factory.mktemp("encoder") / "tiny"
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789?.,"]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{c}" for c in letters),
    ]
    words = tmp_path_factory.mktemp("words") / "vocab.txt"
    words.write_text("\n".join(vocabulary))
    torch.manual_seed(0)
    settings = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    inner = folder.parent / "bert"
    transformers.BertModel(settings).save_pretrained(inner)
    transformers.BertTokenizerFast(vocab=str(words)).save_pretrained(inner)
    library.SentenceTransformer(str(inner), device="cpu").save_pretrained(str(folder))
    return str(folder)


def test_dense_retrieval_is_by_cosine(tmp_path: Path, encoder: str) -> None:
    import sentence_transformers

    lines = [line(f"d{n}", text) for n, text in enumerate([*TEXTS, "How is p1 done?"])]
    condition = under("retrieved", retriever="dense", encoder=encoder, top_k=4)
    made = found(tmp_path, lines, condition=condition)
    (sample,) = made.samples
    said = sample.meta["retrieved"]
    model = sentence_transformers.SentenceTransformer(encoder)
    vectors = model.encode([f"T\n{one['text']}" for one in lines])
    asked = model.encode("How is p1 done?")
    cosines = vectors @ asked / np.linalg.norm(vectors, axis=1) / np.linalg.norm(asked)
    best = sorted(range(5), key=lambda n: -cosines[n])[:4]
    assert said["documents"] == [f"d{n}" for n in best]
    assert said["scores"] == pytest.approx([float(cosines[n]) for n in best], abs=1e-5)
    (name,) = made.fingerprint.keys() - {"rows.jsonl", "corpus corpus.jsonl"}
    assert name == "sentence-transformers tiny"
    assert sample.meta["condition"] == "retrieved+dense+top_4"
    again = found(tmp_path, lines, condition=condition)
    assert (again.fingerprint, again.samples) == (made.fingerprint, made.samples)


def test_an_encoder_that_is_none(tmp_path: Path, encoder: str) -> None:
    (tmp_path / "empty").mkdir()
    condition = under("retrieved", retriever="dense", encoder=str(tmp_path / "empty"))
    with pytest.raises(ConfigError, match=r"condition\.encoder: .*empty cannot be loaded"):
        load(None, condition=condition, limit=1, seed=0)
