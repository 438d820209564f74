"""The findings of one or more sets as tables, one a part, a row for each class and set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace.benchmarks.tracesafe.audit import probe_tables
from trace.benchmarks.tracesafe.audit.lengths import MEASURES
from trace.benchmarks.tracesafe.audit.probe_tables import Findings, by_class_and_set
from trace.benchmarks.tracesafe.audit.visibility import PROTOCOLS
from trace.benchmarks.tracesafe.names import CLASSES
from trace.report.grid import Grid, percent

_KIND_NAMES = {
    "unlisted": "Un-\nlisted",
    "undeclared": "Unde-\nclared",
    "missing": "Miss-\ning",
    "type": "Type",
    "stringified": "As\ntext",
}


def tables(sets: Findings) -> list[Grid]:
    """All parts, in the order of the report."""
    makers = (
        probe_tables.criteria,
        probe_tables.structure,
        probe_tables.phrases,
        probe_tables.ngrams,
        _visibility,
        _doubts,
        _duplicates,
        _validity,
        _lengths,
    )
    return [make(sets) for make in makers]


def _visibility(sets: Findings) -> Grid:
    grid = Grid(
        title="Visibility: prompts that equal the prompt of the benign twin",
        header=["Class", "Set", "Tools shown", "Tools hidden", "n"],
    )
    grid.notes[""] = "Percent; one number where binary, schema, coarse and fine agree."
    by_class_and_set(
        grid,
        sets,
        lambda found: found["visibility"]["classes"],
        lambda row: (
            *_by_tools({name: k / row["n"] for name, k in row["equal"].items()}),
            str(row["n"]),
        ),
    )
    for name, found in sets.items():
        best = found["visibility"]["best"]
        n = sum(row["n"] for row in found["visibility"]["classes"].values())
        texts = ("Best balanced accuracy", name, *_by_tools(best), str(n))
        grid.rows.append([(text,) for text in texts])
    return grid


def _by_tools(values: Mapping[str, float | None]) -> tuple[str, str]:
    shown: list[float | None] = []
    hidden: list[float | None] = []
    for name, value in values.items():
        (shown if PROTOCOLS[name].tools else hidden).append(value)
    return _range(shown), _range(hidden)


def _range(values: Sequence[float | None]) -> str:
    texts = dict.fromkeys(percent(v) for v in sorted(v for v in values if v is not None))
    return "–".join([*texts][:1] + [*texts][1:][-1:]) or "–"


def _doubts(sets: Findings) -> Grid:
    grid = Grid(title="Doubtful labels", header=["Class", "Doubt", *sets])
    rows = {
        name: {(row["class"], row["doubt"]): row for row in found["doubts"]}
        for name, found in sets.items()
    }
    keys = dict.fromkeys(key for of_set in rows.values() for key in of_set)
    order = {class_.name: class_.number for class_ in CLASSES}
    quiet = 0
    for key in sorted(keys, key=lambda key: order[key[0]]):
        found = [of_set.get(key) for of_set in rows.values()]
        if not any(row and row["k"] for row in found):
            quiet += 1
            continue
        texts = (*key, *(f"{row['k']}/{row['n']}" if row else "–" for row in found))
        grid.rows.append([(text,) for text in texts])
    grid.notes[""] = f"Records found / records of the class. {quiet} more checks found nothing."
    return grid


def _duplicates(sets: Findings) -> Grid:
    grid = Grid(
        title="Copies and clusters",
        header=["Class", "Set", "n", "Views", "Prefixes", "Queries", "Clusters", "Largest"],
    )
    grid.notes[""] = "Distinct ones of each; a cluster is a base trajectory."
    columns = ("n", "views", "prefixes", "queries", "clusters", "largest")
    by_class_and_set(
        grid,
        sets,
        lambda found: found["duplicates"]["classes"],
        lambda row: [str(row[column]) for column in columns],
    )
    for name, found in sets.items():
        part = found["duplicates"]
        texts = ("All", name, *(str(part["all"][column]) for column in columns))
        grid.rows.append([(text,) for text in texts])
        grid.notes[f"{name}:"] = (
            f"{part['shared']} clusters have records of several classes; "
            f"{len(part['copies'])} groups of records show a judge the same."
        )
    return grid


def _validity(sets: Findings) -> Grid:
    grid = Grid(
        title="Calls against the tools shown: records with a fault",
        header=["Class", "Set", "Origi-\nnals", "New", *_KIND_NAMES.values(), "n"],
    )
    grid.notes["Originals:"] = "unchanged records with any fault, false alarms of a schema oracle"
    grid.notes["New:"] = "records with a kind of fault that their original does not have"
    return by_class_and_set(
        grid,
        sets,
        lambda found: found["validity"],
        lambda row: [
            str(row["originals"]["any"]),
            str(row["new"]),
            *(str(row["records"][kind]) for kind in _KIND_NAMES),
            str(row["n"]),
        ],
    )


def _lengths(sets: Findings) -> Grid:
    grid = Grid(
        title="Length: median (largest)",
        header=["Class", "Set", *(m.capitalize() for m in MEASURES), "n"],
    )
    return by_class_and_set(
        grid,
        sets,
        lambda found: found["lengths"],
        lambda row: [*(_spread(row[measure]) for measure in MEASURES), str(row["n"])],
    )


def _spread(row: Mapping[str, float]) -> str:
    return f"{row['median']:.0f} ({row['max']:.0f})"
