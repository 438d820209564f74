"""What a comparison is of: runs, or judgements that were made elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from trace.errors import DataError
from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section
from trace.report.run_folder import finished

Analyses: TypeAlias = Callable[[How], "Found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The analyses, the main table first; what has to be said, and a row a run for the file."""

    sections: Sequence[Section]
    notes: Sequence[str] = ()
    runs: Sequence[Json] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An input that was read and checked. `identity` is all of it that can change a number."""

    what: str
    identity: Mapping[str, Json]
    analyses: Analyses
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRuns:
    """Run directories that are complete. `digests` identify them, `notes` name those left out."""

    folders: tuple[Path, ...]
    digests: tuple[str, ...]
    notes: tuple[str, ...]


def finished_runs(folders: Sequence[Path]) -> FinishedRuns:
    """Those of some run directories that can be compared.

    Raises:
        DataError: there is none.
    """
    done = [folder for folder in folders if finished(folder)]
    if not done:
        raise DataError(f"runs: none is finished: {', '.join(map(str, folders))}.")
    manifests = [json.loads((one / "manifest.json").read_bytes()) for one in done]
    return FinishedRuns(
        folders=tuple(done),
        digests=tuple(sorted(manifest["run"] for manifest in manifests)),
        notes=tuple(f"not finished, left out: {one}" for one in folders if one not in done),
    )


def sha256_of(path: Path) -> str:
    """The sha256 of an input file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
