"""What files beside a benchmark say of single samples: judges without a vote, labels by humans."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from trace import config
from trace.benchmarks.clarify import items as clarify_items
from trace.benchmarks.cross_lab.items import read_items
from trace.benchmarks.load import load
from trace.config.groups import Part
from trace.config.retrieval import Retrieval
from trace.errors import DataError
from trace.records import Json
from trace.tracking.files import numbered_jsonl

LABELS = ("safe", "unsafe")
ABOUT = {
    "part": (get_args(Part), "part of the sample"),
    "condition": (get_args(Retrieval), "condition's answer"),
}
"""Field of a line -> its choices and what it tells, where a condition decides what is labelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What the files of `judges.exclusions` and `scoring.labelled` say.

    `excluded` maps a sample to the judges whose vote on it is set aside; `unsafe` one that humans
    labelled to whether it is unsafe, and is None without such labels. `origin` has the sha256 of
    each file that was read, `notes` what is to be said of them.
    """

    excluded: Mapping[str, frozenset[str]]
    unsafe: Mapping[str, bool] | None
    origin: Mapping[str, str]
    notes: tuple[str, ...]


def read_beside(settings: config.Root, drawn: Collection[str]) -> Beside:
    """Reads both files, as far as the configuration names them.

    With `limit`, they may speak of samples that were not drawn. Where the condition picks the part
    of a sample that is judged, or the documents that were answered with, each label says of which
    it is, and those of others are left out.

    Args:
        settings: names the files.
        drawn: the ids of the samples of the run.

    Raises:
        DataError: a line is not of the form, or names a judge or a sample that there is not.
    """
    origin: dict[str, str] = {}
    notes: list[str] = []
    excluded: dict[str, frozenset[str]] = {}
    unsafe: dict[str, bool] | None = None
    if settings.judges is not None and settings.judges.exclusions is not None:
        path = Path(settings.judges.exclusions).expanduser()
        origin["exclusions"] = _sha256(path)
        rows = _Rows("judges.exclusions", path, "judge", tuple(settings.judges.models))
        for id_, judge in rows.read(settings, drawn, repeats=True):
            excluded[id_] = excluded.get(id_, frozenset()) | {judge}
        notes.append(_set_aside(excluded, drawn))
    if settings.scoring.labelled is not None:
        path = Path(settings.scoring.labelled).expanduser()
        origin["labelled"] = _sha256(path)
        rows = _Rows("scoring.labelled", path, "label", LABELS)
        condition = settings.condition
        about = {"part": condition.part, "condition": getattr(condition, "label", None)}
        wanted = {field: value for field, value in about.items() if value is not None}
        labels = dict(rows.read(settings, drawn, repeats=False, wanted=wanted))
        unsafe = {id_: label == "unsafe" for id_, label in labels.items()}
        n = len(set(drawn) & labels.keys())
        notes.append(f"scoring.labelled: humans labelled {n} of {len(drawn)} samples.")
    return Beside(excluded=excluded, unsafe=unsafe, origin=origin, notes=tuple(notes))


def _set_aside(excluded: Mapping[str, frozenset[str]], drawn: Collection[str]) -> str:
    counts = Counter(judge for id_ in drawn for judge in excluded.get(id_, ()))
    each = ", ".join(f"{judge} {counts[judge]}" for judge in sorted(counts)) or "none"
    return (
        f"judges.exclusions: samples on which a judge has no vote: {each}. It is asked all the "
        "same; its row and the agreement leave them out."
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the path.") from None


@dataclass(frozen=True, slots=True)
class _Rows:
    """The lines of one file: a sample's id, and under `field` one of `choices`."""

    key: str
    path: Path
    field: str
    choices: tuple[str, ...]

    def read(
        self,
        settings: config.Root,
        drawn: Collection[str],
        *,
        repeats: bool,
        wanted: Mapping[str, str] | None = None,
    ) -> Iterator[tuple[str, str]]:
        """Each id with its choice. `repeats`: an id may stand on several lines.

        Every line has each field of `wanted`, and those with another value are left out.
        """
        known, whole = drawn, False
        seen: dict[object, int] = {}
        for number, row in numbered_jsonl(self.path):
            place = f"{self.key}: {self.path}, line {number}"
            id_, said = self._pair(row, place)
            about = (wanted or {}).items()
            if any(_about(row, name, value, place) != value for name, value in about):
                continue
            if id_ not in known and not whole:  # it may not have been drawn
                known, whole = _all_ids(settings), True
            if id_ not in known:
                raise DataError(
                    f"{place}: no sample is named {id_!r}{config.nearest(id_, known)} "
                    "The names are those of records.jsonl."
                )
            entry = (id_, said) if repeats else id_
            if entry in seen:
                raise DataError(
                    f"{place}: {id_!r} stands on line {seen[entry]} already. Remove one of them."
                )
            seen[entry] = number
            yield id_, said

    def _pair(self, row: object, place: str) -> tuple[str, str]:
        id_, said = (
            (row.get("id"), row.get(self.field)) if isinstance(row, Mapping) else (None, None)
        )
        if not isinstance(id_, str) or not isinstance(said, str):
            raise DataError(
                f'{place}: should be an object like {{"id": "...", "{self.field}": '
                f'"{self.choices[0]}"}}, both as text.'
            )
        if said not in self.choices:
            raise DataError(
                f"{place}: no {self.field} is named {said!r}. Choose one of "
                f"{', '.join(self.choices)}."
            )
        return id_, said


def _about(row: Mapping[str, Json], field: str, wanted: str, place: str) -> Json:
    """What a line is about; a condition's answers under a filter are others than without it."""
    choices, what = ABOUT[field]
    said = row.get(field)
    if not isinstance(said, str) or said.split("+")[0] not in (*choices, wanted.split("+")[0]):
        raise DataError(
            f'{place}: does not say which {what} it is about. Add "{field}", one of '
            f"{', '.join(choices)}."
        )
    return said


def _all_ids(settings: config.Root) -> set[str]:
    if isinstance(settings.benchmark, config.CrossLab):
        return {item.id for item in read_items(settings.benchmark.path).items}
    if isinstance(settings.benchmark, config.Clarify):
        return {item.id for item in clarify_items.read_items(settings.benchmark.path).items}
    whole = load(settings.benchmark, condition=settings.condition, limit=None, seed=settings.seed)
    return {sample.id for sample in whole.samples}
