"""A conversation as the messages that a guard's own chat template takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace.judging.guards.base import Conversation
from trace.judging.guards.text import neutralised
from trace.records import Json

CHATML = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>")
"""What marks turns and thoughts in models made from Qwen. Their templates drop what stands before
`</think>` in an assistant's turn, which would hide a part of the judged text."""

LLAMA_3 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
    *("<|eot_id|>", "<|eom_id|>", "<|python_tag|>"),
)
LLAMA_4 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|header_start|>", "<|header_end|>"),
    *("<|eot|>", "<|eom|>"),
)
GEMMA = ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")


def messages(judged: Conversation, marks: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
    """The user's message, and the assistant's where there is one.

    Args:
        judged: What is judged.
        marks: The template's own marks, broken up where they stand in the texts. An engine does
            this too, for control tokens only; a server does not.
    """
    user = {"role": "user", "content": neutralised(judged.user, marks)}
    if judged.assistant is None:
        return (user,)
    return (user, {"role": "assistant", "content": neutralised(judged.assistant, marks)})
