"""Tables of what linear probes tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median_low
from typing import Any

from trace.report.grid import Grid, decimal, many, percent, probability
from trace.report.interp.layers import Layer, best
from trace.report.interp.words import cells, listed, position

_HEADER = ["What", "Percent", "95% interval", "p", "n"]


def probe_grids(title: str, result: Mapping[str, Any]) -> list[Grid]:
    """What came out in short, then every layer, then every layer of the control model.

    Args:
        title: stands above the first.
        result: `metrics` and `breakdowns` of task=probe.
    """
    breakdowns = result["breakdowns"]
    grids = [_summary(title, result), _layers("By layer", breakdowns["layers"])]
    control = breakdowns["control"]
    if control is not None:
        title = f"By layer of the control model, {control['model']}"
        grids.append(_layers(title, control["layers"]))
    return grids


def _summary(title: str, result: Mapping[str, Any]) -> Grid:
    metrics, breakdowns = result["metrics"], result["breakdowns"]
    classes, shuffles, control = (breakdowns[k] for k in ("classes", "shuffles", "control"))
    grid = Grid(title=title, header=_HEADER)
    for side in ("positive", "negative"):
        name = f"{side}: {listed(classes[side]['labels'])}"
        grid.rows.append([(name,), (), (), (), (f"{classes[side]['n']:,}",)])
    grid.ends.append(len(grid.rows))
    for measure, key in (("balanced accuracy", "peak"), ("AUC", "peak_auc")):
        found = metrics[key]
        at = "" if found["layer"] is None else f", layer {found['layer']}"
        p = None if shuffles["peak_p"] is None else found["p"]
        n = (f"{found['n']:,}",)
        grid.rows.append([(f"Peak {measure}{at}",), *cells(grid, found), (probability(p),), n])
    plateau = shuffles["plateau"]
    if plateau is not None:
        span = f"{percent(plateau['low'])}–{percent(plateau['high'])}"
        name = f"Lowest and highest of layer {plateau['from']} and all after it"
        grid.rows.append([(name,), (span,), (), (), ()])
    grid.ends.append(len(grid.rows))
    for row in breakdowns["baselines"]:
        accuracy = cells(grid, row["balanced_accuracy"])
        grid.rows.append([(f"Baseline: {row['name']}",), *accuracy, (), ()])
    grid.ends.append(len(grid.rows))
    if control is not None:
        _add_control(grid, control)
    grid.notes[""] = (
        "Balanced accuracy of pooled out-of-fold decisions, intervals resampled over items. "
        f"{many(classes['groups'], 'group')}; read at {position(classes['position'])}; "
        f"d = {classes['d']:,}."
    )
    grid.notes["p:"] = _of_shuffles(shuffles)
    grid.notes["First layer:"] = _first_layer(shuffles)
    return grid


def _add_control(grid: Grid, control: Mapping[str, Any]) -> None:
    top = best(control["layers"])
    if top is not None:
        name = f"Control model {control['model']}, layer {top['layer']}"
        found = cells(grid, top["balanced_accuracy"])
        grid.rows.append([(name,), *found, (), ()])
    test = control["mcnemar"]
    p = probability(None if test is None else test["p"])
    gap = cells(grid, control["gap"], signed=True)
    grid.rows.append([("Gap to the control model, points",), *gap, (p,), ()])
    counts = f" ({test['b']} against {test['c']})" if test is not None else ""
    grid.notes["Control:"] = (
        f"both probed in {many(control['dimension'], 'dimension')}; p of the gap by exact "
        f"McNemar on which decisions are right{counts}"
    )


def _of_shuffles(shuffles: Mapping[str, Any]) -> str:
    if shuffles["peak_p"] is None:
        return f"not known, for {shuffles['reason']}"
    return (
        f"(k+1)/(B+1) over B = {shuffles['count']:,} shuffles of the whole procedure, the best "
        f"layer of each against the peak; it cannot be below {probability(shuffles['floor'])}"
        + (f"; {shuffles['reason']}" if shuffles["reason"] else "")
    )


def _first_layer(shuffles: Mapping[str, Any]) -> str:
    if shuffles["first_layer"] is not None:
        return f"{shuffles['first_layer']}; it and every later one beat all shuffles"
    return (
        "not known" if shuffles["peak_p"] is None else "none from which on all beat every shuffle"
    )


def _layers(title: str, layers: Sequence[Layer]) -> Grid:
    """A row a layer; columns that nothing is known for are left out."""
    known = {
        name: texts
        for name, texts in (
            (name, [show(row) for row in layers]) for name, (show, _) in _COLUMNS.items()
        )
        if set(texts) != {"–"}
    }
    grid = Grid(title=title, header=["Layer", "Bal.\nacc.", "95%\ninterval", "AUC", *known])
    for i, row in enumerate(layers):
        accuracy = cells(grid, row["balanced_accuracy"])
        area = cells(grid, row["auc"])[:1]
        others = [(texts[i],) for texts in known.values()]
        grid.rows.append([(str(row["layer"]),), *accuracy, *area, *others])
    grid.rank(1, [row["balanced_accuracy"]["value"] for row in layers])
    notes = dict.fromkeys(_COLUMNS[name][1] for name in known)
    grid.notes[""] = " ".join(["Percent.", *filter(None, notes)])
    return grid


def _null(row: Layer, name: str) -> str:
    null = row["null"]
    return "–" if null is None or null[name] is None else percent(null[name])


def _seeds(seeds: Mapping[str, Any] | None) -> str:
    if seeds is None or seeds["low"] is None:
        return "–"
    return f"{percent(seeds['low'])}–{percent(seeds['high'])}"


def _points(value: float | None) -> str:
    return "–" if value is None else percent(value, signed=True)


def _cosine(value: float | None) -> str:
    return "–" if value is None else decimal(value)


_COLUMNS: dict[str, tuple[Callable[[Layer], str], str]] = {
    "p": (lambda row: probability(row["p"]), "p: of this layer alone, not corrected for others."),
    "Null\nmean": (partial(_null, name="mean"), "Null: with shuffled labels."),
    "Null\n95%": (partial(_null, name="q95"), ""),
    "Null\nmax": (partial(_null, name="max"), ""),
    "Split\nseeds": (
        lambda row: _seeds(row.get("seeds")),
        "Split seeds: lowest and highest over ways to split into folds.",
    ),
    "Selec-\ntivity": (
        lambda row: _points(row["selectivity"]),
        "Selectivity: points above the same probe with random labels by group.",
    ),
    "C": (
        lambda row: f"{median_low(row['strength']):g}" if row["strength"] else "–",
        "C: median of the folds.",
    ),
    "Cos": (
        lambda row: _cosine(row.get("cosine_difference")),
        "Cos: of the probe's direction and the difference of the classes' means.",
    ),
}
"""Heading -> how it is written, and what it is."""
