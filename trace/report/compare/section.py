"""One analysis as it travels: its numbers, its tables, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing
from trace.report.entry import Metric
from trace.report.grid import Grid, escape

FIELDS = ["value", "low", "high", "n", "n_unscored"]
"""What stands of a metric in a CSV."""


def fields(metric: Metric) -> list[Any]:
    """The values of `FIELDS`."""
    return [metric[name] for name in FIELDS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One analysis. `result` stands in compare.json; it has a `reason` when there is none.

    `left_out` says which judges and protocols have no row in it, and why; `notes` what has to be
    said on the terminal, too.
    """

    name: str
    title: str
    result: dict[str, Json]
    grids: tuple[Grid, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """Why there is nothing to show."""
        reason: str | None = self.result.get("reason")
        return reason

    def markdown(self) -> str:
        """The title, every table, and who is in none of them."""
        body = [f"*{self.reason}.*"] if self.reason else [grid.markdown() for grid in self.grids]
        without = "\n".join(f"- left out: {escape(line)}" for line in self.left_out)
        pictures = [f"![{d.stem}](figures/{d.stem}.png)" for d in self.drawings]
        return "\n\n".join([f"## {self.title}", *body, *filter(None, [without]), *pictures])


def missing(
    name: str,
    title: str,
    reason: str,
    *,
    left_out: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Section:
    """An analysis that lacks its input."""
    result = {"reason": reason}
    return Section(name=name, title=title, result=result, left_out=left_out, notes=notes)


def by_protocol(
    name: str,
    title: str,
    found: dict[str, Json],
    *,
    grid: Callable[[str, Any], Grid],
    figure: Callable[[Mapping[str, Any]], Figure],
    rows: Callable[[Mapping[str, Any]], list[list[Any]]],
    left_out: tuple[str, ...] = (),
) -> Section:
    """An analysis found for each protocol: a table of each, and one figure with its CSV."""
    if "reason" in found:
        return missing(name, title, found["reason"], left_out=left_out)
    return Section(
        name=name,
        title=title,
        result=found,
        grids=tuple(grid(protocol, block) for protocol, block in found.items()),
        drawings=(Drawing(stem=name, draw=partial(figure, found), rows=rows(found)),),
        left_out=left_out,
    )
