"""Does a judge's Balanced F1 go with what the model can do elsewhere?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trace.records import Json
from trace.report.canvas import (
    INK,
    Drawing,
    blank,
    head,
    panels,
    percent_ticks,
    round_ticks,
    ruled,
)
from trace.report.compare.judged import How, Judge, blocks, left_out
from trace.report.compare.scores import Scores, doubts, unmatched
from trace.report.compare.section import Section, missing
from trace.report.entry import number
from trace.report.grid import Grid
from trace.stats import correlation

NAME, TITLE = "capability", "Balanced F1 (schema) against capability"
PROTOCOL, METRIC = "schema", "balanced_f1"
EXTREME = (0.05, 0.95)
OTHER = ("other benchmark", "other data", "other samples")
"""Marks of runs whose F1 is over something else than that of the other models."""


def _sided(judge: Judge) -> bool:
    """TPR or TNR is extreme: the judge says nearly always the same."""
    return _extreme(judge.metrics[side]["value"] for side in ("tpr", "tnr"))


def _classed(judge: Judge) -> bool:
    """The accuracy on one of the gold classes is extreme."""
    return _extreme(row["accuracy"]["value"] for row in judge.classes.values())


def _extreme(values: Any) -> bool:
    return any(v is not None and not EXTREME[0] <= v <= EXTREME[1] for v in values)


ROWS: dict[str, Callable[[Judge], bool]] = {
    "all": lambda _: False,
    "no extreme class": _classed,
    "no extreme side": _sided,
}
"""Which models each row leaves out. The paper drops models with any class over 95% or under 5%,
and does not say whether it means the gold classes or safe and unsafe: both are shown."""


def correlations(judges: Sequence[Judge], scores: Scores, how: How) -> dict[str, Json]:
    """Correlates Balanced F1 under `schema` with every benchmark, over the models that have both.

    A model with several runs has none that is the right one, and one over other samples has no F1
    to set beside the others: they are left out.

    Returns:
        `points` (benchmark -> model -> score, balanced_f1), `benchmarks` (benchmark -> row of
        `ROWS` -> n, pearson, spearman, leave_one_out), `differences` (two benchmarks, r of each
        over the models that have both, and the resampled interval of r1 − r2), `without_run`
        (models of the table that no run is of), `without_score` (benchmark -> models with a run
        that it has no score of); or a `reason`.
    """
    block = blocks(judges).get(PROTOCOL, [])
    able = {judge.run.model: judge for judge in block if _lack(judge) is None}
    named = {model for of in scores.values() for model in of}
    if not able.keys() & named:
        have = f"the runs are of {', '.join(sorted(able))}" if able else f"no run under {PROTOCOL}"
        return {"reason": f"no model of the table of scores has a run under {PROTOCOL} ({have})"}
    f1 = {model: float(judge.metrics[METRIC]["value"]) for model, judge in able.items()}
    both = {name: sorted(of.keys() & able.keys()) for name, of in scores.items()}
    return {
        "points": {
            name: {m: {"score": scores[name][m], METRIC: f1[m]} for m in models}
            for name, models in both.items()
        },
        "benchmarks": {
            name: {
                row: _row([m for m in models if not drop(able[m])], scores[name], f1, how)
                for row, drop in ROWS.items()
            }
            for name, models in both.items()
        },
        "differences": [
            _difference(a, b, sorted({*both[a]} & {*both[b]}), scores, f1, how)
            for a, b in combinations(both, 2)
        ],
        "without_run": sorted(named - able.keys()),
        "without_score": {name: sorted(able.keys() - of.keys()) for name, of in scores.items()},
    }


def _lack(judge: Judge) -> str | None:
    """Why a run has no point, if so."""
    if any(mark.startswith("#") for mark in judge.run.marks):
        return "one of several runs of its model"
    if marks := [mark for mark in judge.run.marks if mark in OTHER]:
        return ", ".join(marks)
    reason: str | None = judge.metrics[METRIC].get("reason")
    return reason


def _row(
    models: Sequence[str], score: Mapping[str, float], f1: Mapping[str, float], how: How
) -> dict[str, Json]:
    x, y = [f1[m] for m in models], [score[m] for m in models]
    rng = np.random.default_rng(how.seed)
    pearson = correlation.pearson(x, y)
    found: dict[str, Json] = {"n": len(models), "pearson": asdict(pearson)}
    if pearson.value is not None:
        fisher = correlation.fisher_interval(pearson.value, len(models))
        resampled = correlation.bootstrap_interval(x, y, draws=how.draws, rng=rng)
        found["pearson"] |= {"fisher": asdict(fisher), "bootstrap": asdict(resampled)}
        without = dict(zip(models, correlation.leave_one_out(x, y), strict=True))
        found["leave_one_out"] = without
    found["spearman"] = asdict(correlation.spearman(x, y, rng=rng))
    rounded: dict[str, Json] = _rounded(found)
    return rounded


def _difference(
    a: str, b: str, models: Sequence[str], scores: Scores, f1: Mapping[str, float], how: How
) -> dict[str, Json]:
    found = correlation.difference(
        [f1[m] for m in models],
        [scores[a][m] for m in models],
        [scores[b][m] for m in models],
        draws=how.draws,
        rng=np.random.default_rng(how.seed),
    )
    rounded: dict[str, Json] = _rounded({"first": a, "second": b, **asdict(found)})
    return rounded


def _rounded(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return number(value) if isinstance(value, float) else value


def section(judges: Sequence[Judge], scores: Scores | None, how: How) -> Section:
    """The correlations and their differences in tables, the points in a figure."""
    if scores is None:
        return missing(NAME, TITLE, "no table of scores is given (task.capability=FILE.csv)")
    found = correlations(judges, scores, how)
    asked = blocks(judges).get(PROTOCOL, [])
    runs = {judge.run.model for judge in asked}
    notes = (*doubts(scores), *unmatched(scores, runs, PROTOCOL))
    without = left_out(asked, _lack)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=without, notes=notes)
    marked = [j.name for j in asked if j.run.marks and _lack(j) is None]
    notes += (f"capability: counts {', '.join(marked)}, marked.",) if marked else ()
    without += tuple(
        f"{name}: {', '.join(models)} (no score)"
        for name, models in found["without_score"].items()
        if models
    )
    rows: list[list[Any]] = [["benchmark", "model", "score", METRIC]]
    for name, points in found["points"].items():
        rows += [[name, m, p["score"], p[METRIC]] for m, p in points.items()]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(found), _differences(found["differences"])),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=rows),),
        left_out=without,
        notes=notes,
    )


def _r(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def _interval(interval: Mapping[str, Any]) -> str:
    return "–" if interval["low"] is None else f"({_r(interval['low'])}, {_r(interval['high'])})"


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Correlation over models",
        header=["Benchmark", "Models", "n", "Pearson r", "p", "Fisher 95%", "Bootstrap 95%",
                "dropped", "Spearman ρ", "exact p", "r, one left out"],
    )  # fmt: skip
    grid.notes[""] = (
        "Models as they come, not a sample of models: a large p is no evidence of no relation. "
        "Extreme: over 95% or under 5%. Dropped: resamples without an r, in percent."
    )
    for name, rows in found["benchmarks"].items():
        for which, row in rows.items():
            pearson, spearman = row["pearson"], row["spearman"]
            cells = [name if which == "all" else "", which, str(row["n"])]
            if pearson["value"] is None:
                cells += [f"–{grid.mark(pearson['reason'])}", *[""] * 7]
            else:
                boot = pearson["bootstrap"]
                dropped = boot["undefined"]
                others = [r for r in row["leave_one_out"].values() if r is not None]
                span = f"{_r(min(others))} to {_r(max(others))}" if others else "–"
                cells += [
                    _r(pearson["value"]), _p(pearson["p"]), _interval(pearson["fisher"]),
                    _interval(boot) + (grid.mark(boot["reason"]) if boot["reason"] else ""),
                    "–" if dropped is None else f"{100 * dropped:.1f}",
                    _r(spearman["value"]), _p(spearman["p"]), span,
                ]  # fmt: skip
                if "Monte" in spearman["method"]:
                    grid.notes["exact p:"] = spearman["method"]
            grid.rows.append([(cell,) for cell in cells])
    if found["without_run"]:
        grid.notes["in the table, but without a run:"] = ", ".join(found["without_run"])
    return grid


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if value >= 1e-4 else f"{value:.1e}"


def _differences(rows: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(
        title="Two correlations compared",
        header=["First", "Second", "n", "r₁ − r₂", "Bootstrap 95%"],
    )
    grid.notes[""] = "Over the models that have both; models resampled, all three values together."
    for row in rows:
        reason = row["reason"] or row["interval"]["reason"]
        text = _r(row["value"]) + (grid.mark(reason) if reason else "")
        cells = (row["first"], row["second"], str(row["n"]), text, _interval(row["interval"]))
        grid.rows.append([(cell,) for cell in cells])
    return grid


def figure(found: Mapping[str, Any]) -> Figure:
    """Balanced F1 over the score, a panel a benchmark."""
    points = {name: of for name, of in found["points"].items() if of}
    names = sorted({model for of in points.values() for model in of})
    inks = {name: colormaps["tab20"](i % 20) for i, name in enumerate(names)}
    across = min(3, len(points))
    down = -(-len(points) // across)
    picture = blank(2.6 + 2.6 * across, max(0.9 + 2.7 * down, 1.2 + 0.18 * len(names)))
    shown = panels(picture, len(points), across=across, share_y=True)
    for ax, (name, of) in zip(shown, points.items(), strict=True):
        for model, point in of.items():
            ax.plot(point["score"], point[METRIC], "o", color=inks[model], markeredgecolor=INK,
                    markeredgewidth=0.5)  # fmt: skip
        r = found["benchmarks"][name]["all"]["pearson"]
        ax.set_title(f"{name} (r = {_r(r['value'])}, n = {r['n']})", fontsize=8)
        percent_ticks(ax, "y")
        ax.margins(x=0.1)
        round_ticks(ax)
        ax.set_xlabel("score", fontsize=7)
        ruled(ax)
    handles = [Line2D([], [], linestyle="", marker="o", color=inks[n], label=n) for n in names]
    picture.legend(handles=handles, loc="outside right center", fontsize=7, frameon=False)
    head(picture, "Balanced F1 (schema) against capability scores")
    return picture
