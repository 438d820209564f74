"""Which arm of a comparison each of its runs is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace.errors import DataError
from trace.records import digest
from trace.report.cross_lab.words import FIRST_BUDGET, MAIN, ONLY_TRUNCATED
from trace.report.run_folder import AGAIN

_PREFERRED = ("model", "truncated", "none")
"""Values of benchmark.regenerate: of several the first is the main arm."""
_FURTHER = {"none": FIRST_BUDGET, "truncated": ONLY_TRUNCATED}

_ELSEWHERE = ("judges", "output_dir", "tracking", "dry_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """What tells the runs of a comparison apart."""

    respondent: str
    condition: str
    arm: str
    regenerate: str


def arms(runs: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    """Run -> its arm; runs that play no part are left out.

    Of a respondent's runs of the main arm that differ in `benchmark.regenerate` one is the main arm
    and the others are arms of their own. Of those judged afresh only runs on the same answers as
    the main arm play a part; see `superseded`, too.

    Args:
        runs: folder -> its configuration.

    Raises:
        DataError: two runs are the same; the conditions of a respondent have different budgets; or
            what was judged afresh are not the answers of the main arm.
    """
    cells: dict[_Cell, Path] = {}
    old = superseded(runs)
    for folder, settings in runs.items():
        if folder in old:
            continue
        cell = _cell(folder, settings)
        if (first := cells.setdefault(cell, folder)) != folder:
            raise DataError(
                f"{folder}: judges {cell.respondent} under {cell.condition} in the arm {cell.arm} "
                f"(benchmark.regenerate={cell.regenerate}), and so does {first}. Remove one of the "
                "directories (answers stay in the log), or rename one respondent: model.name=NAME."
            )
    main = _main(cells)
    found = {}
    for cell, folder in cells.items():
        wanted = main.get(cell.respondent, cell.regenerate)
        if cell.regenerate == wanted:
            found[folder] = cell.arm
        elif cell.arm == MAIN:
            found[folder] = _FURTHER[cell.regenerate]
        elif not _same(cells, cell, wanted):
            raise DataError(
                f"{folder}: judges answers with benchmark.regenerate={cell.regenerate} afresh, and "
                f"the main arm of {cell.respondent} has those with {wanted}. Leave it out, and run "
                f"it again with benchmark.regenerate={wanted}."
            )
    return found


def superseded(runs: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Path]:
    """Run -> another that is the same but for further judges: a model has joined the study."""
    groups: dict[str, list[Path]] = {}
    for folder, settings in runs.items():
        bare = {name: value for name, value in settings.items() if name not in _ELSEWHERE}
        groups.setdefault(digest(bare), []).append(folder)
    found: dict[Path, Path] = {}
    for group in groups.values():
        seats = {folder: _seats(runs[folder]) for folder in group}
        most = max(group, key=lambda folder: len(seats[folder]))
        found |= {folder: most for folder in group if seats[folder].items() < seats[most].items()}
    return found


def _seats(settings: Mapping[str, Any]) -> dict[str, str]:
    models = (settings.get("judges") or {}).get("models", {})
    return {name: digest(model) for name, model in models.items()}


def _cell(folder: Path, settings: Mapping[str, Any]) -> _Cell:
    try:
        return _Cell(
            respondent=settings["model"]["name"],
            condition=settings["condition"]["name"],
            arm=settings["benchmark"]["arm"],
            regenerate=settings["benchmark"]["regenerate"],
        )
    except (KeyError, TypeError) as error:
        raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None


def _main(cells: Collection[_Cell]) -> dict[str, str]:
    """Respondent -> `regenerate` of its main arm."""
    found: dict[str, tuple[str, str]] = {}
    asked: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell.arm == MAIN:
            asked.setdefault((cell.respondent, cell.condition), []).append(cell.regenerate)
    for (respondent, condition), values in asked.items():
        best = min(values, key=_PREFERRED.index)
        other, where = found.setdefault(respondent, (best, condition))
        if other != best:
            raise DataError(
                f"runs: {respondent} has benchmark.regenerate={other} under {where} and {best} "
                f"under {condition}, and the two wordings are compared under one budget. Run both "
                "with the same, or leave the run out that has no counterpart."
            )
    return {respondent: value for respondent, (value, _) in found.items()}


def _same(cells: Collection[_Cell], cell: _Cell, wanted: str) -> bool:
    """Whether the same was run on the answers of the main arm, too."""
    return any(
        (one.respondent, one.condition, one.arm, one.regenerate)
        == (cell.respondent, cell.condition, cell.arm, wanted)
        for one in cells
    )
