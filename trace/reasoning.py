"""A model's reasoning, separated from its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_HARMONY = re.compile(r"<\|(start|channel|constrain|message|call|end|return)\|>")
_CHANNEL = re.compile(r"<\|channel>(?:[^\S\n]*\w*[^\S\n]*(?:\n|\Z))?|(<channel\|>)")
_ENDED = re.compile(r"(?:\s*(?:<turn\|>|<eos>|<pad>))+\s*\Z")
_BEGUN_OBJECT = re.compile(r"\s*(?:```\w*\s*)?\{")
_QUOTE = re.compile(r'\\.|(")', re.DOTALL)

CONTROL_MARKED = ("harmony", "gemma")
"""The styles whose marks are control tokens: text must be decoded with those left in."""


@dataclass(frozen=True, slots=True)
class Split:
    """What a model wrote, taken apart.

    `reasoning` is None where there was none or it was empty; several blocks are joined by a blank
    line. `closed` is False where the text ends inside the reasoning: `answer` is then only what
    came before, usually nothing, and must not be read as the model's answer.
    """

    reasoning: str | None
    answer: str
    closed: bool


def split_reasoning(text: str, style: str, *, opened: bool = False) -> Split:
    """Separates reasoning from the answer. Never fails, and splitting an answer changes nothing.

    Args:
        text: What the model wrote, with the control tokens left in for `CONTROL_MARKED` styles.
        style: `think` (`<think>` or `<thinking>` blocks, any number), `harmony` (the channels of
            gpt-oss: `final` is the answer, all others are reasoning), `gemma` (what Gemma 4 writes
            between `<|channel>thought` and `<channel|>`), or `none`.
        opened: The prompt itself ended inside a block, so `text` begins there. A text in which
            only the end of a block stands is taken to be so too.

    Raises:
        ValueError: No such style.
    """
    if style == "think":
        return _think(text, opened)
    if style == "harmony":
        return _harmony(text, opened)
    if style == "gemma":
        return _gemma(text, opened)
    if style == "none":
        return Split(reasoning=None, answer=text, closed=True)
    raise ValueError(f"no reasoning style {style!r}: think, harmony, gemma or none")


def _made(thoughts: list[str], answer: str, closed: bool) -> Split:
    kept = [thought.strip() for thought in thoughts if thought.strip()]
    return Split(reasoning="\n\n".join(kept) or None, answer=answer.strip(), closed=closed)


def _quoted(answer: str) -> bool:
    """Whether `answer` is a JSON object that breaks off inside a string.

    A tag that follows is then text the model quotes. Judged content can hold such tags, and must
    not be able to make a verdict look like reasoning, or a quotation like the verdict.
    """
    begun = _BEGUN_OBJECT.match(answer)
    return bool(begun) and sum(bool(m[1]) for m in _QUOTE.finditer(answer)) % 2 == 1


def _think(text: str, opened: bool) -> Split:
    thoughts: list[str] = []
    answer, inside, at = "", opened, 0
    for tag in _THINK.finditer(text):
        closing, piece = bool(tag[1]), text[at : tag.start()]
        mentioned = not closing if inside else _quoted(answer + piece)
        if mentioned:
            continue
        if inside:
            thoughts.append(piece)
        elif closing:  # the end of a block whose beginning is not in the text
            thoughts.append(answer + piece)
            answer = ""
        else:
            answer = f"{answer}{piece}\n"  # so that two pieces cannot make a tag between them
        inside, at = not closing, tag.end()
    if inside:
        return _made([*thoughts, text[at:]], answer, closed=False)
    return _made(thoughts, answer + text[at:], closed=True)


def _harmony(text: str, opened: bool) -> Split:
    lead, *rest = _HARMONY.split(text)
    thoughts: list[str] = []
    answers: list[str] = []
    channel, final = "analysis" if opened else "final", False
    for token, body in zip(rest[0::2], rest[1::2], strict=True):
        if token == "channel":
            channel = (body.split() or ["analysis"])[0]
            final |= channel == "final"
        elif token == "message":
            (answers if channel == "final" else thoughts).append(body)
        elif token != "constrain":  # what follows the end of a message stands in no channel
            channel = "final"
            answers += [body] if token != "start" else []
    thought = opened or (final and bool(lead.strip()))
    (thoughts if thought else answers).insert(0, lead)
    return _made(thoughts, "\n\n".join(a for a in answers if a.strip()), channel == "final")


def _gemma(text: str, opened: bool) -> Split:
    thoughts: list[str] = []
    answers: list[str] = []
    inside, at = opened, 0
    for mark in _CHANNEL.finditer(text):
        closing = bool(mark[1])
        # An end whose beginning is not in the text: all before it was reasoning.
        thought = inside or (closing and not thoughts)
        (thoughts if thought else answers).append(text[at : mark.start()])
        inside, at = not closing, mark.end()
    (thoughts if inside else answers).append(text[at:])
    pieces = (_ENDED.sub("", piece) for piece in answers)
    answer = "\n".join(piece for piece in pieces if piece.strip())
    return _made([_ENDED.sub("", thought) for thought in thoughts], answer, not inside)
