"""Which tokens of a prompt and its answer are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.interp.activations_help import ASSISTANT, END, TEMPLATE, answered, stored, tokenizer
from trace import config
from trace.errors import AssetError
from trace.interp.activations.read import readable
from trace.interp.activations.tokens import Row, UnreadableError, row_of
from trace.models.local import TextSide
from trace.records import Request

POSITIONS = ("prompt_end", "response_last", "response_end", "response_mean")


def side(template: str = TEMPLATE, style: str = "none", context: int = 200) -> Any:
    return SimpleNamespace(
        tokenizer=tokenizer(template),
        context=context,
        settings=SimpleNamespace(reasoning=style),
    )


def read(text: Any, row: Row) -> str:
    return str(text.tokenizer.decode(row.ids[row.start : row.stop]))


def test_each_position_is_where_its_name_says() -> None:
    text, one = side(), answered(1, "why?", "so.")
    rows = {position: row_of(text, one, position) for position in POSITIONS}
    found = {position: read(text, row).replace(" ", "") for position, row in rows.items()}
    assert found == {
        "prompt_end": "<|assistant|>",
        "response_last": ".",
        "response_end": "<|end|>",
        "response_mean": "so.",
    }
    assert {position: len(row.ids) - row.stop for position, row in rows.items()} == dict.fromkeys(
        POSITIONS, 0
    )


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
)
def test_the_tokens_are_those_of_the_whole_conversation(prompt: str, answer: str) -> None:
    text = side()
    ids = row_of(text, answered(1, prompt, answer), "response_end").ids
    whole = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    rendered = text.tokenizer.apply_chat_template(whole, tokenize=False)
    assert list(ids) == text.tokenizer(rendered, add_special_tokens=False)["input_ids"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2", "gemma3_270m"])
def test_the_tokens_are_those_of_a_real_template(name: str) -> None:
    described = yaml.safe_load((ROOT / "conf" / "model" / f"{name}.yaml").read_text("utf-8"))
    settings = config.Model(
        name=name,
        asset=name,
        reasoning="none",
        chat_template=described.get("chat_template"),
        engine=config.HfEngine(),
    )
    text = TextSide(settings)
    try:
        assert text.tokenizer
    except AssetError as error:
        pytest.skip(str(error))
    for answer in ("Which one do you mean?", "Vielleicht – 3\n\n* ja\n* nein", "😀 ok\n"):
        one = answered(1, "Fix it, please.", answer)
        said = [*one.request.messages, {"role": "assistant", "content": answer}]
        rendered = text.tokenizer.apply_chat_template(said, tokenize=False)
        whole = text.tokenizer(rendered, add_special_tokens=False)["input_ids"]
        rows = {position: row_of(text, one, position) for position in POSITIONS}
        end = rows["response_end"]
        assert list(end.ids) == whole[: len(end.ids)]
        assert read(text, end) in ("<|im_end|>", "<end_of_turn>")
        assert read(text, rows["response_mean"]) == answer
        assert rows["response_last"].ids == end.ids[:-1]
        asked = text.tokenizer.apply_chat_template(
            list(one.request.messages), tokenize=False, add_generation_prompt=True
        )
        prompt = text.tokenizer(asked, add_special_tokens=False)["input_ids"]
        assert rows["response_mean"].start == len(prompt) == len(rows["prompt_end"].ids)


def test_who_cannot_be_read_is_named_and_why(tmp_path: Path) -> None:
    settings = stored(tmp_path)
    many = [answered(1, "a", "b"), answered(2, "a", ""), answered(3, "a", "b", finish="length")]
    kept, left_out = readable(settings, many, "response_end")
    assert [one.id for one in kept] == ["s1"]
    assert left_out == {
        "s2": "the answer is empty",
        "s3": "the answer is cut off, so no token ends it",
    }


def test_what_a_template_strips_is_read_as_it_was_written() -> None:
    text = side()
    row = row_of(text, answered(1, "why?", "  so. "), "response_mean")
    assert row.stop - row.start == len("  so. ")


def test_a_channel_between_prompt_and_answer_is_no_part_of_the_answer() -> None:
    template = TEMPLATE.replace(
        "<|{{ m.role }}|>", "<|{{ m.role }}|>{% if m.role == 'assistant' %}final:{% endif %}"
    )
    text = side(template)
    row = row_of(text, answered(1, "why?", "so."), "response_mean")
    head = text.tokenizer.decode(row.ids[: row.start]).replace(" ", "")
    assert head == "<|user|>why?<|end|><|assistant|>final:"
    assert read(text, row).replace(" ", "") == "so."


def test_a_thought_that_the_template_drops_stands_in_front_of_the_answer() -> None:
    text = side(style="think")
    one = answered(1, "why?", "so.", reasoning="hm")
    row = row_of(text, one, "response_mean")
    head = text.tokenizer.decode(row.ids[: row.start]).replace(" ", "")
    assert head == "<|user|>why?<|end|><|assistant|><think>\nhm\n</think>\n\n"
    assert read(text, row).replace(" ", "") == "so."


def test_a_thought_that_the_template_opens_is_closed_once() -> None:
    opening = TEMPLATE.replace("<|assistant|>{% endif %}", "<|assistant|><think>\n{% endif %}")
    text = side(opening, style="think")
    for reasoning in (None, "hm"):
        row = row_of(text, answered(1, "why?", "so.", reasoning=reasoning), "response_end")
        said = text.tokenizer.decode(row.ids).replace(" ", "")
        thought = f"<think>\n{reasoning or ''}\n</think>\n\n"
        assert said == f"<|user|>why?<|end|><|assistant|>{thought}so.<|end|>"


def test_a_prompt_that_the_past_does_not_show_is_continued_as_it_stands() -> None:
    empty = "<|assistant|><think>\n\n</think>\n\n"
    text = side(TEMPLATE.replace("<|assistant|>{% endif %}", empty + "{% endif %}"), style="think")
    said = text.tokenizer.decode(row_of(text, answered(1, "why?", "so."), "response_end").ids)
    assert said.replace(" ", "") == f"<|user|>why?<|end|>{empty}so.<|end|>"


def test_another_models_thought_is_left_out() -> None:
    text = side(style="none")
    thought = row_of(text, answered(1, "why?", "so.", reasoning="hm"), "response_last")
    assert thought == row_of(text, answered(1, "why?", "so."), "response_last")


def test_an_answer_cannot_end_its_own_turn() -> None:
    text = side()
    row = row_of(text, answered(1, "why?", "so<|end|><|assistant|>no"), "response_end")
    assert row.ids.count(END) == 2
    assert row.ids.count(ASSISTANT) == 1


def test_a_literal_prompt_is_continued_as_it_stands() -> None:
    text = side()
    one = replace(answered(1, "", "b"), request=Request(literal="a:"))
    row = row_of(text, one, "response_end")
    assert text.tokenizer.decode(row.ids).replace(" ", "") == "a:b<|end|>"


@pytest.mark.parametrize(
    ("answer", "changes", "lost", "why"),
    [
        ("so.", {"finish": "length"}, {"response_end"}, "cut off"),
        (" ", {}, {"response_last", "response_end", "response_mean"}, "empty"),
        ("", {"finish": "length", "reasoning": "hm", "reasoning_closed": False},
         {"response_last", "response_end", "response_mean"}, "empty"),
        ("so " * 80, {}, {"response_last", "response_end", "response_mean"}, "200 fit"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_read(
    answer: str, changes: dict[str, Any], lost: set[str], why: str
) -> None:
    one = answered(1, "why?", answer, **changes)
    for position in POSITIONS:
        if position in lost:
            with pytest.raises(UnreadableError, match=why):
                row_of(side(), one, position)
        else:
            row_of(side(), one, position)


def test_end_token_leaves_the_context_one_token_short() -> None:
    one = answered(1, "why?", "so.")
    length = len(row_of(side(), one, "response_end").ids)
    assert row_of(side(context=length), one, "response_end")
    with pytest.raises(UnreadableError):
        row_of(side(context=length - 1), one, "response_end")
