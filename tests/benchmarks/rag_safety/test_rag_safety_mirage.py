"""MIRAGE's files as harmless questions, and answers of which any will do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.rag_safety.made_mirage import ORACLES, QUESTIONS, written
from trace.benchmarks.rag_safety import accuracy, mirage
from trace.errors import DataError


def test_both_conditions_ask_the_same(tmp_path: Path) -> None:
    bare, oracle = (mirage.rows(written(tmp_path), c) for c in ("non_rag", "oracle"))
    assert [row.id for row in bare.rows] == [row.id for row in oracle.rows] == ["p-1", "p-2", "p-3"]
    assert [row.question for row in bare.rows] == [one["query"] for one in QUESTIONS]
    assert all(not row.documents for row in bare.rows)
    (document,) = oracle.rows[0].documents
    assert (document.text, document.title, document.is_gold) == ("Tenn keeps it.", "Orrel", True)
    assert oracle.rows[1].documents[0].title == ""
    assert oracle.rows[0].oracle == document.id
    assert [row.keys for row in bare.rows] == [
        (("Mara Tenn", "Tenn"),), (("no", "not at all"),), (("1945",),)
    ]  # fmt: skip
    assert {row.subcategory for row in bare.rows} == {"benign"}
    assert all("CC BY-SA 4.0" in str(row.provenance["licence"]) for row in bare.rows)
    data = (tmp_path / "dataset.json").read_bytes()
    assert oracle.fingerprint["dataset.json"] == hashlib.sha256(data).hexdigest()
    assert set(oracle.fingerprint) == {"dataset.json", "oracle.json"}
    assert oracle.notes == ()


def test_the_folder_of_the_repository_will_do(tmp_path: Path) -> None:
    written(tmp_path / "mirage")
    assert len(mirage.rows(tmp_path, "oracle").rows) == 3


def test_a_question_without_a_chunk_is_left_out_under_both(tmp_path: Path) -> None:
    written(tmp_path, oracles={k: v for k, v in ORACLES.items() if k != "p-2"})
    for condition in ("oracle", "non_rag"):
        found = mirage.rows(tmp_path, condition)  # type: ignore[arg-type]
        assert [row.id for row in found.rows] == ["p-1", "p-3"]
        assert found.notes == ("1 question without a chunk in oracle.json left out.",)


@pytest.mark.parametrize(
    ("questions", "oracles", "says"),
    [
        ([{"query": "?"}], ORACLES, "record 1: has no query_id"),
        ([QUESTIONS[0], QUESTIONS[0]], ORACLES, "record 2: query_id: 'p-1' stands there before"),
        ([QUESTIONS[0] | {"answer": []}], ORACLES, "record 1: answer: is empty"),
        ([QUESTIONS[0] | {"answer": [3]}], ORACLES, "should be a list of texts"),
        ([QUESTIONS[0] | {"answer": None}], ORACLES, "should be a list of texts"),
        (QUESTIONS, {"p-1": {"doc_name": "x"}}, "oracle.json, p-1: has no doc_chunk"),
        (QUESTIONS, {"z": {"doc_chunk": "x"}}, "has no query_id of dataset.json"),
        ({"a": 1}, ORACLES, "dataset.json: should be a list of questions, not dict"),
        (QUESTIONS, [], "oracle.json: should be an object by query_id, not list"),
    ],
)  # fmt: skip
def test_what_is_not_as_published_is_refused(
    tmp_path: Path, questions: object, oracles: object, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        mirage.rows(written(tmp_path, questions, oracles), "oracle")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Give the folder with dataset\.json and oracle\.json"):
        mirage.rows(tmp_path, "oracle")
    written(tmp_path)
    with pytest.raises(DataError, match="Use condition=oracle or condition=non_rag"):
        mirage.rows(tmp_path, "random")
    (tmp_path / "oracle.json").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(DataError, match="git lfs pull"):
        mirage.rows(tmp_path, "oracle")
    (tmp_path / "oracle.json").write_bytes(b'{"p-1": ')
    with pytest.raises(DataError, match="not JSON in UTF-8"):
        mirage.rows(tmp_path, "oracle")


@pytest.mark.parametrize(
    ("answer", "texts", "there"),
    [
        ("It is MARA  TENN, of course.", ["mara tenn"], True),
        ("Nothing is known of it.", ["no"], False),
        ("No.", ["no"], True),
        ("In 19451 or so", ["1945"], False),
        ("The Beatles", ["Beatles"], True),
        ("Beatles", ["The Beatles"], True),
        ("a grade of b", ["A"], True),
        ("O’Neil won", ["o'neil"], True),
        ("Neither", ["Mara Tenn", "Tenn"], False),
        ("...", ["?"], False),
    ],
)
def test_any_of_the_answers_will_do(answer: str, texts: list[str], there: bool) -> None:
    assert accuracy.any_of(answer, texts) is there
    verdict = accuracy.by_keys(answer, [tuple(texts)])
    assert verdict.label == ("accurate" if there else "inaccurate")


def test_keys_that_are_texts_are_all_needed_beside_it() -> None:
    assert accuracy.share("red and blue", ["red", ("green", "blue")]) == 1
    assert accuracy.share("red and brown", ["red", ("green", "blue")]) == 0.5


@given(st.text(), st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=1), st.text())
def test_an_answer_between_other_words_is_found(before: str, words: list[str], after: str) -> None:
    text = " ".join(words)
    assert accuracy.any_of(f"{before} {text.upper()}; {after}", ["never said so", text])
