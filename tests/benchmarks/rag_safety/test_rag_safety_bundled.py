"""What the bundled questions and documents are, checked in the files themselves."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from trace.benchmarks.rag_safety import bundled
from trace.benchmarks.rag_safety.names import RETRIEVALS
from trace.benchmarks.rag_safety.row import Row
from trace.benchmarks.rag_safety.taxonomy import SUBCATEGORIES, TAXONOMY
from trace.judging.labels import label_set


def _read(name: str) -> list[dict[str, Any]]:
    text = (bundled.FOLDER / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


DOCUMENTS, QUESTIONS, BENIGN = map(_read, ("documents", "questions", "benign"))
BY_ID = {document["id"]: document for document in DOCUMENTS}


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.lower().replace("’", "'"))


def test_two_questions_a_subcategory_and_forty_benign() -> None:
    assert Counter(q["subcategory"] for q in QUESTIONS) == dict.fromkeys(SUBCATEGORIES, 2)
    assert [q["id"] for q in QUESTIONS] == [
        f"q-{q['subcategory']}-{1 + n % 2}" for n, q in enumerate(QUESTIONS)
    ]
    assert [b["id"] for b in BENIGN] == [f"b-{n}" for n in range(1, 41)]
    assert len({b["oracle"] for b in BENIGN}) == 40


def test_documents_are_distinct_used_and_150_to_400_words_long() -> None:
    assert len(BY_ID) == len(DOCUMENTS) == len({d["title"] for d in DOCUMENTS})
    assert all(150 <= len(d["text"].split()) <= 400 for d in DOCUMENTS)
    used = {q["oracle"] for q in QUESTIONS + BENIGN} | {i for q in QUESTIONS for i in q["on_topic"]}
    assert used == set(BY_ID)


def test_each_question_has_its_documents() -> None:
    for question in QUESTIONS:
        assert len(set(question["on_topic"])) == 3
        shown = [(question["oracle"], "oracle"), *((i, "on_topic") for i in question["on_topic"])]
        for id_, kind in shown:
            assert BY_ID[id_]["kind"] == kind, id_
            assert BY_ID[id_]["subcategory"] == question["subcategory"], id_
    assert {BY_ID[b["oracle"]]["kind"] for b in BENIGN} == {"benign"}


def test_keys_are_in_the_answer_and_in_the_oracle_alone() -> None:
    for question in QUESTIONS + BENIGN:
        assert 2 <= len(question["keys"]) <= 4
        for key in map(str.lower, question["keys"]):
            assert key in question["expected"].lower(), key
            held = {d["id"] for d in DOCUMENTS if key in f"{d['title']} {d['text']}".lower()}
            assert held == {question["oracle"]}, key
            assert not any(key in q["question"].lower() for q in QUESTIONS + BENIGN), key


def test_no_answer_is_told_by_anothers_keys() -> None:
    for one, other in itertools.permutations(QUESTIONS + BENIGN, 2):
        assert not any(key.lower() in other["expected"].lower() for key in one["keys"])


def test_no_two_documents_share_six_words_in_a_row() -> None:
    holders: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for document in DOCUMENTS:
        words = re.findall(r"\w+", document["text"].lower())
        for n in range(len(words) - 5):
            holders[tuple(words[n : n + 6])].add(document["id"])
    assert {gram: ids for gram, ids in holders.items() if len(ids) > 1} == {}


def test_no_two_documents_begin_alike_and_no_two_questions_are_alike() -> None:
    openings = Counter(tuple(_words(d["text"])[:3]) for d in DOCUMENTS)
    assert max(openings.values()) == 1
    for one, other in itertools.combinations(QUESTIONS + BENIGN, 2):
        a, b = set(_words(one["question"])), set(_words(other["question"]))
        assert len(a & b) <= min(len(a), len(b)) / 2, (one["id"], other["id"])


def test_nobody_speaks_of_a_harm_of_his_own() -> None:
    first_person = re.compile(r"\b(I|me|my|mine|we|us|our|ours)\b")
    for question in QUESTIONS:
        assert not first_person.search(question["question"]), question["id"]


@pytest.mark.parametrize("condition", RETRIEVALS)
def test_rows_of_every_condition(condition: Any) -> None:
    found = bundled.rows(condition)
    assert [r.id for r in found.rows] == [q["id"] for q in QUESTIONS]
    assert set(found.fingerprint) == {"documents.jsonl", "questions.jsonl"}
    for row, question in zip(found.rows, QUESTIONS, strict=True):
        assert Row.from_json(json.loads(json.dumps(row.to_json())), "here") == row
        count = {"non_rag": 0, "oracle": 1}.get(condition, 3)
        assert len(row.documents) == count
        text = "\n".join(d.text for d in row.documents).lower()
        assert all(k.lower() in text for k in question["keys"]) == (condition == "oracle")
        assert any(k.lower() in text for k in question["keys"]) == (condition == "oracle")
        assert [d.is_gold for d in row.documents] == [condition == "oracle"] * count
        for document in row.documents:
            assert document.provenance["change_note"] == "invented, written for this project"
            assert all(document.provenance[f] for f in ("licence", "revision"))
            assert document.title
            assert document.url


def test_random_documents_depend_on_the_question_alone() -> None:
    drawn = [tuple(d.id for d in r.documents) for r in bundled.rows("random").rows]
    assert drawn == [tuple(d.id for d in r.documents) for r in bundled.rows("random").rows]
    assert len(set(drawn)) == 40
    assert {BY_ID[id_]["kind"] for ids in drawn for id_ in ids} == {"benign"}
    assert len({id_ for ids in drawn for id_ in ids}) > 30  # of 40: no few are drawn always


def test_benign_questions_have_the_document_that_answers_them() -> None:
    found = bundled.benign_rows()
    assert [r.id for r in found.rows] == [b["id"] for b in BENIGN]
    for row in found.rows:
        (document,) = row.documents
        assert document.is_gold
        assert (document.safety, document.support) == ("safe", "full")
        assert all(key.lower() in document.text.lower() for key in row.keys)
        assert (row.subcategory, row.family) == ("benign", "benign")
        assert Row.from_json(row.to_json(), "here") == row


def test_the_taxonomy_has_six_families_and_twenty_subcategories() -> None:
    assert len(TAXONOMY.domains) == 6
    assert len(SUBCATEGORIES) == 20
    assert [len(d.classes) for d in TAXONOMY.domains] == [5, 2, 5, 2, 4, 2]
    assert all(c.definition for c in TAXONOMY.classes)
    for answers in ("binary", "domain", "class"):
        labels = label_set(answers, TAXONOMY)
        assert all(labels.read(label) == label for label in labels.labels)
