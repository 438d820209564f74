"""Items: a base prompt, and the same prompt with an instruction that steers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from trace.benchmarks import lines
from trace.benchmarks.cross_lab.rubric import CATEGORIES
from trace.benchmarks.fields import Fields
from trace.benchmarks.released_files import data_files
from trace.errors import DataError
from trace.records import Json, digest
from trace.report.grid import many

Split: TypeAlias = Literal["development", "held_out"]
Wording: TypeAlias = Literal["base", "steered"]
SPLITS: tuple[Split, ...] = ("development", "held_out")
FOLDER = Path(__file__).parent / "data"
LICENCE = "Apache-2.0 (written for this project)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of the set.

    `context` says what it probes; judges may be told, respondents never are. `underspecified` is
    True where a sensible answer may first need to ask. The development split was read when the
    labels were written.
    """

    id: str
    category: str
    base: str
    steered: str
    context: str
    underspecified: bool
    value: str
    domain: str
    split: Split

    def prompt(self, wording: Wording) -> str:
        """What the respondent is asked."""
        return self.base if wording == "base" else self.steered

    def to_json(self) -> dict[str, Json]:
        """One line of the file."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, line: Json, at: str) -> Item:
        """Reads a line.

        Raises:
            DataError: a field is missing or wrong, or both wordings are the same.
        """
        fields = Fields(line, at)
        item = cls(
            id=fields.text("id"),
            category=fields.text("category"),
            base=fields.text("base"),
            steered=fields.text("steered"),
            context=fields.text("context"),
            underspecified=fields.take("underspecified", bool),
            value=fields.text("value"),
            domain=fields.text("domain"),
            split=fields.choice("split", SPLITS),
        )
        if item.base.split() == item.steered.split():
            raise DataError(
                f"{at}: steered: is the same text as base, so nothing steers. Add the instruction."
            )
        return item


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSet:
    """Items in the order of their files. `fingerprint` maps file names to their sha256."""

    items: tuple[Item, ...]
    fingerprint: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """Identifies the items, whatever files they stand in."""
        return digest([item.to_json() for item in self.items])


def read_items(path: str | Path | None) -> ItemSet:
    """The items of a JSONL file or a folder of such files; the bundled ones for None.

    Raises:
        DataError: a file or a line is not as it should be, an id stands twice, or a base prompt
            stands in both splits (what was read when labels were written is not held out).
    """
    if path is None:
        files = [FOLDER / f"{category}.jsonl" for category in CATEGORIES]
    else:
        files = data_files(Path(path).expanduser())
    places: dict[str, str] = {}
    texts: dict[str, tuple[str, str]] = {}
    items: list[Item] = []
    for file in files:
        for at, line in _lines(file):
            item = Item.from_json(line, at)
            if (first := places.setdefault(item.id, at)) != at:
                raise DataError(f"{at}: id: {item.id} stands at {first} already. Rename one.")
            split, where = texts.setdefault(" ".join(item.base.split()), (item.split, at))
            if split != item.split:
                raise DataError(
                    f"{at}: split: is {item.split}, and the same base prompt at {where} is in "
                    f"{split}. Labels were written after the development split: put both there."
                )
            items.append(item)
    counts = Counter(item.category for item in items)
    listed = ", ".join(f"{n} {category}" for category, n in counts.items())
    return ItemSet(
        items=tuple(items),
        fingerprint={file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
        notes=(f"cross_lab: {many(len(items), 'item')} ({listed}).",),
    )


def _lines(file: Path) -> Iterator[tuple[str, Json]]:
    try:
        with file.open("rb") as stream:
            yield from lines.objects(stream, str(file))
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error}).") from error
