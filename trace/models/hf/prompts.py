"""From a request to token ids: the chat template applied once, special tokens counted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jinja2 import TemplateError

from trace.errors import ConfigError
from trace.models.unicode import whole_characters
from trace.records import Json, Request

Tokenizer = Any
TODAY = datetime(2026, 1, 1, tzinfo=UTC)
"""What a template that prints today's date is told, so that a prompt is the same every day."""
WORD_JOINER = "\u2060"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A rendered prompt. `opened`: it ends inside a reasoning block that it opened itself."""

    ids: tuple[int, ...]
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTokens:
    """The forced beginning of an answer, and what tells its candidates apart."""

    forced: tuple[int, ...]
    branches: tuple[tuple[int, ...], ...]


def disarm(text: str, special: Sequence[str]) -> str:
    """Breaks up control tokens that stand in `text`, so that data cannot end its own turn.

    An invisible word joiner is put behind the first character of each.
    """
    for token in special:
        if token in text:
            text = text.replace(token, token[0] + WORD_JOINER + token[1:])
    return text


def control_tokens(tokenizer: Tokenizer) -> list[str]:
    """All strings that the tokenizer reads as one control token, the longest first."""
    added = [str(t) for t in tokenizer.added_tokens_decoder.values() if t.special]
    return sorted({*tokenizer.all_special_tokens, *added}, key=lambda t: (-len(t), t))


def render(tokenizer: Tokenizer, request: Request) -> str:
    """The request's messages in the model's chat template, ready to be answered."""
    special = control_tokens(tokenizer)
    messages = [{**m, "content": _disarmed(m["content"], special)} for m in request.messages]
    try:
        text: str = tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            **{
                "add_generation_prompt": True,
                "strftime_now": TODAY.strftime,
                "date_string": TODAY.strftime("%d %b %Y"),
            }
            | dict(request.template_args),
        )
    except (TemplateError, ValueError, TypeError) as error:
        raise ConfigError(
            f"model.template_args: the chat template fails ({error}). Check the arguments against "
            "the template in the model's folder."
        ) from error
    return text


def _disarmed(content: Json, special: Sequence[str]) -> Json:
    """Content as text, or as the list of parts that some templates want."""
    if isinstance(content, str):
        return disarm(content, special)
    return [{**part, "text": disarm(part["text"], special)} for part in content]


def encode(tokenizer: Tokenizer, request: Request) -> Prompt:
    """Renders and tokenises a request; exactly one beginning-of-sequence token if there is one.

    Raises:
        ConfigError: the tokenizer has no chat template, or the template sets two BOS tokens.
    """
    if request.literal is None and not tokenizer.chat_template:
        raise ConfigError(
            "model.id: its tokenizer has no chat template, so it cannot be asked as a chat model. "
            "Choose the instruction-tuned version of the model."
        )
    text = render(tokenizer, request) if request.literal is None else request.literal
    ids: list[int] = tokenizer(whole_characters(text), add_special_tokens=False)["input_ids"]
    bos = tokenizer.bos_token_id
    if bos is not None:
        begins: list[int] = tokenizer("a")["input_ids"]
        if begins[:1] == [bos] and ids[:1] != [bos]:
            ids = [bos, *ids]  # the model was trained with one and its template leaves it out
        if ids[:2] == [bos, bos]:
            raise ConfigError(
                f"model.id: its chat template puts two {tokenizer.bos_token} at the beginning. "
                "Set another template in the model's folder."
            )
    return Prompt(ids=tuple(ids), opened=text.rstrip().endswith("<think>"))


def answer_tokens(tokenizer: Tokenizer, prefix: str, labels: Sequence[str]) -> AnswerTokens:
    """Tokenises `prefix + label` for every label, and splits off what all share.

    Each is tokenised as a whole, since a label's first letters may merge with the prefix.

    Raises:
        ConfigError: one label's tokens are the beginning of another's.
    """
    whole = [continuing(tokenizer, prefix + label) for label in labels]
    shared = 0
    while all(len(ids) > shared + 1 for ids in whole) and len({ids[shared] for ids in whole}) == 1:
        shared += 1
    branches = tuple(tuple(ids[shared:]) for ids in whole)
    for a in branches:
        for b in branches:
            if a is not b and b[: len(a)] == a:
                raise ConfigError(
                    f"protocol: the labels {labels} cannot be told apart in this model's tokens. "
                    "Use protocol.answer=generate."
                )
    return AnswerTokens(forced=tuple(whole[0][:shared]), branches=branches)


def continuing(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of `text` where it goes on from a prompt.

    It is tokenised behind something it cannot merge with, which is then taken off: alone,
    sentencepiece tokenizers would put a space in front of it. An answer follows a line's end in
    every template; what begins with a blank itself would merge with that, so it follows a letter.
    """
    anchor = "a" if text[:1].isspace() else "\n"
    before: list[int] = tokenizer(anchor, add_special_tokens=False)["input_ids"]
    ids: list[int] = tokenizer(anchor + text, add_special_tokens=False)["input_ids"]
    if ids[: len(before)] == before:
        return ids[len(before) :]
    alone: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return alone
