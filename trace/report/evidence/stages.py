"""Which component is hardest for each guard, and by how much: paired over the same triples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from matplotlib.figure import Figure
from scipy.stats import rankdata

from trace.records import Json
from trace.report.canvas import (
    INK,
    POINT,
    Drawing,
    blank,
    head,
    name_rows,
    panels,
    round_ticks,
    ruled,
)
from trace.report.compare.judged import How
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric
from trace.report.evidence.contrast import f1_contrast
from trace.report.evidence.guards import COMPONENTS, Guard, without
from trace.report.evidence.safety import mean
from trace.report.grid import Grid, percent

NAME, TITLE = "evidence_stages", "Components compared within each guard"
TIED = "tied"


def stages(guards: Sequence[Guard], how: How) -> dict[str, Json]:
    """Ranks of the components by F1, and their differences over the same triples.

    Returns:
        `guards` (guard -> `ranks`, component -> rank, 1 the highest F1 and equal ones sharing the
        mean; and `differences`, pair of components -> the F1 of the first less that of the second,
        resampled by prompt), `hardest` and `easiest` (component, or `tied` -> how many guards) and
        `means` (pair -> mean over guards); or a `reason`.
    """
    rows = {g.name: _row(g, how) for g in guards if len(g.runs) > 1}
    if not rows:
        return {"reason": "no guard was run on two components (condition=prompt,trace,response -m)"}
    ranked = [row["ranks"] for row in rows.values() if len(row["ranks"]) == len(COMPONENTS)]
    pairs = list(dict.fromkeys(pair for row in rows.values() for pair in row["differences"]))
    return {
        "guards": rows,
        "ranked": len(ranked),
        "hardest": _ends(ranked, max),
        "easiest": _ends(ranked, min),
        "means": {
            pair: mean(r["differences"][pair] for r in rows.values() if pair in r["differences"])
            for pair in pairs
        },
    }


def _row(guard: Guard, how: How) -> dict[str, Json]:
    values = {
        c: m["f1"]["value"] for c, m in guard.detected.items() if m["f1"]["value"] is not None
    }
    ranks = rankdata([-value for value in values.values()])
    return {
        "ranks": dict(zip(values, map(float, ranks), strict=True)),
        "differences": {
            f"{a} − {b}": _difference(guard, a, b, how) for a, b in combinations(guard.runs, 2)
        },
    }


def _difference(guard: Guard, first: str, second: str, how: How) -> Metric:
    """Over the triples that were judged in both components."""
    one, other = ({o.id: o for o in guard.runs[c].once} for c in (first, second))
    both = sorted(one.keys() & other.keys())  # a sample has the id of its triple
    found = f1_contrast(
        [one[triple].judged() for triple in both],
        [other[triple].judged() for triple in both],
        guard.run.negative,
        how,
        names=(first, second),
    )
    return found | {"triples": len(both)}


def _ends(ranked: Sequence[Mapping[str, float]], end: Any) -> dict[str, int]:
    """How many guards have each component at one end of its ranks."""
    counts: Counter[str] = Counter()
    for ranks in ranked:
        worst = [c for c, rank in ranks.items() if rank == end(ranks.values())]
        counts[worst[0] if len(worst) == 1 else TIED] += 1
    return {name: counts[name] for name in (*COMPONENTS, TIED)}


def section(guards: Sequence[Guard], how: How) -> Section:
    """The differences and ranks in a table, the counts in another, the differences in a figure."""
    found = stages(guards, how)
    left_out = without(guards, lambda g, _: "one component" if len(g.runs) < 2 else None)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=left_out)
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_differences(found), _counts(found)),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=_csv(found)),),
        left_out=left_out,
    )


def _differences(found: Mapping[str, Any]) -> Grid:
    pairs = list(found["means"])
    grid = Grid(
        title="Differences in F1 between components",
        header=["Guard", *(pair.replace(" − ", " −\n") for pair in pairs), "Ranks", "Triples"],
    )
    grid.notes[""] = (
        "Percentage points over the triples that have both, with 95% intervals resampled by "
        "prompt. Ranks: prompt, trace, response by F1; 1 is the highest. F1 rises with the share "
        "of unsafe samples, which the components need not have in common."
    )
    for name, row in found["guards"].items():
        cells: list[tuple[str, ...]] = [(name,)]
        for pair in pairs:
            metric = row["differences"].get(pair)
            cells.append(
                ("",)
                if metric is None
                else (
                    grid.value(metric, signed=True) + grid.missing_interval(metric),
                    grid.interval(metric),
                )
            )
        ranks = " ".join(f"{row['ranks'][c]:g}" if c in row["ranks"] else "–" for c in COMPONENTS)
        triples = max(metric["triples"] for metric in row["differences"].values())
        grid.rows.append([*cells, (ranks,), (str(triples),)])
    grid.ends.append(len(grid.rows))
    means = [
        ("–" if m["value"] is None else f"{percent(m['value'], signed=True)} ({m['n']})",)
        for m in found["means"].values()
    ]
    grid.rows.append([("mean",), *means, ("",), ("",)])
    return grid


def _counts(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Guards by their hardest and their easiest component",
        header=["", *(name.capitalize() for name in found["hardest"])],
    )
    grid.notes[""] = f"Of {found['ranked']} guards with an F1 on all three; lowest and highest F1."
    for end in ("hardest", "easiest"):
        grid.rows.append([(end,), *((str(count),) for count in found[end].values())])
    return grid


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["guard", "difference", *FIELDS, "triples"]]
    for name, row in found["guards"].items():
        for pair, metric in row["differences"].items():
            lines.append([name, pair, *fields(metric), metric["triples"]])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """The differences with their intervals, a panel a pair of components."""
    pairs, names = list(found["means"]), list(found["guards"])
    picture = blank(1.9 + 1.75 * len(pairs), 1.3 + 0.19 * len(names))
    shown = panels(picture, len(pairs), share_y=True)
    for ax, pair in zip(shown, pairs, strict=True):
        for place, row in enumerate(found["guards"].values()):
            metric = row["differences"].get(pair)
            if metric is None or metric["value"] is None:
                continue
            if metric["low"] is not None:
                ends = [100 * metric["low"], 100 * metric["high"]]
                ax.plot(ends, [place, place], color=POINT, linewidth=1.3)
            ax.plot(100 * metric["value"], place, "o", color=POINT, markersize=4)
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        ax.set_xlim(*_span(found))
        round_ticks(ax)
        name_rows(ax, names)
        ax.set_title(pair, fontsize=8)
        ruled(ax, "x")
    head(picture, "F1 of one component less another, same triples (points, 95% by prompt)")
    return picture


def _span(found: Mapping[str, Any]) -> tuple[float, float]:
    """What all panels show, in points, so that they can be compared: every interval, and 0."""
    ends = [
        100 * metric[end]
        for row in found["guards"].values()
        for metric in row["differences"].values()
        for end in ("low", "value", "high")
        if metric[end] is not None
    ]
    return min([0.0, *ends]) - 2, max([0.0, *ends]) + 2
