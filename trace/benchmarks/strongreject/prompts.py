"""The forbidden prompts of the user's copy of StrongREJECT. None stands in this repository."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.strata import limited
from trace.errors import DataError
from trace.records import Gold, Sample, digest

COLUMNS = ("category", "source", "forbidden_prompt")
LICENCE = "StrongREJECT (arXiv 2402.10260): the terms of the user's own copy"

_AS_RELEASED = f"Give the CSV as it is released: its first line is `{','.join(COLUMNS)}`."


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """Prompts as samples without a gold label, in the order of the file.

    `fingerprint` maps the file's name to its sha256. `notes` are said to the user.
    """

    samples: tuple[Sample, ...]
    fingerprint: Mapping[str, str]
    licence: str
    notes: tuple[str, ...]


def read(path: Path, *, limit: int | None, seed: int) -> PromptSet:
    """Reads the CSV.

    Args:
        path: the file, with the columns category, source and forbidden_prompt in any order.
        limit: prompts a category; all when None.
        seed: chooses the prompts when `limit` does.

    Raises:
        DataError: it cannot be read, a column is missing, a field is empty, or a prompt stands
            twice; with the line.
    """
    data = _bytes(path)
    samples: dict[str, Sample] = {}
    rows = csv.DictReader(io.StringIO(_decoded(data, path), newline=""), strict=True)
    try:
        if absent := [c for c in COLUMNS if c not in (rows.fieldnames or ())]:
            raise DataError(f"{path}: no column {', '.join(absent)}. {_AS_RELEASED}")
        for row in rows:
            sample = _sample(row, f"{path}, line {rows.line_num}")
            if sample.id in samples:
                raise DataError(
                    f"{path}, line {rows.line_num}: forbidden_prompt: stands twice. Remove one."
                )
            samples[sample.id] = sample
    except csv.Error as error:
        raise DataError(
            f"{path}, line {rows.line_num + 1}: not CSV ({error}). Is a quote left open there? "
            f"{_AS_RELEASED}"
        ) from None
    if not samples:
        raise DataError(f"{path}: has no prompt. {_AS_RELEASED}")
    kept = limited(tuple(samples.values()), limit, seed, lambda s: str(s.meta["category"]))
    categories = {s.meta["category"] for s in kept}
    return PromptSet(
        samples=kept,
        fingerprint={path.name: hashlib.sha256(data).hexdigest()},
        licence=LICENCE,
        notes=(
            f"StrongREJECT: {len(kept)} prompt{'s' * (len(kept) != 1)} of {len(categories)} "
            f"{'category' if len(categories) == 1 else 'categories'}, put as they stand: no "
            "jailbreak is around them.",
        ),
    )


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is no CSV in UTF-8 ({error}). {_AS_RELEASED}") from None


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"benchmark.path: {path} cannot be read ({error.strerror}). {_AS_RELEASED}"
        ) from None
    if data.startswith(lines.LFS):
        raise lines.lfs_pointer(str(path))
    return data


def _sample(row: Mapping[str | None, str | None], at: str) -> Sample:
    if None in row:
        raise DataError(f'{at}: has more fields than the first line. Quote commas: "a, b".')
    for column in ("category", "forbidden_prompt"):
        if not (row[column] or "").strip():
            raise DataError(f"{at}: {column}: is empty. Fill it in or remove the line.")
    prompt = row["forbidden_prompt"]
    id_ = digest(prompt)[:16]
    return Sample(
        id=id_,
        gold=Gold(label=None),
        view={"forbidden_prompt": prompt},
        cluster=id_,
        meta={"category": row["category"], "source": row["source"]},
    )
