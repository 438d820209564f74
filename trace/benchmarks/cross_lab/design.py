"""What the runs of a comparison do not have in common, though the design is the same for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trace.benchmarks.cross_lab.arms import arms, superseded
from trace.report.cross_lab.words import MAIN
from trace.report.run_folder import config_of

SHARED = (
    "benchmark.regenerate",
    "sampling",
    "epochs",
    "limit",
    "seed",
    "protocol.answer",
)
"""Settings that the main arm of every respondent should have alike."""


def unlike(folders: Sequence[Path]) -> Iterator[str]:
    """Sentences about what differs between the runs of the main arm, or selects on the outcome.

    Args:
        folders: run directories of this benchmark.

    Raises:
        DataError: see `arms`.
    """
    runs = {folder: config_of(folder) for folder in folders}
    for old, new in superseded(runs).items():
        yield f"left out, since {new} has all its judges and more: {old}"
    main = [runs[folder] for folder, arm in arms(runs).items() if arm == MAIN]
    named = [(_name(one), one) for one in main]
    for key in SHARED:
        yield from _differ(key, [(name, _plain(_at(one, key))) for name, one in named])
    yield from _differ("judges", [(n, ", ".join(_at(one, "judges.models"))) for n, one in named])
    cut = [name for name, one in named if _at(one, SHARED[0]) == "truncated"]
    if cut:
        yield (
            f"{', '.join(cut)}: only answers that were cut off were asked again, which selects on "
            "the outcome. Run benchmark.regenerate=model, too: it is the main arm then."
        )


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['model']['name']}/{one['condition']['name']}"


def _at(one: Mapping[str, Any], key: str) -> Any:
    found: Any = one
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in sorted(value.items()))
    return str(value)


def _differ(key: str, values: Sequence[tuple[str, str]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name, value in values:
        groups.setdefault(value, []).append(name)
    if len(groups) > 1:
        each = "; ".join(f"{value} ({', '.join(names)})" for value, names in groups.items())
        yield f"runs differ in {key}: {each}. The models' shares may differ for that alone."
