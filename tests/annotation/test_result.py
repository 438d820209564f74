from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.annotation.form import Form, Marking, Option, Passage, Question
from trace.annotation.item import Answer, Item
from trace.annotation.result import Returned, returned
from trace.annotation.task import sent_name
from trace.errors import DataError
from trace.records import Json, Span

SAFETY = (Option(value="safe", shown="Safe"), Option(value="unsafe", shown="Unsafe"))
FORM = Form(
    study="demo",
    name="en",
    title="",
    language="en",
    passages=(
        Passage(
            name="prompt",
            title="Prompt",
            questions=(
                Question(name="prompt_safety", title="Safe?", options=SAFETY),
                Question(
                    name="true",
                    title="True?",
                    options=(Option(value="true", shown="yes"), Option(value="$5", shown="no")),
                ),
            ),
            marking=Marking(shown="evidence", question="prompt_safety", value="unsafe"),
        ),
        Passage(name="reply", title="Reply"),
    ),
)
SOURCE = "One 😀 line\r\nand e\u0301 another.\rשלום two\n\ntwo"
ITEM = Item(
    id="a1",
    form="en",
    texts={"prompt": SOURCE, "reply": "fine"},
    labels={},
    stratum="",
    cluster="",
)


def chosen(name: str, *values: str) -> Json:
    return {
        "id": name,
        "from_name": f"question.{name}",
        "to_name": "passage.prompt",
        "type": "choices",
        "value": {"choices": list(values)},
    }


def piece(start: int, end: int, text: str | None = None, source: str = SOURCE) -> Json:
    """A piece as the page saves it: each line end is a backslash and an n."""
    shown = re.sub(r"[\r\n]", r"\\n", source[start:end]) if text is None else text
    return {
        "id": f"{start}-{end}",
        "from_name": "marker.prompt",
        "to_name": "passage.prompt",
        "type": "labels",
        "value": {"start": start, "end": end, "text": shown, "labels": ["evidence"]},
    }


def said(text: str) -> Json:
    return {
        "from_name": "comment",
        "to_name": "passage.prompt",
        "type": "textarea",
        "value": {"text": [text]},
    }


def annotation(*results: Json, at: str = "2026-01-02T10:00:00.5Z", skipped: bool = False) -> Json:
    return {"result": list(results), "updated_at": at, "was_cancelled": skipped}


def exported(*annotations: Json, drafts: tuple[Json, ...] = (), item: Item = ITEM) -> Json:
    return {
        "id": 7,
        "data": {"prompt": item.texts["prompt"], "reply": "fine", "item": sent_name("a1")},
        "annotations": list(annotations),
        "drafts": list(drafts),
    }


def answer(*results: Json) -> Answer:
    found = returned(exported(annotation(*results)), ITEM, FORM, "A1").answer
    assert found is not None
    return found


UNSAFE, YES = chosen("prompt_safety", "unsafe"), chosen("true", "true\u2060")


def test_an_answer() -> None:
    given_ = answer(UNSAFE, chosen("true", "$\u20605"), piece(4, 15), said("first\nsecond"))
    assert given_ == Answer(
        item="a1",
        annotator="A1",
        standing="done",
        at="2026-01-02T10:00:00.5Z",
        values={"prompt_safety": "unsafe", "true": "$5"},
        spans={"prompt": (Span(start=4, end=15, text="😀 line\r\nand"),)},
        comment="first\nsecond",
    )
    assert Answer.from_json(given_.to_json()) == given_


SOURCES = st.text(st.sampled_from("ab \\n\r\n\t😀🜁e\u0301\u200bשא中"), min_size=1, max_size=30)


@given(st.data(), SOURCES)
def test_marked_pieces_come_back_as_the_source_has_them(data: st.DataObject, source: str) -> None:
    bounds = st.tuples(st.integers(0, len(source)), st.integers(0, len(source)))
    pairs = data.draw(
        st.lists(bounds.map(lambda b: (min(b), max(b))).filter(lambda b: b[0] < b[1]), min_size=1)
    )
    item = replace(ITEM, texts={"prompt": source, "reply": "fine"})
    made = annotation(UNSAFE, YES, *(piece(s, e, source=source) for s, e in pairs))
    found = returned(exported(made, item=item), item, FORM, "A1").answer
    assert found is not None
    assert not found.problems
    spans = found.spans["prompt"]
    assert all(source[s.start : s.end] == s.text for s in spans)
    assert {i for s in spans for i in range(s.start, s.end)} == {
        i for start, end in pairs for i in range(start, end)
    }
    assert all(one.end < other.start for one, other in pairwise(spans))


@pytest.mark.parametrize(
    ("results", "values", "problems"),
    [
        ([YES], {"true": "true"}, {"prompt_safety": "no answer"}),
        ([YES, piece(0, 3)], {"true": "true"}, {"prompt_safety": "no answer"}),
        (
            [UNSAFE, piece(0, 3), {**YES, "value": {}}],
            {"prompt_safety": "unsafe"},
            {"true": "no answer"},
        ),
        (
            [UNSAFE, piece(0, 3), chosen("true", "true\u2060", "$\u20605")],
            {"prompt_safety": "unsafe"},
            {"true": "two values"},
        ),
        (
            [UNSAFE, piece(0, 3), YES, YES],
            {"prompt_safety": "unsafe"},
            {"true": "two values"},
        ),
        (
            [YES, chosen("prompt_safety", "Unsafe")],
            {"true": "true"},
            {"prompt_safety": "not a value of the form"},
        ),
        (
            [YES, UNSAFE],
            {"true": "true", "prompt_safety": "unsafe"},
            {"prompt": "unsafe, with nothing marked"},
        ),
        (
            [YES, chosen("prompt_safety", "safe"), piece(0, 3)],
            {"true": "true", "prompt_safety": "safe"},
            {"prompt": "safe, with pieces marked"},
        ),
    ],
)
def test_what_cannot_be_used(
    results: list[Json], values: dict[str, str], problems: dict[str, str]
) -> None:
    found = answer(*results)
    assert found.values == values
    assert found.problems == problems
    assert "prompt" not in found.problems or not found.spans


