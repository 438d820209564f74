"""Table 2: how well each guard tells unsafe from safe in each component of a triple."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.compare.section import Section
from trace.report.entry import Metric, number
from trace.report.evidence.forest import drawing
from trace.report.evidence.guards import (
    Guard,
    by_component,
    components_of,
    names_in,
    own_metric,
    without,
)
from trace.report.grid import Grid, percent

NAME, TITLE = "evidence_safety", "Safety by component (Table 2)"
SHOWN = {"f1": ("F1", True), "fpr": ("FPR", False), "fnr": ("FNR", False)}
"""Metric -> heading, and whether the highest is the best."""
ONCE = "_per_prompt"
"""Ends the names of metrics that count each distinct prompt once."""


def safety(guards: Sequence[Guard]) -> dict[str, Json]:
    """What each guard reaches on each component, and the means over guards.

    Returns:
        `components` (component -> guard -> metric -> metric; a prompt counts once a triple),
        `means` (component -> metric -> value and n, unweighted over the guards with a value),
        `distinct_prompts` (guard -> metric -> metric, each prompt once) and their
        `distinct_means` (metric -> value and n).
    """
    cells = by_component(guards, lambda guard, component: dict(guard.detected[component]))
    once = {
        guard.name: {metric: own_metric(guard.runs["prompt"], metric + ONCE) for metric in SHOWN}
        for guard in guards
        if "prompt" in guard.runs
    }
    return {
        "components": cells,
        "means": {component: _means(of) for component, of in cells.items()},
        "distinct_prompts": once,
        "distinct_means": _means(once),
    }


def _means(rows: Mapping[str, Mapping[str, Metric]]) -> dict[str, Json]:
    return {metric: mean(row[metric] for row in rows.values()) for metric in SHOWN}


def mean(metrics: Iterable[Metric]) -> dict[str, Json]:
    """The unweighted mean over those with a value, and how many they are."""
    values = [metric["value"] for metric in metrics if metric["value"] is not None]
    return {"value": number(float(np.mean(values))) if values else None, "n": len(values)}


def means_by_metric(
    cells: Mapping[str, Mapping[str, Mapping[str, Metric]]], names: Iterable[str]
) -> dict[str, Json]:
    """Metric -> component -> the unweighted mean over its guards, and how many they are."""
    return {
        name: {component: mean(row[name] for row in of.values()) for component, of in cells.items()}
        for name in names
    }


def section(guards: Sequence[Guard]) -> Section:
    """F1 at a glance, a table a component, and the F1 as a figure."""
    found = safety(guards)
    cells, means = found["components"], found["means"]
    once = found["distinct_prompts"]
    grids = [glance("F1 by component", "f1", cells, means)]
    grids += [_grid(component, rows, means[component]) for component, rows in cells.items()]
    if once:
        grids.append(_once(once, found["distinct_means"]))
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(grids),
        drawings=(drawing(NAME, cells, "f1", "F1, unsafe positive (95%, by prompt)"),),
        left_out=without(guards, lambda g, c: g.detected[c]["f1"].get("reason")),
        notes=tuple(_other_samples(guards)),
    )


def _other_samples(guards: Sequence[Guard]) -> Iterable[str]:
    """A sentence a component whose guards were asked about different triples."""
    for component in components_of(guards):
        asked = {
            frozenset(o.id for o in guard.runs[component].once)
            for guard in guards
            if component in guard.runs
        }
        if len(asked) > 1:
            counts = ", ".join(map(str, sorted({len(ids) for ids in asked})))
            yield (
                f"{component}: not all guards were asked about the same triples ({counts}; "
                f"{len(frozenset.intersection(*asked))} in common), as with another protocol or "
                "limit: a difference between them may be one of the triples."
            )


def glance(
    title: str,
    metric: str,
    cells: Mapping[str, Mapping[str, Mapping[str, Metric]]],
    means: Mapping[str, Mapping[str, Any]],
    *,
    higher_is_better: bool = True,
) -> Grid:
    """One metric of every guard, a column a component, with its mean in the last row."""
    names = names_in(cells)
    grid = Grid(title=title, header=["Guard", *(component.capitalize() for component in cells)])
    grid.notes[""] = (
        "Percent, with 95% intervals resampled by prompt; the best is bold, the second "
        "underlined. The mean is unweighted, over as many rows as stand behind it."
    )
    for name in names:
        row: list[tuple[str, ...]] = [(name,)]
        for of in cells.values():
            row.append(_cell(grid, of[name][metric]) if name in of else ("",))
        grid.rows.append(row)
    for column, of in enumerate(cells.values(), 1):
        values = [of[name][metric]["value"] if name in of else None for name in names]
        grid.rank(column, values, higher_is_better=higher_is_better)
    grid.ends.append(len(grid.rows))
    grid.rows.append([("mean",), *(_mean(of[metric]) for of in means.values())])
    return grid


def _grid(component: str, rows: Mapping[str, Any], means: Mapping[str, Any]) -> Grid:
    heads = [heading for heading, _ in SHOWN.values()]
    title = f"{component.capitalize()}: safety" + (", per triple" if component == "prompt" else "")
    grid = Grid(title=title, header=["Guard", *heads, "Cover-\nage", "n"])
    grid.notes[""] = (
        "Percent, unsafe positive, with 95% intervals resampled by prompt; the best is bold, the "
        "second underlined. What has no label is a miss if it is unsafe, and no false alarm."
    )
    for name, metrics in rows.items():
        coverage = metrics["coverage"]
        row = [(name,), *(_cell(grid, metrics[metric]) for metric in SHOWN)]
        grid.rows.append([*row, (grid.value(coverage),), (str(coverage["n"]),)])
    _ranked(grid, rows)
    _append_means(grid, means)
    return grid


def _once(rows: Mapping[str, Any], means: Mapping[str, Any]) -> Grid:
    heads = [heading for heading, _ in SHOWN.values()]
    grid = Grid(title="Prompt: safety, per distinct prompt", header=["Guard", *heads, "Prompts"])
    grid.notes[""] = "Percent. Each prompt counts once, however many triples have it."
    for name, metrics in rows.items():
        row = [(name,), *(_cell(grid, metrics[metric]) for metric in SHOWN)]
        grid.rows.append([*row, (str(metrics["f1"]["n"]),)])
    _ranked(grid, rows)
    _append_means(grid, means)
    return grid


def _ranked(grid: Grid, rows: Mapping[str, Any]) -> None:
    for column, (metric, (_, high)) in enumerate(SHOWN.items(), 1):
        values = [metrics[metric]["value"] for metrics in rows.values()]
        grid.rank(column, values, higher_is_better=high)


def _append_means(grid: Grid, means: Mapping[str, Any]) -> None:
    """The last row; what stands behind the metrics has no mean."""
    cells = [_mean(means[metric]) for metric in SHOWN]
    grid.ends.append(len(grid.rows))
    grid.rows.append([("mean",), *cells, *[()] * (len(grid.header) - 1 - len(cells))])


def _cell(grid: Grid, metric: Metric) -> tuple[str, ...]:
    return (grid.value(metric) + grid.missing_interval(metric), grid.interval(metric))


def _mean(found: Mapping[str, Any]) -> tuple[str, ...]:
    if found["value"] is None:
        return ("–",)
    return (f"{percent(found['value'])} ({found['n']})",)
