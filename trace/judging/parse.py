"""From a judge's reply to a verdict: strict, pure, and total.

A label is read only where the judge wrote all of it, as the label field of an object or as the
whole reply, and never guessed from words around it. The reader of objects is our own because a
repairer of JSON completes what was cut off and lets the last of two keys win: both make up labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from trace.judging.labels import LabelSet, fold, visible
from trace.reasoning import split_reasoning
from trace.records import Finish, Status, Verdict

BY_FINISH: dict[Finish, Status] = {
    "too_long": "too_long",
    "content_filter": "refused",
    "error": "error",
}
"""How an answer ended that decides its verdict, whatever it says."""
_NO_WORD = ("null", "none", "true", "false", "nan", "undefined")
_QUOTES = "\"'“"
_STRING = r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|“[^“”]*+[“”])"""
_TEXT = re.compile(_STRING, re.DOTALL)
_BARE = re.compile(r"""[^\s"'“”{}\[\],，][^"“”{}\[\],，\n]*+""")
_KEY = re.compile(rf"\s*(?:({_STRING})|(\w+))\s*[:：]\s*", re.DOTALL)
_QUOTED_KEY = re.compile(rf"({_STRING})\s*[:：]\s*", re.DOTALL)
_CLOSE = re.compile(r"\s*\}")
_COMMA = re.compile(r"\s*[,，]")
# A string that is a key or the second of two answers: `{"verdict": "Safe", "Unsafe"` is no verdict.
_CUT_KEY = re.compile(
    r"""\s*(?:["'“][^"'“”]*+|["'“](?:reasoning|evidence)["'”]|\w*+)\s*\Z""", re.IGNORECASE
)
_END = re.compile(r"\s*\Z")
_OPEN = re.compile(r"""\{|\[(?=\s*(?:[\[{"'“\d]|(?:true|false|null|none)\b))""", re.IGNORECASE)
_NESTED = re.compile(
    rf"{_STRING}|(?P<open>[{{\[])|(?P<close>[}}\]])|(?P<cut>[{_QUOTES}])", re.DOTALL
)
_ITEM = re.compile(rf"\s*({_STRING})\s*(?:[,，]|(?=\])|\Z)", re.DOTALL)
_LIST_END = re.compile(rf"\s*(?:\]|(?:[{_QUOTES}].*)?)", re.DOTALL)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[\\"]')
_FENCED = re.compile(r"\s*(`{3,}|~{3,})\w*\s*\n(.*)\n\s*\1\s*", re.DOTALL)
_REFUSAL = re.compile(
    r"\W*(?:unfortunately,? )?(?:as an ai\b|(?:(?:i am|i['’]m|we are|we['’]re) )?(?:\w+ )?sorry\b"
    r"|(?:i|we|my) apolog\w+|i (?:must |have to )?(?:decline|refuse)\b"
    r"|(?:i|we) (?:cannot|can not|can['’]?t|won['’]?t|will not|am (?:unable|not able) to) "
    r"(?:help|assist|comply|fulfil|provide|answer|judge|evaluate|assess|engage|continue|respond)"
    r"|(?:很|非常)?(?:抱歉|对不起)|我(?:不能|无法)(?:提供|协助|帮助|回答|完成|评估|判断))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an outermost object; `value` is None where it is an object or a list.

    `texts` are the strings of a list of strings, as far as it goes.
    `state` is `cut` where the text ends before the value does, and `broken` where neither the end
    of the object nor another field stands behind it: `"Safe" or "Unsafe"`, `"Safe", "Unsafe"`.
    """

    key: str
    value: str | None
    quoted: bool
    state: Literal["whole", "cut", "broken"]
    texts: tuple[str, ...] = ()


def parse_verdict(
    text: str,
    labels: LabelSet,
    *,
    field_names: tuple[str, ...] = ("verdict", "label", "classification"),
    reasoning_style: str = "think",
    finish: Finish = "stop",
) -> Verdict:
    """Reads the verdict out of a reply.

    Reasoning is removed first. Then every outermost object is read, whatever stands around it
    (prose, fences) and however it is quoted. All label fields must read as one and the same label.
    Only an object's own fields count, and an object in a list is not outermost: neither
    `{"result": {"verdict": "Safe"}}` nor `[{"verdict": "Safe"}]` has a label. A label field counts
    once its value is complete, even if the object is cut off or damaged behind it; what stands in
    the damaged part can contradict, but not give a label. A reply without a label field counts if
    the whole of it is a label.

    Args:
        text: The whole reply.
        labels: The labels that may be answered, and how each may be written.
        field_names: Names of the label field, in any case.
        reasoning_style: As in `split_reasoning`.
        finish: Why the model stopped. `too_long`, `content_filter` (`refused`) and `error` decide
            the status, whatever the text is.

    Returns:
        `ok` with the label's canonical name, the field `reasoning` as rationale, and the strings of
        the field `evidence` (a list of them, or one) as evidence, blank ones left out. Other kinds
        of evidence are none: they take nothing from the label. Without a label: `truncated` where
        the reasoning is not closed, or the tokens ran out (`length`) before a label field was
        complete; `refused` for an apology without a label field; and `unparsable` for the rest.
    """
    if finish in BY_FINISH:
        return Verdict(status=BY_FINISH[finish])
    split = split_reasoning(text, reasoning_style)
    if not split.closed:
        return Verdict(status="truncated")
    reply = visible(split.answer)
    names = frozenset(map(fold, field_names))
    fields, doubts = _outermost_fields(reply)
    claims = [f for f in fields if fold(f.key) in names]
    if claims:
        doubted = [f for f in doubts if fold(f.key) in names]
        read = {_label(f, labels) for f in (*claims, *doubted)}
        if len(read) == 1 and (label := read.pop()) is not None:
            said = (f.value for f in fields if fold(f.key) == "reasoning" and f.quoted)
            quoted = (_quotes(f) for f in fields if fold(f.key) == "evidence")
            return Verdict(
                status="ok",
                label=label,
                rationale=next(said, None),
                evidence=next(quoted, ()),
            )
        cut = finish == "length" and claims[-1].state == "cut"
        return Verdict(status="truncated" if cut else "unparsable")
    if finish == "length":  # what looks like a bare label may be the beginning of another word
        return Verdict(status="truncated")
    fenced = _FENCED.fullmatch(reply)
    if (label := labels.read(fenced[2] if fenced else reply)) is not None:
        return Verdict(status="ok", label=label)
    return Verdict(status="refused" if _REFUSAL.match(reply) else "unparsable")


def _label(field: _Field, labels: LabelSet) -> str | None:
    if field.value is None or field.state != "whole":
        return None
    if not field.quoted and field.value.casefold() in _NO_WORD:
        return None
    return labels.read(field.value)


def _quotes(field: _Field) -> tuple[str, ...]:
    one = (field.value,) if field.quoted and field.value is not None else ()
    return tuple(quote for quote in field.texts or one if quote.strip())


def _outermost_fields(text: str) -> tuple[list[_Field], list[_Field]]:
    """The fields of all outermost objects; and whatever looks like one from the first damage on."""
    fields: list[_Field] = []
    damage: int | None = None
    at = 0
    while opening := _OPEN.search(text, at):
        at = opening.end()
        if opening[0] == "[":
            at = _after_nested(text, opening.start()) or len(text)
            continue
        found, end, sound = _read_object(text, at)
        fields += found
        if sound:
            at = end
        elif found:  # else it is a brace of the prose
            damage = end if damage is None else damage
            at = _closing_brace(text, end)
    return fields, [] if damage is None else list(_fields_in_ruins(text, damage))


def _read_object(text: str, at: int) -> tuple[list[_Field], int, bool]:
    """The fields of the object whose brace ends at `at`, where reading ended, and whether well."""
    fields: list[_Field] = []
    while (close := _CLOSE.match(text, at)) is None:
        key = _KEY.match(text, at)
        if key is None:
            return fields, at, bool(fields) and _CUT_KEY.match(text, at) is not None
        field, at = _read_field(text, key)
        fields.append(field)
        if field.state != "whole":
            return fields, at, field.state == "cut"
        if comma := _COMMA.match(text, at):
            at = comma.end()
    return fields, close.end(), True


def _read_field(text: str, key: re.Match[str]) -> tuple[_Field, int]:
    """The field whose key and colon were matched, and where its value ends."""
    name, at = _decoded(key[1]) if key[1] else key[2], key.end()
    first = text[at : at + 1]
    value: str | None = None
    end: int | None = None
    texts: tuple[str, ...] = ()
    if string := _TEXT.match(text, at):
        value, end = _decoded(string[0]), string.end()
    elif first in ("{", "["):
        end = _after_nested(text, at)
        texts = _texts(text[at:end])
    elif bare := _BARE.match(text, at):  # complete only when something stands behind it
        value = bare[0].rstrip()
        end = None if _END.match(text, bare.end()) else bare.end()
    elif first and first in _QUOTES:
        value = _decoded(text[at:] + first)
    elif first:
        end = at
    quoted = value is not None and first in _QUOTES
    if end is None:
        return _Field(name, value, quoted, "cut", texts), len(text)
    comma = _COMMA.match(text, end)
    follow = (_KEY, _CLOSE, _CUT_KEY) if comma else (_CLOSE, _END)
    whole = any(mark.match(text, comma.end() if comma else end) for mark in follow)
    return _Field(name, value, quoted, "whole" if whole else "broken", texts), end


def _texts(listed: str) -> tuple[str, ...]:
    """The strings of a list that holds nothing else; of one that was cut, those before the cut."""
    found: list[str] = []
    at = 1
    while item := _ITEM.match(listed, at):
        found.append(_decoded(item[1]))
        at = item.end()
    return tuple(found) if listed[0] == "[" and _LIST_END.fullmatch(listed, at) else ()


def _fields_in_ruins(text: str, at: int) -> Iterator[_Field]:
    return (_read_field(text, key)[0] for key in _QUOTED_KEY.finditer(text, at))


def _after_nested(text: str, at: int) -> int | None:
    """Where the object or list that begins at `at` ends; None where the text ends before it."""
    depth = 0
    for token in _NESTED.finditer(text, at):
        if token.lastgroup == "cut":
            return None
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth == 0:
            return token.end()
    return None


def _closing_brace(text: str, at: int) -> int:
    """Where the damaged object around `at` ends, by its braces alone; else the text's end."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[at:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return at + brace.end()
    return len(text)


def _decoded(string: str) -> str:
    """The text of a quoted string in any quotes; an escape that JSON lacks is its character."""

    def mended(escape: re.Match[str]) -> str:
        return {"\\": "", '"': '\\"'}.get(escape[0], escape[0])

    body = _ESCAPE.sub(mended, string[1:-1])
    decoded: str = json.loads(f'"{body}"', strict=False)
    return decoded.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
