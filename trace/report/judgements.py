"""Judgements from a file: a line an item, respondent, condition, judge and measure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, get_args

from trace.errors import DataError
from trace.records import Json, Status
from trace.tracking.files import numbered_jsonl

STATUSES: tuple[Status, ...] = get_args(Status)
HUMAN = "human"
"""The judge under whose name the labels of people stand. It has no vote on a panel."""

_NAMES = ("item", "respondent", "condition", "judge")
_OWN = {*_NAMES, "label", "measure", "status", "score", "epoch"}
EXAMPLE = (
    'A line is like {"item": "q1", "respondent": "model-a", "condition": "oracle", "judge": '
    '"guard-b", "label": "unsafe"}.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge said of one answer.

    `label` is None unless `status` is ok. `score` is P(unsafe), where the judge gives one. `epoch`
    tells repeats of the same request apart, and `arm` ways to judge the same answer. `columns`
    describe the item, and are what results are broken down by.
    """

    item: str
    respondent: str
    condition: str
    judge: str
    measure: str
    label: str | None
    status: Status = "ok"
    score: float | None = None
    epoch: int = 0
    arm: str = ""
    columns: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The words of a study.

    `labels` maps each measure to its labels, by their spellings; `default` is the measure of lines
    that name none. `conditions` and `columns` map other spellings of names to the study's own;
    any further name stays as it is, unless `values` has all that the condition or a column can be.

    Where the kind of item decides which labels there are, `rubric` is the column that says it: it
    stands in the place of `measure` and every line has it. `arms` are the ways in which one answer
    was judged, the first being that of lines that name none; without any, `arm` is a column.
    """

    labels: Mapping[str, Mapping[str, str]]
    default: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    rubric: str | None = None
    arms: tuple[str, ...] = ()


def read_judgements(path: Path, words: Vocabulary) -> Iterator[Judgement]:
    r"""Reads a JSONL file line by line, checking each line and that no two contradict each other.

    A line has `item`, `respondent`, `condition`, `judge` and `label`, and may have `measure`,
    `status`, `score`, `epoch` and, if there are several, `arm`. A judge that gave no label has
    `"label": null` and the `status` that says why. Every other key is a column of the item: text,
    a number, true, false or null (not known), the same on all lines of the item that have it.

    Args:
        path: of the file, in UTF-8.
        words: the labels of each measure, and other spellings of names.

    Raises:
        DataError: the file cannot be read or has no line; a line is not as it should be; a judge
            judges an answer twice; or two lines of an item differ in a column. The message names
            the line.
    """
    seen: dict[tuple[str | int, ...], int] = {}
    columns: dict[tuple[str, str], tuple[Json, int]] = {}
    for number, value in numbered_jsonl(path):
        at = f"{path}, line {number}"
        one = _judgement(value, words, at)
        key = (one.item, one.respondent, one.condition, one.epoch, one.judge, one.measure, one.arm)
        if (first := seen.setdefault(key, number)) != number:
            what = "" if words.rubric else f"the {one.measure} of "
            arm = f", arm {one.arm}" if one.arm else ""
            raise DataError(
                f"{at}: {one.judge} has judged {what}this answer on line {first} "
                f"(item {one.item}, respondent {one.respondent}, condition {one.condition}, epoch "
                f"{one.epoch}{arm}). Keep one of the two; repeats of an answer differ in `epoch`."
            )
        for name, content in one.columns.items():
            known, where = columns.setdefault((one.item, name), (content, number))
            if not _same(known, content):
                raise DataError(
                    f"{at}: {name}: is {content!r} for item {one.item}, and {known!r} on line "
                    f"{where}. A column describes the item, so it is the same on all of its lines: "
                    "correct one, or leave the column out."
                )
        yield one
    if not seen:
        raise DataError(f"{path}: has no judgement. {EXAMPLE}")


def _judgement(value: Json, words: Vocabulary, at: str) -> Judgement:
    if not isinstance(value, dict):
        raise DataError(f"{at}: is no JSON object. {EXAMPLE}")
    for name in (*_NAMES, "label", *filter(None, [words.rubric])):
        if name not in value:
            raise DataError(f"{at}: {name}: is missing. {EXAMPLE}")
    item, respondent, condition, judge = (_text(value, name, at) for name in _NAMES)
    kind = words.rubric or "measure"
    measure = _text(value, kind, at) if kind in value else words.default
    if measure not in words.labels:
        _refuse(at, kind, measure, f"Choose one of {', '.join(words.labels)}.")
    condition = words.conditions.get(condition, condition)
    _check_value("condition", condition, words, at)
    arm = value.get("arm", words.arms[0]) if words.arms else ""
    if words.arms and arm not in words.arms:
        _refuse(at, "arm", arm, f"Choose one of {', '.join(words.arms)}.")
    label, status = _verdict(value, measure, words.labels[measure], at)
    return Judgement(
        item=item,
        respondent=respondent,
        condition=condition,
        judge=judge,
        measure=measure,
        label=label,
        status=status,
        score=_score(value, at),
        epoch=_epoch(value, at),
        arm=arm,
        columns=_columns(value, words, at) if len(value) > 5 else {},
    )


def _verdict(
    value: Mapping[str, Any], measure: str, labels: Mapping[str, str], at: str
) -> tuple[str | None, Status]:
    said, status = value["label"], value.get("status")
    if status is not None and status not in STATUSES:
        _refuse(at, "status", status, f"Choose one of {', '.join(STATUSES)}.")
    if said is None:
        if status in (None, "ok"):
            raise DataError(
                f"{at}: label: is null, and `status` does not say why. Add one of "
                f"{', '.join(STATUSES[1:])}; or leave the line out if this judge was not asked."
            )
        return None, status
    if status not in (None, "ok"):
        raise DataError(
            f"{at}: status: is {status}, beside the label {said!r}. Only ok has a label: write "
            "null in its place, or correct the status."
        )
    if not isinstance(said, str) or said not in labels:
        choices = ", ".join(dict.fromkeys(labels))
        _refuse(at, "label", said, f"The labels of {measure} are {choices}; null is none.")
    return labels[said], "ok"


def _text(value: Mapping[str, Any], name: str, at: str) -> str:
    text = value[name]
    if not isinstance(text, str) or not text.strip():
        _refuse(at, name, text, f"It is a text that is not empty. {EXAMPLE}")
    return text


def _score(value: Mapping[str, Any], at: str) -> float | None:
    score = value.get("score")
    if score is None:
        return None
    # The negation also catches what is neither greater nor less.
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        _refuse(at, "score", score, "It is the probability of unsafe, from 0 to 1, or null.")
    return float(score)


def _epoch(value: Mapping[str, Any], at: str) -> int:
    epoch = value.get("epoch", 0)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
        _refuse(at, "epoch", epoch, "It is a whole number, 0 for the first answer.")
    return int(epoch)


def _columns(value: Mapping[str, Any], words: Vocabulary, at: str) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, content in value.items():
        if name in _OWN - {words.rubric} or content is None or (name == "arm" and words.arms):
            continue
        if isinstance(content, dict | list) or (
            isinstance(content, float) and not math.isfinite(content)
        ):
            _refuse(at, name, content, "A column is text, a finite number, true, false or null.")
        own = words.columns.get(name, name)
        _check_value(own, content, words, at)
        if own in found and not _same(found[own], content):
            raise DataError(
                f"{at}: {name}: is {content!r}, and {own} is {found[own]!r}, which says the same "
                "in another spelling. Keep one."
            )
        found[own] = content
    return found


def _check_value(name: str, value: Json, words: Vocabulary, at: str) -> None:
    allowed = words.values.get(name)
    if allowed is not None and not any(_same(value, one) for one in allowed):
        choices = ", ".join(one if isinstance(one, str) else json.dumps(one) for one in allowed)
        _refuse(at, name, value, f"Choose one of {choices}.")


def _same(a: Json, b: Json) -> bool:
    """Whether two columns are equal; true is not 1."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _refuse(at: str, name: str, value: Json, instead: str) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    raise DataError(f"{at}: {name}: {shown} is not allowed. {instead}")
