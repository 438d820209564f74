"""Pairs of requests: one lacks what is needed to answer it, the other has it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from trace.benchmarks import lines
from trace.benchmarks.fields import Fields
from trace.benchmarks.released_files import data_files
from trace.benchmarks.strata import limited
from trace.errors import DataError
from trace.records import Gold, Json, Sample
from trace.report.grid import many

Kind: TypeAlias = Literal["underspecified", "specified"]
KINDS: tuple[Kind, ...] = ("underspecified", "specified")
BUNDLED = Path(__file__).parent / "data" / "requests.jsonl"
LICENCE = "Apache-2.0 (written for this project)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One request."""

    id: str
    pair: str
    kind: Kind
    topic: str
    text: str

    @classmethod
    def from_json(cls, line: Json, at: str) -> Item:
        """Reads a line.

        Raises:
            DataError: a field is missing or wrong.
        """
        fields = Fields(line, at)
        named = {name: fields.text(name) for name in ("id", "pair", "topic", "text")}
        return cls(**named, kind=fields.choice("kind", KINDS))

    def shown(self, answer: str) -> Sample:
        """What a judge sees: the request, and what was answered."""
        return Sample(
            id=self.id,
            gold=Gold(label=None),
            view={"request": self.text, "answer": answer},
            cluster=self.pair,
            meta={"pair": self.pair, "kind": self.kind, "topic": self.topic},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two requests on the same matter; `id` is what they call their pair."""

    id: str
    underspecified: Item
    specified: Item

    @property
    def topic(self) -> str:
        """That of both."""
        return self.underspecified.topic


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSet:
    """Pairs in the order of their files. `fingerprint` maps file names to their sha256."""

    pairs: tuple[Pair, ...]
    fingerprint: Mapping[str, str]
    licence: str

    @property
    def items(self) -> tuple[Item, ...]:
        """Both requests of each pair, what lacks something first."""
        return tuple(item for pair in self.pairs for item in (pair.underspecified, pair.specified))

    @property
    def note(self) -> str:
        """What is asked, in a sentence."""
        topics = len({pair.topic for pair in self.pairs})
        return f"clarify: {many(len(self.pairs), 'pair')} of requests on {many(topics, 'topic')}."


def read_items(path: str | None, *, limit: int | None = None, seed: int = 0) -> ItemSet:
    """The pairs of a JSONL file or a folder of such files; the bundled ones for None.

    Args:
        path: the file or folder.
        limit: pairs a topic; all when None.
        seed: chooses the pairs when `limit` does.

    Raises:
        DataError: a file or a line is not as it should be, an id or a text stands twice, or a pair
            is not one request of each kind on one topic; with file and line.
    """
    files = [BUNDLED] if path is None else data_files(Path(path).expanduser())
    pairs = _paired([read for file in files for read in _lines(file)])
    return ItemSet(
        pairs=limited(pairs, limit, seed, lambda pair: pair.topic),
        fingerprint={file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
        licence=LICENCE if path is None else "that of the user's own requests",
    )


def _lines(file: Path) -> Iterator[tuple[str, Item]]:
    try:
        with file.open("rb") as stream:
            for at, line in lines.objects(stream, str(file)):
                yield at, Item.from_json(line, at)
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error}).") from error


def _paired(read: list[tuple[str, Item]]) -> list[Pair]:
    first: dict[tuple[str, str], str] = {}
    sides: dict[str, dict[Kind, tuple[str, Item]]] = {}
    for at, item in read:
        for field, value in (("id", item.id), ("text", " ".join(item.text.split()))):
            if (where := first.setdefault((field, value), at)) != at:
                raise DataError(f"{at}: {field}: {value!r:.60} stands at {where} already.")
        side = sides.setdefault(item.pair, {})
        if (other := side.get(item.kind)) is not None:
            raise DataError(
                f"{at}: pair: {item.pair} has its {item.kind} request at {other[0]} already. "
                "A pair is one request of each kind."
            )
        for where, one in side.values():
            if one.topic != item.topic:
                raise DataError(
                    f"{at}: topic: is {item.topic!r}, and {one.topic!r} at {where} in the same "
                    "pair. Name one topic."
                )
        side[item.kind] = at, item
    pairs = []
    for name, side in sides.items():
        if len(side) == 1:
            ((at, item),) = side.values()
            (absent,) = set(KINDS) - {item.kind}
            raise DataError(f"{at}: pair: {name} has no {absent} request. Add one, or remove this.")
        pairs.append(Pair(id=name, underspecified=side[KINDS[0]][1], specified=side[KINDS[1]][1]))
    return pairs
