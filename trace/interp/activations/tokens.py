"""A judged answer as tokens, and which of them are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trace.interp.labelled import Labelled
from trace.models.hf import prompts
from trace.models.hf.answers import CLOSE_THOUGHT, FINAL_CHANNEL
from trace.models.local import TextSide
from trace.models.unicode import whole_characters
from trace.records import Json, Request

PLACEHOLDER = "§answer§"


class UnreadableError(Exception):
    """An answer without the position that is read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Tokens up to the last one that is read; the mean over `start` to `stop` is taken.

    Nothing behind `stop` is kept, since a causal model does not see it from there.
    """

    id: str
    ids: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """What a chat template puts between its generation prompt and an answer, and behind it."""

    header: str
    end: int | None


def row_of(text: TextSide, one: Labelled, position: str) -> Row:
    """The tokens that the model saw when it wrote the answer, as far as they are read.

    The tokens of the prompt and those of the answer are joined, as they are in generation, so the
    borders between them are known and need not be found again. What stands between them (a
    channel, the reasoning) and the token that ends the turn are the chat template's.

    Args:
        text: the tokenizer side of the model that reads; not always the one that wrote.
        one: the request and its answer.
        position: `config.Position`.

    Raises:
        UnreadableError: there is no such token, or it stands outside of the context.
    """
    prompt = prompts.encode(text.tokenizer, one.request)
    before = prompt.ids
    if position == "prompt_end":
        return _fitting(Row(id=one.id, ids=before, start=len(before) - 1, stop=len(before)), text)
    if not one.response.text.strip():
        raise UnreadableError("the answer is empty")
    turn = _turn(text.tokenizer, one.request)
    before += _continuing(text, _thought(text, one, prompt.opened) or turn.header)
    ids = before + _continuing(text, _disarmed(text, one.response.text))
    if position == "response_end":
        if one.response.finish != "stop":
            raise UnreadableError("the answer is cut off, so no token ends it")
        if turn.end is None:
            raise UnreadableError("the model has no token that ends an answer")
        return _fitting(
            Row(id=one.id, ids=(*ids, turn.end), start=len(ids), stop=len(ids) + 1), text
        )
    start = {"response_last": len(ids) - 1, "response_mean": len(before)}[position]
    return _fitting(Row(id=one.id, ids=ids, start=start, stop=len(ids)), text)


def _fitting(row: Row, text: TextSide) -> Row:
    if len(row.ids) > text.context:
        raise UnreadableError(f"{len(row.ids)} tokens; {text.context} fit into the context")
    return row


def _continuing(text: TextSide, written: str) -> tuple[int, ...]:
    if not written:
        return ()
    return tuple(prompts.continuing(text.tokenizer, whole_characters(written)))


def _disarmed(text: TextSide, written: str) -> str:
    """What an answer says, without control tokens that another model may have written as text."""
    return prompts.disarm(written, prompts.control_tokens(text.tokenizer))


def _thought(text: TextSide, one: Labelled, opened: bool) -> str:
    """The reasoning as the model writes it in front of its answer; none of another model's."""
    style = text.settings.reasoning
    reasoning = _disarmed(text, one.response.reasoning or "")
    if opened:
        return reasoning + CLOSE_THOUGHT
    if not reasoning or style == "none":
        return ""
    return {
        "think": f"<think>\n{reasoning}{CLOSE_THOUGHT}",
        "harmony": "<|channel|>analysis<|message|>"
        f"{reasoning}<|end|><|start|>assistant{FINAL_CHANNEL}",
        "gemma": f"<|channel>thought\n{reasoning}<channel|>",
    }[style]


def _turn(tokenizer: Any, request: Request) -> _Turn:
    """Read off the template by rendering a placeholder as the answer."""
    if request.literal is not None:
        return _Turn("", tokenizer.eos_token_id)
    content: Json = PLACEHOLDER
    if not isinstance(request.messages[-1]["content"], str):
        content = [{"type": "text", "text": PLACEHOLDER}]
    answered = replace(
        request,
        messages=(*request.messages, {"role": "assistant", "content": content}),
        template_args={**request.template_args, "add_generation_prompt": False},
    )
    prompt, whole = prompts.render(tokenizer, request), prompts.render(tokenizer, answered)
    until, _, behind = whole.rpartition(PLACEHOLDER)
    ends = [
        (behind.index(token), tokenizer.convert_tokens_to_ids(token))
        for token in prompts.control_tokens(tokenizer)  # the longest first, and min takes the first
        if token in behind
    ]
    end = min(ends, key=lambda found: found[0])[1] if ends else tokenizer.eos_token_id
    # A template may open its generation prompt otherwise than it shows the past (reasoning).
    return _Turn(until.removeprefix(prompt) if until.startswith(prompt) else "", end)
