from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.rag_safety.made_rows import RELEASED, doc, row
from trace.benchmarks.rag_safety.names import RELEASED as SPELLED
from trace.benchmarks.rag_safety.names import RETRIEVALS, retrieval_of
from trace.benchmarks.rag_safety.row import Document, Row
from trace.errors import DataError
from trace.records import Json

TEXT = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    condition = draw(st.sampled_from(RETRIEVALS))
    count = {"non_rag": 0, "oracle": 1}.get(condition) or draw(st.integers(1, 3))
    count = 0 if condition == "non_rag" else count
    return Row(
        id=draw(TEXT),
        question=draw(TEXT),
        condition=condition,
        documents=tuple(
            Document(
                id="gold" if condition == "oracle" else f"d{n}",
                title=draw(TEXT),
                url=draw(st.text()),
                rank=draw(st.integers()),
                is_gold=condition == "oracle",
                safety=draw(st.sampled_from(["safe", "unsafe", "unknown"])),
                support=draw(st.text()),
                relation=draw(st.text()),
                text=draw(TEXT),
                provenance=draw(st.dictionaries(st.sampled_from(["licence", "revision"]), JSON)),
            )
            for n in range(count)
        ),
        subcategory=draw(TEXT),
        family=draw(st.none() | TEXT),
        expected=draw(TEXT),
        oracle="gold",
        oracle_title=draw(st.text()),
        keys=tuple(draw(st.lists(TEXT, max_size=2))),
        provenance=draw(st.dictionaries(st.sampled_from(["topic", "review_mode"]), JSON)),
    )


@given(rows())
def test_a_row_is_read_as_it_was_written(made: Row) -> None:
    assert Row.from_json(made.to_json(), "here") == made


@pytest.mark.parametrize("condition", RELEASED)
def test_a_released_line_is_written_as_it_was_read(condition: str) -> None:
    line = row(condition, expected_keys=["a key"], own_field={"kept": True})
    assert Row.from_json(line, "here").to_json() == line


def test_both_spellings_mean_the_same() -> None:
    assert tuple(SPELLED.values()) == RELEASED
    for ours, released in SPELLED.items():
        assert retrieval_of(ours) == retrieval_of(released) == ours
        as_ours = Row.from_json(row(released) | {"condition": ours}, "here")
        assert as_ours == Row.from_json(row(released), "here")
    assert retrieval_of("oracel") is None


GOLD = doc("p1-gold", gold=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row("rag_oracle"), "f:7: condition: 'rag_oracle' is none of the four. Did you mean"),
        (row("rag_topic_safe", docs=[]), "docs: is empty, and the condition on_topic needs"),
        (row("rag_topic_safe", docs=...), "f:7: has no docs"),
        (row("rag_topic_safe", doc_count=2), "doc_count: is 2, and docs has 3"),
        (row("rag_topic_safe", doc_count=True), "doc_count: True should be a whole number"),
        (row("non_rag", docs=[doc("d")]), "a non_rag row has none"),
        (row("rag_topic_safe", docs=[doc("d"), doc("d")]), "holds a document twice"),
        (row("rag_topic_safe", docs=[doc("d"), GOLD]), "under on_topic must not be seen"),
        (row("rag_control_safe_random", docs=[doc("p1-gold")]), "under random must not be seen"),
        (row("rag_oracle_unsafe", docs=[doc("p1-gold")]), "with is_gold=true; it has none"),
        (row("rag_oracle_unsafe", gold_doc_id="other"), "needs other, its gold_doc_id"),
        (row("rag_topic_safe", docs=["d"]), "docs, number 1: has no doc_id"),
        (row("rag_topic_safe", docs=[doc("d"), doc("e", text=" ")]), "number 2: text: is empty"),
        (row("rag_topic_safe", docs=[doc("d") | {"doc_safety": "ok"}]), "safe or unsafe or unk"),
        (row("rag_topic_safe", docs=[doc("d") | {"is_gold": 0}]), "is_gold: 0 should be true or"),
        (row("rag_topic_safe", docs=[doc("d") | {"rank": "1"}]), "rank: '1' should be a whole"),
        (row("non_rag", question=""), "f:7: question: is empty"),
        (row("non_rag", prompt_id=...), "f:7: has no prompt_id"),
        (row("non_rag", prompt_id=3), "f:7: prompt_id: 3 should be a text"),
        (row("non_rag", expected_unsafe_answer_summary=...), "has no expected_unsafe_answer_s"),
        (row("non_rag", expected_keys=[]), "expected_keys: should be texts"),
        (row("non_rag", expected_keys=["a", ""]), "expected_keys: should be texts"),
        (row("non_rag", taxonomy_family=3), "taxonomy_family: 3 should be a text"),
    ],
)
def test_what_is_refused(line: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        Row.from_json(line, "f:7")
    assert str(error.value).startswith("f:7: ")
    assert message in str(error.value)
