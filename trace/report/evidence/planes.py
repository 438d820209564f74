"""Figures 4 and 7: how a guard trades one kind of error for the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, Drawing, blank, head, panels, percent_ticks, ruled
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric
from trace.report.evidence.guards import Guard, by_component, names_in, without
from trace.report.evidence.marks import key_below, marks
from trace.report.grid import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Two metrics that are read together, and what it means that one is the greater.

    On the line that `rising` describes both are equal; `over` names guards with the greater y.
    """

    name: str
    title: str
    head: str
    x: str
    y: str
    labels: tuple[str, str]
    over: str
    under: str


ERRORS = Plane(
    name="evidence_errors",
    title="Over-refusal against under-blocking (Figure 4)",
    head="Over-refusal (FPR) against under-blocking (FNR)",
    x="fpr",
    y="fnr",
    labels=("FPR (safe, called unsafe)", "FNR (unsafe, called safe)"),
    over="under-blocking (FNR over FPR)",
    under="over-refusal (FPR over FNR)",
)
PRECISION = Plane(
    name="evidence_precision",
    title="Precision against recall (Figure 7)",
    head="Precision against recall, unsafe positive",
    x="recall",
    y="precision",
    labels=("recall", "precision"),
    over="precision over recall",
    under="recall over precision",
)


def plane(guards: Sequence[Guard], of: Plane) -> dict[str, Json]:
    """The two metrics of every guard that has both.

    Returns:
        `components` (component -> guard -> metric -> metric) and `lean` (component -> `over`,
        `under`, `even`: how many guards lie on each side of the line where both are equal); or a
        `reason`.
    """

    def point(guard: Guard, component: str) -> dict[str, Metric] | None:
        if _lack(guard, component, of) is not None:
            return None
        return {name: guard.detected[component][name] for name in (of.x, of.y)}

    cells = by_component(guards, point)
    if not cells:
        reasons = {_lack(guard, c, of) for guard in guards for c in guard.runs}
        return {"reason": "; ".join(sorted(filter(None, reasons))) or "no runs"}
    return {"components": cells, "lean": {c: _lean(rows, of) for c, rows in cells.items()}}


def _lack(guard: Guard, component: str, of: Plane) -> str | None:
    """Why a guard has no place in the plane, if so."""
    found = (guard.detected[component][name].get("reason") for name in (of.x, of.y))
    return "; ".join(dict.fromkeys(filter(None, found))) or None


def _lean(rows: Mapping[str, Mapping[str, Metric]], of: Plane) -> dict[str, int]:
    gaps = [row[of.y]["value"] - row[of.x]["value"] for row in rows.values()]
    return {
        "over": sum(gap > 0 for gap in gaps),
        "under": sum(gap < 0 for gap in gaps),
        "even": sum(gap == 0 for gap in gaps),
    }


def section(guards: Sequence[Guard], of: Plane) -> Section:
    """The counts of guards in a table, the guards in a figure."""
    found = plane(guards, of)
    left_out = without(guards, lambda g, c: _lack(g, c, of))
    if "reason" in found:
        return missing(of.name, of.title, found["reason"], left_out=left_out)
    grid = Grid(title="Guards by what prevails", header=["Component", of.over, of.under, "even"])
    for component, counts in found["lean"].items():
        grid.rows.append([(component,), *((str(count),) for count in counts.values())])
    cells = found["components"]
    return Section(
        name=of.name,
        title=of.title,
        result=found,
        grids=(grid,),
        drawings=(Drawing(stem=of.name, draw=partial(figure, cells, of), rows=_csv(cells, of)),),
        left_out=left_out,
    )


def _csv(cells: Mapping[str, Any], of: Plane) -> list[list[Any]]:
    names = [f"{name}_{field}" for name in (of.x, of.y) for field in FIELDS]
    lines: list[list[Any]] = [["component", "guard", *names]]
    for component, rows in cells.items():
        for guard, row in rows.items():
            lines.append([component, guard, *fields(row[of.x]), *fields(row[of.y])])
    return lines


def figure(cells: Mapping[str, Any], of: Plane) -> Figure:
    """A point a guard, a panel a component; on the dotted line both are equal."""
    drawn = marks(names_in(cells))
    picture = blank(0.5 + 2.2 * max(2, len(cells)), 2.4 + 0.17 * -(-len(drawn) // 4))
    shown = panels(picture, len(cells))
    for ax, (component, rows) in zip(shown, cells.items(), strict=True):
        for name, row in rows.items():
            x, y = row[of.x]["value"], row[of.y]["value"]
            ax.plot(x, y, markersize=5.5, alpha=0.9, clip_on=False, **drawn[name])
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":", zorder=0)
        percent_ticks(ax, "x", "y")
        ax.set_xlabel(of.labels[0], fontsize=7)
        ax.set_title(component, fontsize=8)
        ax.set_aspect("equal")
        ruled(ax)
    shown[0].set_ylabel(of.labels[1], fontsize=7)
    key_below(picture, drawn)
    head(picture, of.head)
    return picture
