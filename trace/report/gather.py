"""Which runs a pattern means, and whether they may stand in one table."""

from __future__ import annotations

import glob
import shlex
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from trace.errors import ConfigError, DataError
from trace.report.run_folder import FILES, finished, read
from trace.report.runs import Run
from trace.tracking.rundir import LOCK

OTHERS = ("dataset.jsonl", "compare.json", "audit.json", "responses.jsonl", "corpus.jsonl")
"""What the other tasks write; their folders are no runs."""

RENAME = "Different models are told apart by their names: model.name=NAME when they are run."

EXAMPLE = "runs='outputs/runs/tracesafe/**'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The runs that are compared, those that are not finished, and what has to be said."""

    runs: tuple[Run, ...]
    unfinished: tuple[Path, ...]
    notes: tuple[str, ...]


def gather(patterns: str, *, mixed: bool = False) -> Gathered:
    """Finds, reads and checks the runs that `patterns` match.

    Runs are comparable when they are of one benchmark and have the same data fingerprint; within
    one protocol, condition and variant, the same prompt hash, the same samples, the same sampling
    and the same contents of the condition; when no model stands twice under one protocol and
    condition, and none has the name of another.

    Args:
        patterns: globs separated by spaces; `**` means any depth.
        mixed: runs that are not comparable are marked instead of refused.

    Raises:
        ConfigError: the patterns cannot be read.
        DataError: nothing finished matches, a run is damaged, or the runs are not comparable.
    """
    folders = find(patterns)
    done = [path for path in folders if finished(path)]
    unfinished = tuple(path for path in folders if path not in done)
    runs = [run for path in done if (run := read(path)) is not None]
    if not runs:
        raise DataError(f"runs: no finished run matches {patterns}. {_instead(patterns, folders)}")
    notes = [f"not finished, left out: {path}" for path in unfinished]
    marked, differences = _marked(runs)
    if differences and not mixed:
        raise DataError(
            f"runs: {differences[0]} Narrow runs= so that it matches comparable ones, or type "
            "task.mixed=true to compare them all the same, marked."
        )
    return Gathered(runs=tuple(marked), unfinished=unfinished, notes=(*notes, *differences))


def find(patterns: str) -> list[Path]:
    """The run directories, finished or not, that match; in the order of their paths.

    Raises:
        ConfigError: a quotation mark is not closed, or there is no pattern.
    """
    try:
        globs = shlex.split(patterns)
    except ValueError as error:
        raise ConfigError(f"runs: {patterns!r} cannot be read ({error}). Try {EXAMPLE}.") from None
    if not globs:
        raise ConfigError(f"runs: is empty. Try {EXAMPLE}.")
    matches = {Path(name) for one in globs for name in glob.iglob(one, recursive=True)}
    return sorted(path for path in matches if _is_run(path))


def _is_run(path: Path) -> bool:
    """A folder in which a run has begun, and that holds no other task's results."""
    return any((path / name).exists() for name in (*FILES, LOCK)) and not any(
        (path / name).exists() for name in OTHERS
    )


def _instead(patterns: str, folders: Sequence[Path]) -> str:
    """What there is."""
    if folders:
        return f"{len(folders)} match, but are not finished: {_names(folders)}."
    first = shlex.split(patterns)[0]
    fixed = Path(*(part for part in Path(first).parts if not glob.has_magic(part)))
    place = next((p for p in (fixed, *fixed.parents) if p.is_dir()), Path())
    inside = sorted(p for p in place.iterdir() if p.is_dir() and not p.name.startswith("."))
    return f"{place.resolve()} holds {_names(inside) if inside else 'no folder'}."


def _names(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - 4} more" if len(paths) > 4 else ""
    return ", ".join(map(str, paths[:4])) + more


def _setting(what: str) -> Callable[[Run], Hashable]:
    return lambda run: run.settings.get(what)


def _marked(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """The runs, those outside the largest comparable group marked; and a sentence a difference."""
    notes: list[str] = []
    marks: dict[Path, list[str]] = defaultdict(list)

    def same(
        of: Iterable[Run],
        value: Callable[[Run], Hashable],
        what: str,
        within: str = "",
        instead: str = "",
        say: Callable[[Run], str] | None = None,
    ) -> None:
        groups: dict[Hashable, list[Run]] = defaultdict(list)
        for run in of:
            groups[value(run)].append(run)
        if len(groups) < 2:
            return
        largest, *others = sorted(groups.values(), key=len, reverse=True)
        sides = (
            f"{say(group[0]) if say else value(group[0])} in {_names([run.path for run in group])}"
            for group in (largest, *others)
        )
        notes.append(
            f"the runs differ in their {what}{within}: {' against '.join(sides)}.{instead}"
        )
        for run in (run for group in others for run in group):
            marks[run.path].append(f"other {what}")

    same(runs, lambda run: run.benchmark, "benchmark")
    alike = set.intersection(*(set(_data(run)) for run in runs))
    same(runs, _data, "data", say=lambda run: _files(set(_data(run)) - alike))
    asked: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        asked[run.protocol, run.condition, run.variant].append(run)
    for (_, _, variant), group in asked.items():
        within = f" under {group[0].under}" + (f" ({variant})" if variant else "")
        shared = [run for run in group if not run.own_prompt]
        same(shared, lambda run: run.prompt, "prompt", within, say=lambda run: run.prompt[:8])
        every = len(frozenset.intersection(*map(_ids, group)))
        same(group, _ids, "samples", within, say=partial(_counted, every=every))
        for what in ("condition", "sampling", "normalise"):
            same(group, _setting(what), what, within)
    named: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        named[run.model].append(run)
    for name, group in named.items():
        same(group, lambda run: run.weights, "weights", f" under the name {name}", f" {RENAME}")
    _share(runs, marks)
    twins: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in runs:
        twins[run.name, run.under, *marks[run.path]].append(run)
    for (name, under, *_), group in twins.items():
        if len(group) > 1:
            paths = _names([run.path for run in group])
            notes.append(f"{name} stands {len(group)} times under {under}: {paths}. {RENAME}")
            for run in group:
                marks[run.path].append(f"#{run.digest[:8]}")
    return [replace(run, marks=tuple(marks[run.path])) for run in runs], notes


def _share(runs: Iterable[Run], marks: dict[Path, list[str]]) -> None:
    """Gives the runs of one judge on several components the marks of each, so that it is one row.

    Where it stands twice under a component, the marks are what tells its rows apart.
    """
    judges: dict[Hashable, list[Run]] = defaultdict(list)
    for run in runs:
        if run.condition:
            key = (run.benchmark, run.name, run.protocol, run.weights, _data(run))
            judges[key].append(run)
    for group in judges.values():
        if len({run.condition for run in group}) == len(group):
            shared = list(dict.fromkeys(mark for run in group for mark in marks[run.path]))
            marks |= {run.path: [*shared] for run in group}


def _data(run: Run) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(run.data.items()))


def _files(data: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({digest[:8]})" for name, digest in sorted(data)) or "no other file"


def _counted(run: Run, *, every: int) -> str:
    return f"{len(_ids(run))} samples, {every} of them everywhere,"


def _ids(run: Run) -> frozenset[str]:
    return frozenset(o.id for o in run.observations)
