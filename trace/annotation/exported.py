"""The folder of an export: what was given to whom, and how it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_args

from trace.annotation import briefing
from trace.annotation.assign import Assignment
from trace.annotation.form import Form, Language
from trace.annotation.item import Answer, Item, Lost
from trace.annotation.markup import markup
from trace.annotation.study import HumanStudy
from trace.errors import DataError
from trace.records import Json
from trace.tracking.files import read_jsonl, write_json, write_jsonl, write_text

FIRST = "first"
"""The folder, inside an export for a second pass, of what the first pass was about and found."""

_ITEMS, _ASSIGNMENTS, _ANSWERS = "items.jsonl", "assignments.jsonl", "answers.jsonl"
_LOST = "lost.json"
_LONGEST_TITLE = 50
_MANIFEST = frozenset({"study", "selected", "data", "run"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What was given to whom, what came back, and what of it was not taken (annotator -> it)."""

    items: tuple[Item, ...]
    assignments: tuple[Assignment, ...]
    answers: tuple[Answer, ...] = ()
    lost: Mapping[str, Lost] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes a file of each."""
        write_jsonl(folder / _ITEMS, (item.to_json() for item in self.items))
        write_jsonl(folder / _ASSIGNMENTS, (one.to_json() for one in self.assignments))
        write_jsonl(folder / _ANSWERS, (answer.to_json() for answer in self.answers))
        write_json(folder / _LOST, {who: asdict(lost) for who, lost in self.lost.items()})

    @classmethod
    def read(cls, folder: Path) -> Pass:
        """Reads back what `write` wrote."""
        return cls(
            items=tuple(map(Item.from_json, read_jsonl(folder / _ITEMS))),
            assignments=tuple(map(Assignment.from_json, read_jsonl(folder / _ASSIGNMENTS))),
            answers=tuple(map(Answer.from_json, read_jsonl(folder / _ANSWERS))),
            lost={who: Lost(**n) for who, n in json.loads((folder / _LOST).read_bytes()).items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export holds; an import, too, which has the answers.

    `manifest` has at least `study`, `selected` (what the first pass was of), `data` (fingerprint)
    and `run`. `forms` maps a name to `digest`, `taxonomy` and `markup`. `first` is the first pass,
    where this is the second.
    """

    folder: Path
    manifest: Mapping[str, Json]
    forms: Mapping[str, Mapping[str, str]]
    given: Pass
    first: Pass | None = None

    def write(self) -> None:
        """Writes everything but the manifest, which comes last: without it nothing is finished."""
        write_json(self.folder / "forms.json", self.forms)
        for name, form in self.forms.items():  # to be copied into a project that was edited
            write_text(self.folder / f"{name}.xml", form["markup"] + "\n")
        self.given.write(self.folder)
        if self.first is not None:
            self.first.write(self.folder / FIRST)

    @classmethod
    def read(cls, folder: Path) -> Exported:
        """Reads an export, or an import, back.

        Raises:
            DataError: the folder holds none, or not a whole one.
        """
        if not finished(folder):
            raise DataError(
                f"annotate.export: {folder} holds no finished export. It is the folder that "
                "annotate.action=export names in its last line; if that was interrupted, type the "
                "same command again."
            )
        first = folder / FIRST
        try:
            found = cls(
                folder=folder,
                manifest=json.loads((folder / "manifest.json").read_bytes()),
                forms=json.loads((folder / "forms.json").read_bytes()),
                given=Pass.read(folder),
                first=Pass.read(first) if first.is_dir() else None,
            )
            known = found.manifest.keys() >= _MANIFEST
        except (DataError, OSError, ValueError, TypeError, KeyError, AttributeError):
            known = False
        if not known:
            raise DataError(
                f"annotate.export: {folder}: a file in it is missing or was edited. Take the "
                "folder from a backup; the command of the export, typed again, writes it anew and "
                "leaves the projects as they are."
            )
        return found

    @property
    def passes(self) -> tuple[Pass, Pass | None]:
        """The first pass, and the second where this is one."""
        return (self.given, None) if self.first is None else (self.first, self.given)

    def check(self, study: HumanStudy) -> None:
        """Refuses answers to what is not asked any more, or about another data set.

        Raises:
            DataError: the taxonomy or the wording of a form changed since the export, or the data.
        """
        if self.manifest["study"] != study.name:
            raise DataError(
                f"annotate.export: {self.folder} is about {self.manifest['study']}, and this is "
                f"{study.name}. Type the benchmark, or the form, of the export."
            )
        known = {**study.forms} | {name: form for name, (form, _) in consents(study.name).items()}
        for name, was in self.forms.items():
            form = known.get(name)
            for what in ("taxonomy", "digest"):
                now = getattr(form, what, "none")
                if was[what] != now:
                    raise DataError(
                        f"annotate.export: {self.folder}: the "
                        f"{'taxonomy' if what == 'taxonomy' else 'wording'} of form {name} was "
                        f"version {was[what][:12]} when it was exported, and is {now[:12]} now. "
                        "Import with the version of this project that exported it (the commit in "
                        "its manifest.json), or export anew."
                    )
        if (was_data := self.manifest["data"]) != dict(study.fingerprint):
            raise DataError(
                f"annotate.export: {self.folder} was drawn from other data than benchmark.path "
                f"names: {_sums(was_data)} then, {_sums(study.fingerprint)} now. Name the data set "
                "of the export; its own path is in its manifest.json."
            )


def finished(folder: Path) -> bool:
    """Whether an export was carried out to its end: the manifest comes last."""
    return (folder / "manifest.json").is_file() and (folder / "forms.json").is_file()


def read_export(folder: Path) -> Exported:
    """Reads back an export, and no import, which has no projects of its own.

    Raises:
        DataError: it is none.
    """
    exported = Exported.read(folder)
    if "export" in exported.manifest:
        raise DataError(
            f"annotate.export: {folder} is what an import left. Give the folder of its export, "
            f"whose name is {str(exported.manifest['export'])[:8]}."
        )
    return exported


def consents(study: str) -> dict[str, tuple[Form, Item]]:
    """The forms that ask whether somebody takes part, by name, each with its only item."""
    asked = (briefing.consent(language, study) for language in get_args(Language))
    return {form.name: (form, item) for form, item in asked}


def title(run: str, number: int, assignment: Assignment) -> str:
    """The project's name: its export, who, the place among the annotator's projects, and what."""
    return f"{run[:8]} {assignment.annotator} {number} {assignment.form}"[:_LONGEST_TITLE]


def shown(forms: Mapping[str, Form]) -> dict[str, dict[str, str]]:
    """What an export keeps of each form."""
    return {
        name: {"digest": form.digest, "taxonomy": form.taxonomy, "markup": markup(form)}
        for name, form in forms.items()
    }


def numbered(assignments: Sequence[Assignment]) -> list[tuple[int, Assignment]]:
    """Each with its place among those of its annotator, from 1."""
    places: dict[str, int] = {}
    found = []
    for assignment in assignments:
        places[assignment.annotator] = places.get(assignment.annotator, 0) + 1
        found.append((places[assignment.annotator], assignment))
    return found


def _sums(fingerprint: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {sha256[:12]}" for name, sha256 in fingerprint.items())
