"""How written tokens become a completion where control tokens mark the reasoning."""

from __future__ import annotations

import pytest

from trace.models.hf.answers import Row, Runner
from trace.models.hf.prefixes import Prefixes
from trace.records import Request

WORDS = {1: "<|channel>", 2: "thought\n", 3: "is it?", 4: "<channel|>", 5: "Yes.", 6: "<turn|>"}
SPECIAL = {1, 4, 6}


class Tokenizer:
    """Decodes word for word, control tokens only where they are asked for."""

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return "".join(WORDS[i] for i in ids if not (skip_special_tokens and i in SPECIAL))


def runner(style: str) -> Runner:
    tokenizer = Tokenizer()
    return Runner(model=None, tokenizer=tokenizer, ends={6}, style=style, version="",
                  prefixes=Prefixes.__new__(Prefixes))  # fmt: skip


ROW = Row(request=Request(), key="k", ids=(9,), opened=False, room=9)


@pytest.mark.parametrize(
    ("ids", "text", "reasoning", "closed", "finish"),
    [
        ([1, 2, 3, 4, 5, 6], "Yes.", "is it?", True, "stop"),
        ([1, 2, 3, 4, 5], "Yes.", "is it?", True, "length"),
        ([1, 2, 3], "", "is it?", False, "length"),
        ([5, 6], "Yes.", None, True, "stop"),
    ],
)
def test_gemma_is_split_at_its_control_tokens(
    ids: list[int], text: str, reasoning: str | None, closed: bool, finish: str
) -> None:
    made = runner("gemma")._completion(ROW, ids)
    assert (made.text, made.reasoning, made.reasoning_closed, made.finish) == (
        text, reasoning, closed, finish,
    )  # fmt: skip


def test_elsewhere_they_are_left_out() -> None:
    assert runner("none")._completion(ROW, [5, 6]).text == "Yes."


def test_vllm_splits_them_alike() -> None:
    from trace.models.vllm.answers import written

    class Output:
        finish_reason = "stop"
        token_ids = (1, 2, 3, 4, 5, 6)

    made = written(ROW, Output(), Tokenizer(), "gemma")
    assert (made.text, made.reasoning, made.reasoning_closed) == ("Yes.", "is it?", True)
