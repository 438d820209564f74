from __future__ import annotations

import json
from dataclasses import replace

import pytest

from trace.annotation.form import Form, Marking, Option, Passage, Question
from trace.annotation.item import Item
from trace.annotation.task import sent_name, task
from trace.errors import DataError
from trace.records import Span

FORM = Form(
    study="demo",
    name="form-name",
    title="",
    language="en",
    passages=(
        Passage(
            name="prompt",
            title="Prompt",
            questions=(
                Question(name="safety", title="Safe?", options=(Option(value="no", shown="No"),)),
            ),
            marking=Marking(shown="evidence", question="safety", value="no"),
        ),
        Passage(name="reply", title="Reply"),
    ),
)


def item(prompt: str) -> Item:
    return Item(
        id="a1",
        form="form-name",
        texts={"prompt": prompt, "reply": "fine", "hidden": "passage-not-shown"},
        labels={"safety": "gold-label"},
        stratum="gold-stratum",
        cluster="gold-cluster",
        spans={"prompt": (Span(start=0, end=1, text="gold-piece"),)},
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://example.com/x.png",
        "s3://bucket/key",
        "/data/local-files/?d=x",
        "$reply {{reply}}",
        '{"prompt": 1}',
        "<script>alert(1)</script>",
        "a\r\nb\rc\u2028d\u0085e\x0bf\x1b",
        "😀 e\u0301 שלום \u200b\ufeff",
        "word " * 200_000,
    ],
)
def test_texts_go_out_as_they_are(text: str) -> None:
    made = json.loads(json.dumps(task(item(text), FORM)))
    assert made == {"data": {"prompt": text, "reply": "fine", "item": sent_name("a1")}}


def test_nothing_gives_a_label_away() -> None:
    one = replace(item("text"), id="question 7, answered by gpt-gold")
    made = json.dumps(task(one, FORM))
    for hidden in (
        "question 7",
        "gpt",
        "gold",
        "stratum",
        "cluster",
        "safety",
        "label",
        "span",
        "form-name",
        "hidden",
    ):
        assert hidden not in made


@pytest.mark.parametrize(
    ("bad", "code"), [("\x00", "0000"), ("\ud83d", "D83D"), ("\udc00", "DC00")]
)
def test_what_would_not_come_back_is_refused(bad: str, code: str) -> None:
    with pytest.raises(DataError, match=rf"item a1: its prompt has U\+{code} at character 3,"):
        task(item(f"ab😀{bad}c"), FORM)
