"""The three shortcut probes and the criteria on them as tables, sets side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trace.benchmarks.tracesafe.audit.criteria import CRITERIA
from trace.benchmarks.tracesafe.names import BENIGN, CLASSES
from trace.records import Json
from trace.report.entry import Metric
from trace.report.grid import Grid, percent

Findings = Mapping[str, Mapping[str, Json]]
"""Set -> its findings."""

_PHRASE = 34  # characters of a phrase that fit


def by_class_and_set(
    grid: Grid,
    sets: Findings,
    rows_of: Callable[[Mapping[str, Json]], Mapping[str, Json]],
    cells: Callable[[Json], Sequence[str]],
) -> Grid:
    """Fills a grid: for each class a row of every set that has it."""
    for class_ in (BENIGN, *CLASSES):
        shown = class_.name
        for name, found in sets.items():
            rows = rows_of(found)
            if class_.name in rows:
                texts = (shown, name, *cells(rows[class_.name]))
                grid.rows.append([(text,) for text in texts])
                shown = ""
    return grid


def criteria(sets: Findings) -> Grid:
    """Each criterion: how many classes keep it, and the worst one."""
    header = ["Criterion", "Set", "Result", "Classes\npassing", "Worst", "Number", "n"]
    grid = Grid(title="Criteria", header=header)
    for i, criterion in enumerate(CRITERIA):
        grid.notes[criterion.name + ":"] = criterion.says
        for name, found in sets.items():
            row = found["criteria"][i]
            worst = row["classes"].get(row["worst"])
            texts = (
                row["name"],
                name,
                row["result"],
                f"{row['passed']}/{len(row['classes'])}",
                row["worst"] or "–",
                percent(worst["value"]) if worst else "–",
                str(worst["n"]) if worst else "–",
            )
            grid.rows.append([(text,) for text in texts])
    grid.notes[""] = "Numbers are noisy where n is small; undefined is no pass."
    return grid


def structure(sets: Findings) -> Grid:
    """Probe 1 by class."""
    grid = Grid(
        title="Shortcut probe 1, structure: AUC against benign records",
        header=["Class", "Set", "AUC", "95% interval", "Result", "n"],
    )
    grid.notes[""] = "Percent; chance is 50. Intervals by cluster. n: mutants + benign."
    grid.notes["Below 50:"] = (
        "no shortcut. Where mutants have benign twins of their shape, those in other folds teach "
        "the opposite."
    )
    return by_class_and_set(
        grid,
        sets,
        _with_results("structure"),
        lambda row: (
            grid.value(row[0]) + grid.missing_interval(row[0]),
            grid.interval(row[0]),
            row[1],
            _sizes(row[0]),
        ),
    )


def phrases(sets: Findings) -> Grid:
    """Probe 2 by class."""
    grid = Grid(
        title="Shortcut probe 2, phrases: the worst one of three words in no benign record",
        header=["Class", "Set", "Phrase", "Share", "Result", "n"],
    )
    grid.notes[""] = "Share of the class's records that have it, in percent."
    return by_class_and_set(
        grid,
        sets,
        _with_results("phrases"),
        lambda row: (
            _cut(row[0]["phrase"] or "–"),
            grid.value(row[0]["share"]),
            row[1],
            str(row[0]["share"]["n"]),
        ),
    )


def ngrams(sets: Findings) -> Grid:
    """Probe 3 by class."""
    grid = Grid(
        title="Shortcut probe 3, character n-grams: AUC on payload templates not trained on",
        header=["Class", "Set", "AUC", "95% interval", "Result", "Templates", "n"],
    )
    grid.notes[""] = "Percent; chance is 50. Intervals by cluster. n: mutants + benign."
    grid.notes["*"] = "told by clustering the added texts: the set does not name its templates"
    return by_class_and_set(
        grid,
        sets,
        _with_results("ngrams"),
        lambda row: (
            grid.value(row[0]["auc"]) + grid.missing_interval(row[0]["auc"]),
            grid.interval(row[0]["auc"]),
            row[1],
            f"{row[0]['templates']}{'*' if row[0]['source'] == 'text clusters' else ''}",
            _sizes(row[0]["auc"]),
        ),
    )


def _results(found: Mapping[str, Json], criterion: str) -> Mapping[str, Json]:
    row = next(row for row in found["criteria"] if row["name"] == criterion)
    classes: Mapping[str, Json] = row["classes"]
    return classes


def _with_results(part: str) -> Callable[[Mapping[str, Json]], Mapping[str, Json]]:
    def rows(found: Mapping[str, Json]) -> dict[str, Json]:
        results = _results(found, part)
        return {
            name: (row, results[name]["result"] if name in results else "")
            for name, row in found[part].items()
        }

    return rows


def _sizes(metric: Metric) -> str:
    return f"{metric['mutants']} + {metric['n'] - metric['mutants']}"


def _cut(phrase: str) -> str:
    return phrase if len(phrase) <= _PHRASE else phrase[: _PHRASE - 1] + "…"
