"""Figure 5: the F1 of each guard under each attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, PALE, Drawing, bare, blank, head, panels
from trace.report.compare.judged import How
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric
from trace.report.evidence.guards import Guard, by_component, detect, names_in
from trace.report.evidence.safety import mean
from trace.report.grid import Grid, percent

NAME, TITLE = "evidence_attacks", "F1 by attack (Figure 5)"
_COLOURS = "viridis"


def attacks(guards: Sequence[Guard], how: How) -> dict[str, Json]:
    """F1 on the triples of each attack.

    Returns:
        `components` (component -> guard -> attack -> metric) and `means` (component -> attack ->
        value and n, unweighted over guards); or a `reason`.
    """
    names = sorted({str(o.sample["attack"]) for guard in guards for run in guard.runs.values()
                    for o in run.once if o.sample["attack"]})  # fmt: skip
    if not names:
        return {"reason": "no triple has an attack"}

    def row(guard: Guard, component: str) -> dict[str, Metric]:
        run = guard.runs[component]
        return {
            attack: detect(run, how, lambda o, a=attack: o.sample["attack"] == a)["f1"]  # type: ignore[misc]
            for attack in names
        }

    cells = by_component(guards, row)
    return {
        "components": cells,
        "means": {
            component: {attack: mean(row[attack] for row in of.values()) for attack in names}
            for component, of in cells.items()
        },
    }


def section(guards: Sequence[Guard], how: How) -> Section:
    """The means over guards in a table, the cells in a heat map."""
    found = attacks(guards, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    cells = found["components"]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(found["means"]),),
        drawings=(Drawing(stem=NAME, draw=partial(figure, cells), rows=_csv(cells)),),
    )


def _grid(means: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Mean F1 over guards by attack",
        header=["Attack", *(component.capitalize() for component in means)],
    )
    grid.notes[""] = "Percent, unweighted over so many guards with an F1."
    for attack in next(iter(means.values())):
        found = (of[attack] for of in means.values())
        shown = ("–" if m["value"] is None else f"{percent(m['value'])} ({m['n']})" for m in found)
        grid.rows.append([(attack,), *((text,) for text in shown)])
    return grid


def _csv(cells: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["component", "guard", "attack", *FIELDS]]
    for component, rows in cells.items():
        for guard, row in rows.items():
            lines += [[component, guard, attack, *fields(m)] for attack, m in row.items()]
    return lines


def figure(cells: Mapping[str, Any]) -> Figure:
    """A panel a component, a row an attack, a column a guard; – where there is no F1."""
    names = names_in(cells)
    first = next(iter(cells.values()))
    labels = list(next(iter(first.values())))
    picture = blank(2.3 + 0.29 * max(4, len(names)), 1.6 + len(cells) * (0.35 + 0.2 * len(labels)))
    shown = panels(picture, len(cells), across=1)
    colours = colormaps[_COLOURS].with_extremes(bad=PALE)
    for ax, (component, rows) in zip(shown, cells.items(), strict=True):
        values = np.full((len(labels), len(names)), np.nan)
        for name, row in rows.items():
            found = [metric["value"] for metric in row.values()]
            values[:, names.index(name)] = [np.nan if v is None else v for v in found]
        image = ax.imshow(values, cmap=colours, vmin=0, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{100 * value:.0f}"
            ink = "white" if value < 0.6 else INK
            ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink)
        last = ax is shown[-1]
        ax.set_xticks(range(len(names)), names if last else [""] * len(names), rotation=45,
                      ha="right", rotation_mode="anchor", fontsize=7)  # fmt: skip
        ax.set_yticks(range(len(labels)), labels, fontsize=7)
        ax.set_title(component, fontsize=8, loc="left")
        bare(ax)
    bar = picture.colorbar(image, ax=shown, ticks=[0, 0.5, 1], fraction=0.03, pad=0.02, aspect=40)
    bar.set_ticklabels(["0%", "50%", "100%"])
    bar.ax.tick_params(labelsize=7)
    head(picture, "F1 by attack (%), unsafe positive")
    return picture