@pytest.mark.parametrize(
    "wrong",
    [
        piece(5, 10, "😀 line"),  # code units instead of code points
        piece(
            SOURCE.index("two") + 1, SOURCE.index("two") + 4, "two"
        ),  # elsewhere in the source, and not guessed
        piece(0, 3, "one"),
        piece(0, 3, ""),
        piece(3, 3),
        piece(5, 4),
        piece(-3, 0, "two"),
        piece(-3, len(SOURCE), "two"),
        piece(len(SOURCE) - 3, len(SOURCE) + 1, "two"),
        piece(0, 3) | {"value": {"start": 0, "end": 3, "labels": ["evidence"]}},
        piece(0, 3) | {"value": {"start": "0", "end": "3", "text": "One"}},
    ],
)
def test_a_piece_that_is_not_in_the_source(wrong: Json) -> None:
    found = answer(UNSAFE, YES, piece(0, 3), wrong)
    assert found.problems == {"prompt": "not in the text"}
    assert not found.spans


@pytest.mark.parametrize("end", ["\r\n", "\n", "\\n", "\\n\\n", "\r"])
def test_line_ends_may_be_written_in_any_way(end: str) -> None:
    assert not answer(UNSAFE, YES, piece(4, 15, f"😀 line{end}and")).problems


SAFE = chosen("prompt_safety", "safe")


@pytest.mark.parametrize(
    ("task", "standing", "at", "aside"),
    [
        (exported(annotation(SAFE, YES, at="2026-01-02T09:00:00Z")), "done", "09", 0),
        (
            exported(
                annotation(SAFE, YES, at="2026-01-02T12:00:00+02:00"),
                annotation(SAFE, YES, at="2026-01-02T11:00:00Z"),
                annotation(SAFE, YES, at="2026-01-02T09:00:00Z"),
            ),
            "done", "11", 2,
        ),
        (
            exported(
                annotation(SAFE, YES, at="2026-01-02T11:00:00Z"),
                annotation(at="2026-01-02T12:00:00Z", skipped=True),
            ),
            "skipped", "12", 1,
        ),
        (
            exported(
                annotation(SAFE, YES, at="2026-01-02T11:00:00Z"),
                drafts=({"result": [], "updated_at": "2026-01-02T12:00:00Z"},),
            ),
            "done", "11", 0,
        ),
        (
            exported(
                drafts=(
                    {"result": [SAFE], "updated_at": "2026-01-02T12:00:00Z"},
                    {"result": [UNSAFE], "updated_at": "2026-01-02T13:00:00Z"},
                ),
            ),
            "draft", "13", 0,
        ),
    ],
)  # fmt: skip
def test_the_latest_that_was_finished_counts(
    task: Json, standing: str, at: str, aside: int
) -> None:
    found = returned(task, ITEM, FORM, "A1")
    assert found.answer is not None
    assert (found.answer.standing, found.aside) == (standing, aside)
    assert found.answer.at.startswith(f"2026-01-02T{at}")
    assert bool(found.answer.values) == (standing == "done")
    assert not found.answer.problems


def test_of_skipped_work_only_the_comment_is_read() -> None:
    task = exported(annotation(UNSAFE, piece(0, 3), said("too long"), skipped=True))
    found = returned(task, ITEM, FORM, "A1").answer
    assert found is not None
    assert (found.standing, found.comment) == ("skipped", "too long")
    assert (found.values, found.spans, found.problems) == ({}, {}, {})


def test_nobody_has_begun() -> None:
    assert returned(exported(), ITEM, FORM, "A1") == Returned(answer=None)


def test_relations_between_pieces_mean_nothing() -> None:
    relation = {"type": "relation", "from_id": "0-3", "to_id": "4-5", "direction": "right"}
    assert answer(UNSAFE, YES, piece(0, 3), relation) == answer(UNSAFE, YES, piece(0, 3))


@pytest.mark.parametrize(
    "foreign",
    [
        chosen("other", "x"),
        piece(0, 3) | {"from_name": "marker.reply", "to_name": "passage.reply"},
        YES | {"to_name": "passage.reply"},
        YES | {"type": "rating"},
        {"type": "choices", "value": {"choices": ["x"]}},
    ],
)
@pytest.mark.parametrize("skipped", [False, True])
def test_an_edited_configuration_is_an_error(foreign: Json, skipped: bool) -> None:
    task = exported(annotation(UNSAFE, YES, piece(0, 3), foreign, skipped=skipped))
    name = foreign.get("from_name")
    with pytest.raises(DataError, match=rf"task 7 of A1: .*{name!r}.* form en of demo.*edited"):
        returned(task, ITEM, FORM, "A1")


@pytest.mark.parametrize("data", [{"prompt": SOURCE + "!"}, {"item": "a2"}, {"reply": None}])
def test_other_texts_than_were_sent_are_an_error(data: Json) -> None:
    task = exported(annotation(UNSAFE, YES, piece(0, 3)))
    task["data"] |= data
    with pytest.raises(DataError, match="task 7 of A1: its texts are not those of item a1"):
        returned(task, ITEM, FORM, "A1")
