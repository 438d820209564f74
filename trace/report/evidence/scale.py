"""Figure 6: F1 against the size of a guard's base, its family, and how much it was trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing, blank, head, panels, percent_ticks, ruled
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.evidence.guards import Guard, by_component, without
from trace.report.evidence.marks import key_below, marks
from trace.report.grid import Grid

NAME, TITLE = "evidence_scale", "F1 against size, base and training instances (Figure 6)"
UNKNOWN = "unknown base"
_LINE_OF = {"Ministral": "Mistral", "Mixtral": "Mistral"}
_AXES = {"parameters": "parameters (10⁹)", "instances": "training instances"}


def base_family(base: str | None) -> str:
    """The line of models that a base is of: the letters its name begins with."""
    letters = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", base or "")
    if letters is None:
        return UNKNOWN
    first = letters[0].split("-")[0]
    return _LINE_OF.get(first, letters[0] if first.islower() else first)


def instances(trained_on: str | None) -> float | None:
    """How many training instances a configuration names, in words such as `2.80 million`."""
    found = re.match(r"([\d,]*\.?\d+)\s*(million|thousand)?", trained_on or "")
    if found is None:
        return None
    return float(found[1].replace(",", "")) * {"million": 1e6, "thousand": 1e3}.get(found[2], 1)


def scale(guards: Sequence[Guard]) -> dict[str, Json]:
    """F1 by component beside what a guard is made of.

    Returns:
        `components` (component -> guard -> `f1`, `base`, `base_family`, `parameters` in 10⁹ and
        `instances`, None where not known), of guards with an F1 and one of both; or a `reason`.
    """

    def row(guard: Guard, component: str) -> dict[str, Json] | None:
        if _lack(guard, component) is not None:
            return None
        run = guard.run
        return {
            "f1": guard.detected[component]["f1"],
            "base": run.base,
            "base_family": base_family(run.base),
            "parameters": run.parameters,
            "instances": instances(run.trained_on),
        }

    cells = by_component(guards, row)
    return {"components": cells} if cells else {
        "reason": "no guard has an F1 and model.parameters or a number in model.trained_on"
    }  # fmt: skip


def _lack(guard: Guard, component: str) -> str | None:
    """Why a guard has no point, if so."""
    if not guard.run.parameters and instances(guard.run.trained_on) is None:
        return "neither model.parameters nor a number in model.trained_on"
    reason: str | None = guard.detected[component]["f1"].get("reason")
    return reason


def section(guards: Sequence[Guard]) -> Section:
    """The numbers in a table a component, the points in a figure."""
    found, left_out = scale(guards), without(guards, _lack)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=left_out)
    cells = found["components"]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(cells),),
        drawings=(Drawing(stem=NAME, draw=partial(figure, cells), rows=_csv(cells)),),
        left_out=left_out,
    )


def _grid(cells: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Guards by base and size",
        header=["Guard", "Base", "10⁹", "Instances", *(c.capitalize() for c in cells)],
    )
    grid.notes[""] = (
        "F1 in percent. A comparison of published models: they differ in more than base, size and "
        "data, so a difference cannot be put down to one of them."
    )
    facts = {name: row for rows in cells.values() for name, row in rows.items()}
    order = sorted(facts, key=lambda n: (facts[n]["base_family"], facts[n]["parameters"] or 0, n))
    for name in order:
        row = facts[name]
        size = "–" if row["parameters"] is None else f"{row['parameters']:g}"
        data = "–" if row["instances"] is None else f"{row['instances']:,.0f}"
        f1 = [(grid.value(rows[name]["f1"]),) if name in rows else ("",) for rows in cells.values()]
        grid.rows.append([(name,), (row["base"] or "–",), (size,), (data,), *f1])
    return grid


def _csv(cells: Mapping[str, Any]) -> list[list[Any]]:
    facts = ["base", "base_family", "parameters", "instances"]
    lines: list[list[Any]] = [["component", "guard", *facts, *FIELDS]]
    for component, rows in cells.items():
        for name, row in rows.items():
            lines.append([component, name, *(row[fact] for fact in facts), *fields(row["f1"])])
    return lines


def figure(cells: Mapping[str, Any]) -> Figure:
    """F1 over parameters and over training instances, a column a component; marks are bases."""
    points = [row for rows in cells.values() for row in rows.values()]
    drawn = marks(sorted({row["base_family"] for row in points}))
    axes = {name: label for name, label in _AXES.items() if any(row[name] for row in points)}
    picture = blank(0.8 + 2.1 * max(2, len(cells)), 1.3 + 1.75 * len(axes))
    shown = panels(picture, len(axes) * len(cells), across=len(cells), share_y=True)
    for ax, (what, component) in zip(
        shown, ((what, component) for what in axes for component in cells), strict=True
    ):
        for row in cells[component].values():
            if row[what]:
                ax.plot(row[what], row["f1"]["value"], markersize=5.5, alpha=0.9, clip_on=False,
                        **drawn[row["base_family"]])  # fmt: skip
        _logarithmic(ax, [row[what] for row in points if row[what]])
        percent_ticks(ax, "y")
        ax.set_xlabel(axes[what], fontsize=7)
        ax.set_title(component if what == next(iter(axes)) else "", fontsize=8)
        ruled(ax)
    key_below(picture, drawn)
    head(picture, "F1 against size and training instances; marks: family of the base")
    return picture


def _logarithmic(ax: Axes, values: Sequence[float]) -> None:
    """A logarithmic x axis with a few ticks in words, none outside of what is shown."""
    low, high = min(values) / 1.6, max(values) * 1.6
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    step = (1, 3) if high / low < 300 else (1,)
    ticks = [a * 10.0**b for b in range(-3, 10) for a in step if low <= a * 10.0**b <= high]
    ax.set_xticks(ticks, [_short(tick) for tick in ticks])
    ax.set_xticks([], minor=True)


def _short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
