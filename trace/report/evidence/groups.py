"""Table 7 and the languages: the F1 of each guard on two groups of triples, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trace.records import Json
from trace.report.canvas import INK, Drawing, blank, head, name_rows, panels, percent_ticks, ruled
from trace.report.compare.judged import How
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric
from trace.report.evidence.contrast import f1_contrast
from trace.report.evidence.guards import Guard, by_component, detect, names_in, without
from trace.report.evidence.safety import mean
from trace.report.grid import Grid, percent
from trace.report.runs import Observation

SIDES: tuple[Mapping[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o"},
    {"color": "#d55e00", "marker": "D"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Two groups of triples.

    `of` names a sample's group; `groups` are those compared; `components` are where the split
    means something.
    """

    name: str
    title: str
    of: Callable[[Observation], str]
    groups: tuple[str, str]
    components: tuple[str, ...]
    note: str


_ANSWERS = ("trace", "response")  # a prompt is the same whoever answers it

FAMILY = Split(
    name="evidence_family",
    title="By the family that answered: Qwen and Gemma (Table 7)",
    of=lambda o: str(o.sample["family"]),
    groups=("Qwen", "Gemma"),
    components=_ANSWERS,
    note="The families answered the same prompts, which are resampled with both answers.",
)
ALIGNED = Split(
    name="evidence_aligned",
    title="By alignment: aligned and abliterated respondents",
    of=lambda o: "abliterated" if o.sample["abliterated"] else "aligned",
    groups=("aligned", "abliterated"),
    components=_ANSWERS,
    note="They answered the same prompts, which are resampled with both answers.",
)
LANGUAGE = Split(
    name="evidence_language",
    title="By language: Chinese and English",
    of=lambda o: str(o.sample["language"]),
    groups=("zh", "en"),
    components=("prompt", *_ANSWERS),
    note="The prompts of the languages differ, so a difference may be one of the prompts.",
)


def split(guards: Sequence[Guard], by: Split, how: How) -> dict[str, Json]:
    """F1 on both groups and their difference, resampled by prompt.

    Returns:
        `components` (component -> guard -> each group and `difference` -> metric), `means`
        (component -> the same -> value and n, unweighted over guards) and `better` (component ->
        group -> how many guards have the higher F1 on it, and `tied`); or a `reason`.
    """
    if reason := _absent(guards, by):
        return {"reason": reason}
    cells = by_component(guards, lambda g, c: _row(g, c, by, how) if c in by.components else None)
    return {
        "components": cells,
        "means": {
            component: {
                name: mean(row[name] for row in of.values()) for name in (*by.groups, "difference")
            }
            for component, of in cells.items()
        },
        "better": {component: _better(of, by) for component, of in cells.items()},
    }


def _absent(guards: Sequence[Guard], by: Split) -> str | None:
    """Why there is nothing to compare, if so."""
    runs = [guard.runs[c] for guard in guards for c in by.components if c in guard.runs]
    if not runs:
        return f"no run on {' or '.join(by.components)}"
    there = {by.of(o) for run in runs for o in run.once}
    lacking = [group for group in by.groups if group not in there]
    return f"no triple is {' or '.join(lacking)}; there are {', '.join(sorted(there))}" if lacking \
        else None  # fmt: skip


def _row(guard: Guard, component: str, by: Split, how: How) -> dict[str, Metric]:
    run = guard.runs[component]
    row = {g: detect(run, how, lambda o, g=g: by.of(o) == g)["f1"] for g in by.groups}  # type: ignore[misc]
    first, second = ([o.judged() for o in run.once if by.of(o) == g] for g in by.groups)
    difference = f1_contrast(first, second, run.negative, how, names=by.groups)
    return row | {"difference": difference}


def _better(rows: Mapping[str, Mapping[str, Metric]], by: Split) -> dict[str, int]:
    values = [row["difference"]["value"] for row in rows.values()]
    known = [value for value in values if value is not None]
    return {
        by.groups[0]: sum(value > 0 for value in known),
        by.groups[1]: sum(value < 0 for value in known),
        "tied": sum(value == 0 for value in known),
    }


