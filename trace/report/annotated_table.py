"""The tables of an annotation: who agrees with whom, what became of the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trace.records import Json
from trace.report.agreement import TITLES
from trace.report.annotated import TOGETHER
from trace.report.entry import Metric
from trace.report.grid import Grid

_WORK = {
    "given": "Given",
    "done": "Done",
    "skipped": "Skip-\nped",
    "draft": "Half\ndone",
    "not_begun": "Not\nbegun",
    "deleted": "De-\nleted",
    "no_consent": "No con-\nsent",
    "twice": "Twice",
    "problems": "With\nproblem",
}
_HOW = {
    "single": "One\nperson",
    "agreed": "All",
    "majority": "Majo-\nrity",
    "adjudicated": "Second\npass",
    "open": "Open",
}


def annotation_grids(found: Mapping[str, Any]) -> list[Grid]:
    """What `measure_annotation` gave, as tables; those without a row are left out.

    What was decided in each stratum is a table of its own, `strata_grid`. `second` among the
    breakdowns has the `work` and the `problems` of a second pass.
    """
    parts: Mapping[str, Any] = found["breakdowns"]
    grids = [
        _work(parts["work"]),
        _problems(parts["problems"]),
        _decisions(parts["decisions"]),
        _pairs("People against the benchmark", "Who", parts["benchmark"]),
        _pairs("People against each other", "Who", parts["pairs"]),
        _together(parts["together"]),
        _changes(parts["confusion"]),
    ]
    if "second" in parts:
        grids[1:1] = [
            _work(parts["second"]["work"], "Work of the second pass"),
            _problems(parts["second"]["problems"], "What of it cannot be used"),
        ]
    return [grid for grid in grids if grid.rows]


def strata_grid(found: Mapping[str, Any]) -> Grid:
    """What was decided against the benchmark, for each question and stratum."""
    title = "What was decided against the benchmark, by stratum"
    return _pairs(title, "Stratum", found["breakdowns"]["strata"])


def _work(work: Mapping[str, Mapping[str, int]], title: str = "Work") -> Grid:
    grid = Grid(title=title, header=["Annotator", *_WORK.values()])
    grid.notes[""] = (
        "Twice: further answers to a task, of which the latest counts. With a problem: done, but "
        "something in it cannot be used."
    )
    grid.rows = [[(who,), *((str(of[part]),) for part in _WORK)] for who, of in work.items()]
    return grid


def _problems(
    problems: Mapping[str, Mapping[str, int]], title: str = "What cannot be used"
) -> Grid:
    grid = Grid(title=title, header=["Where", "Problem", "n"])
    grid.rows = [
        [(where,), (what,), (str(n),)] for where, of in problems.items() for what, n in of.items()
    ]
    return grid


def _decisions(decisions: Mapping[str, Mapping[str, int]]) -> Grid:
    grid = Grid(title="How questions were decided", header=["Question", *_HOW.values()])
    grid.rows = [[(name,), *((str(of[how]),) for how in _HOW)] for name, of in decisions.items()]
    return grid


def _pairs(title: str, of: str, found: Mapping[str, Mapping[str, Mapping[str, Metric]]]) -> Grid:
    marked = any("evidence" in measures for rows in found.values() for measures in rows.values())
    pieces = ["TokenF1"] if marked else []
    grid = Grid(title=title, header=["Question", of, "Equal", "κ", *pieces, "n"])
    grid.notes[""] = (
        "Over the items that both sides have a label for. Equal: the same one (Wilson). κ is "
        "Cohen's, and low where nearly all labels are the same."
        + (" TokenF1: of the pieces, where both mark some for the same label." if marked else "")
        + " All 95% intervals but the first by source."
    )
    for name, rows in found.items():
        for who, measures in rows.items():
            raw, n = measures["agreement"], measures["agreement"]["n"]
            if not n + raw["n_unscored"]:  # there is nothing that could be compared
                continue
            grid.rows.append(
                [
                    (name,),
                    (who,),
                    (grid.value(raw), grid.interval(raw)),
                    grid.coefficient(measures["kappa"]),
                    *([_evidence(grid, measures)] if marked else []),
                    (str(n), f"of {n + raw['n_unscored']}" if raw["n_unscored"] else ""),
                ]
            )
        if grid.rows and grid.ends[-1:] != [len(grid.rows)]:
            grid.ends.append(len(grid.rows))
    return grid


def _evidence(grid: Grid, measures: Mapping[str, Metric]) -> tuple[str, ...]:
    """Empty for a question without pieces."""
    if "evidence" not in measures:
        return ("",)
    return grid.value(measures["evidence"]), grid.interval(measures["evidence"])


def _together(found: Mapping[str, Mapping[str, Metric]]) -> Grid:
    grid = Grid(title="All annotators", header=["Question", "Coefficient", "Value", "n"])
    titles: Mapping[str, str] = {str(kind): title for kind, title in TITLES.items()}
    for name, of in found.items():
        for kind, metric in of.items():
            cells = [(titles[kind],), grid.coefficient(metric), (str(metric["n"]),)]
            grid.rows.append([(name,), *cells])
        grid.ends.append(len(grid.rows))
    return grid


def _changes(confusions: Mapping[str, Mapping[str, Json]]) -> Grid:
    title = "Where what was decided is not what the benchmark says"
    grid = Grid(title=title, header=["Question", "Benchmark", "People", "n"])
    for name, by in confusions.items():
        cells = sorted(_differing(by[TOGETHER]), key=lambda cell: (-cell[2], cell[:2]))
        grid.rows += [[(name,), (gold,), (said,), (str(n),)] for gold, said, n in cells]
        grid.ends.append(len(grid.rows))
    return grid


def _differing(confusion: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    labels: list[str] = confusion["labels"]
    for gold, (*row, _) in zip(labels, confusion["counts"], strict=True):
        for said, n in zip(labels, row, strict=True):
            if n and said != gold:
                yield gold, said, n
