from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rag_safety.made_articles import ARTICLES, write_articles
from trace import config
from trace.benchmarks.rag_safety.builder.article import SOURCE
from trace.benchmarks.rag_safety.builder.articles import read
from trace.benchmarks.rag_safety.builder.corpus import corpus, scarce
from trace.benchmarks.rag_safety.builder.writing import asked
from trace.benchmarks.rag_safety.corpus import read_corpus
from trace.errors import DataError
from trace.tracking.files import write_jsonl


def builder(path: Path, **more: Any) -> config.RagBuilder:
    return config.RagBuilder(articles=str(path), **more)


def test_a_file_and_a_folder_of_files_give_the_same_articles(tmp_path: Path) -> None:
    whole = read(builder(write_articles(tmp_path / "all.jsonl")))
    assert [one.title for one in whole.articles] == [one["title"] for one in ARTICLES]
    assert whole.articles[0].source() == {name: ARTICLES[0][name] for name in SOURCE}
    folder = tmp_path / "some"
    folder.mkdir()
    write_articles(folder / "a.jsonl", ARTICLES[:3])
    write_articles(folder / "b.jsonl", ARTICLES[3:])
    assert read(builder(folder)).articles == whole.articles
    assert set(read(builder(folder)).fingerprint) == {"a.jsonl", "b.jsonl"}


@pytest.mark.parametrize("name", SOURCE)
@pytest.mark.parametrize("value", [None, "", " "])
def test_an_article_without_its_source_is_refused_with_line_and_field(
    tmp_path: Path, name: str, value: str | None
) -> None:
    changed = dict(ARTICLES[1])
    if value is None:
        del changed[name]
    else:
        changed[name] = value
    path = write_articles(tmp_path / "a.jsonl", [ARTICLES[0], changed])
    with pytest.raises(DataError, match=rf"a\.jsonl:2: {name}: is missing or empty"):
        read(builder(path))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"subcategory": "privacy"}, "is privacy, which this benchmark leaves out"),
        ({"subcategory": "Specialized Advice"}, "specialised advice, which"),
        ({"subcategory": "spc_hlt"}, "specialised advice, which"),
        ({"subcategory": "Intellectual-Property"}, "intellectual property, which"),
        ({"subcategory": "sxc_prn"}, "content that does harm by being made, which"),
        ({"subcategory": "explosive"}, "is no subcategory.*explosives"),
        ({"subcategory": 3}, "should be a text"),
        ({"subcategroy": "drugs"}, "no field has this name.*subcategory"),
        ({"subcategory": " "}, "subcategory: is empty. Leave it out"),
        ({"url": "none"}, "url: 'none' is no address"),
        ({"text": " "}, "text: is empty"),
        ({"revision": True}, "revision: is missing or empty, or no text"),
        ({"revision": 1.5}, "revision: is missing or empty, or no text"),
    ],
)
def test_other_topics_and_misspelt_fields_are_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    path = write_articles(tmp_path / "a.jsonl", [ARTICLES[0], {**ARTICLES[1], **changed}])
    with pytest.raises(DataError, match=rf"a\.jsonl:2.*{message}"):
        read(builder(path))


def test_what_may_be_said_otherwise(tmp_path: Path) -> None:
    absent = {k: v for k, v in ARTICLES[1].items() if k != "subcategory"}
    given = [{**ARTICLES[0], "subcategory": "Property crimes", "revision": 12}, absent]
    first, second = read(builder(write_articles(tmp_path / "a.jsonl", given))).articles
    assert (first.subcategory, first.revision) == ("property_crimes", "12")
    assert second.subcategory is None


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no \*\.jsonl file"):
        read(builder(tmp_path))
    path = write_articles(tmp_path / "a.jsonl", [ARTICLES[0], ARTICLES[0]])
    with pytest.raises(DataError, match="stands there twice"):
        read(builder(path))
    write_articles(path, [ARTICLES[0], {**ARTICLES[0], "revision": "8"}])
    with pytest.raises(DataError, match="stands there twice, as revision 7 and 8"):
        read(builder(path))
    path.write_text(json.dumps(ARTICLES[0]) + "\nnot JSON\n", "utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:2: not JSON"):
        read(builder(path))


def test_the_corpus_is_one_that_a_retriever_can_search(tmp_path: Path) -> None:
    made = corpus(read(builder(write_articles(tmp_path / "a.jsonl"))).articles, 100)
    assert len(made.documents) == 16
    assert len({one.id for one in made.documents}) == 16
    write_jsonl(tmp_path / "corpus.jsonl", (one.to_json() for one in made.documents))
    assert [d.id for d in read_corpus(tmp_path / "corpus.jsonl")] == [d.id for d in made.documents]


def test_a_text_under_two_subcategories_or_above_the_cap_of_a_respondent_is_no_document(
    tmp_path: Path,
) -> None:
    twin = {**ARTICLES[0], "title": "Twin", "url": "https://isles.example/wiki/Twin"}
    for other, documents in ((None, 14), ("fraud_scam", 14), ("property_crimes", 16)):
        given = [*ARTICLES, {**twin, "subcategory": other}]
        made = corpus(read(builder(write_articles(tmp_path / "a.jsonl", given))).articles, 100)
        assert len(made.documents) == documents
        assert made.lost.get("documents under several subcategories", 0) == 16 - documents
    long = {**twin, "text": f"{'w' * 299} " * 60}
    made = corpus(read(builder(write_articles(tmp_path / "a.jsonl", [long]))).articles, 100)
    assert (made.documents, made.lost) == ((), {"documents above 12,000 characters": 1})


def test_what_no_question_can_be_kept_without_is_told(tmp_path: Path) -> None:
    made = corpus(read(builder(write_articles(tmp_path / "a.jsonl"))).articles, 100)
    assert scarce(made, on_topic=3, random=6) == ([], False)  # 6, 4 and 6 documents
    (note,), of_all = scarce(made, on_topic=4, random=6)
    assert "fewer than 5 documents: fraud_scam has 4." in note
    assert not of_all
    assert scarce(made, on_topic=6, random=6)[1]
    (note,), of_all = scarce(made, on_topic=3, random=7)
    assert "fewer than 7 harmless documents: there are 6." in note
    assert of_all


def test_questions_are_dealt_out_over_an_article_and_a_larger_limit_only_adds(
    tmp_path: Path,
) -> None:
    made = corpus(read(builder(write_articles(tmp_path / "a.jsonl"))).articles, 100)

    def wanted(per_article: int, limit: int | None = None) -> dict[str, int]:
        found = asked(made.documents, per_article=per_article, limit=limit, seed=0)
        return {one.document.id: one.number for one in found}

    assert set(wanted(1).values()) == {1}
    assert len(wanted(1)) == 5
    assert set(wanted(2).values()) == {1}
    assert sorted(wanted(3).values()) == [1] * 5 + [2] * 5
    assert set(wanted(2, 1)) < set(wanted(2, 2)) < set(wanted(2))
    assert len(wanted(2, 1)) == 4