def section(guards: Sequence[Guard], by: Split, how: How) -> Section:
    """A table a component, the counts of guards, and both groups in a figure."""
    found = split(guards, by, how)
    if "reason" in found:
        return missing(by.name, by.title, found["reason"])
    cells = found["components"]

    def lack(guard: Guard, component: str) -> str | None:
        row = cells.get(component, {}).get(guard.name)
        reason: str | None = row and row["difference"].get("reason")
        return reason

    return Section(
        name=by.name,
        title=by.title,
        result=found,
        grids=(
            *(_grid(component, rows, found["means"][component], by)
              for component, rows in cells.items()),
            _counts(found["better"], by),
        ),
        drawings=(Drawing(stem=by.name, draw=partial(figure, cells, by), rows=_csv(cells)),),
        left_out=without(guards, lack),
    )  # fmt: skip


def _grid(component: str, rows: Mapping[str, Any], means: Mapping[str, Any], by: Split) -> Grid:
    first, second = by.groups
    columns = (first, second, "difference")
    grid = Grid(
        title=f"{component.capitalize()}: F1",
        header=["Guard", first, second, f"{first} −\n{second}", "n"],
    )
    grid.notes[""] = (
        f"Percent, and percentage points, with 95% intervals resampled by prompt. {by.note} F1 "
        "rises with the share of unsafe samples, which the groups need not have in common."
    )
    for name, row in rows.items():
        cells: list[tuple[str, ...]] = [(name,)]
        for column in columns:
            metric = row[column]
            text = grid.value(metric, signed=column == "difference")
            cells.append((text + grid.missing_interval(metric), grid.interval(metric)))
        grid.rows.append([*cells, (str(row["difference"]["n"]),)])
    for place, group in enumerate(by.groups, 1):
        grid.rank(place, [row[group]["value"] for row in rows.values()])
    grid.ends.append(len(grid.rows))
    shown = (
        "–" if (m := means[c])["value"] is None
        else f"{percent(m['value'], signed=c == 'difference')} ({m['n']})"
        for c in columns
    )  # fmt: skip
    grid.rows.append([("mean",), *((text,) for text in shown), ("",)])
    return grid


def _counts(better: Mapping[str, Any], by: Split) -> Grid:
    grid = Grid(
        title="Guards by the group with the higher F1",
        header=["Component", *by.groups, "tied"],
    )
    for component, counts in better.items():
        grid.rows.append([(component,), *((str(count),) for count in counts.values())])
    return grid


def _csv(cells: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["component", "guard", "group", *FIELDS]]
    for component, rows in cells.items():
        for name, row in rows.items():
            lines += [[component, name, group, *fields(m)] for group, m in row.items()]
    return lines


def figure(cells: Mapping[str, Any], by: Split) -> Figure:
    """The two F1 of each guard joined by a line, a panel a component."""
    names = names_in(cells)
    picture = blank(2.2 + 1.9 * len(cells), 1.5 + 0.19 * len(names))
    shown = panels(picture, len(cells), share_y=True)
    for ax, (component, rows) in zip(shown, cells.items(), strict=True):
        for name, row in rows.items():
            place = names.index(name)
            values = [row[group]["value"] for group in by.groups]
            if None not in values:
                ax.plot(values, [place, place], color=INK, linewidth=0.8, zorder=1)
            for value, style in zip(values, SIDES, strict=True):
                if value is not None:
                    ax.plot(value, place, markersize=4.5, linestyle="", **style)
        percent_ticks(ax, "x")
        name_rows(ax, names)
        ax.set_title(component, fontsize=8)
        ruled(ax, "x")
    handles = [
        Line2D([], [], linestyle="", markersize=5, label=group, **style)
        for group, style in zip(by.groups, SIDES, strict=True)
    ]
    picture.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    head(picture, f"F1, unsafe positive: {by.groups[0]} and {by.groups[1]}")
    return picture
