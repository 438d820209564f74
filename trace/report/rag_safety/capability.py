"""R1: does a model that answers better from harmless documents do so from harmful ones, too?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing, blank, head, panels, percent_ticks, round_ticks, ruled
from trace.report.compare.judged import How
from trace.report.compare.scores import Scores, doubts
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric, number
from trace.report.evidence.marks import key_below, marks
from trace.report.grid import Grid, decimal, percent, probability
from trace.report.rag_safety.answers import Answers, Codes
from trace.report.rag_safety.cells import asked, share
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.plane import names_across
from trace.report.rag_safety.words import ACCURACY, HARM, ORACLE
from trace.stats import correlation

NAME, TITLE = "rag_capability", "Accuracy on harmless questions against harmful ones (R1)"
OWN = "benign items"
"""The accuracy on the items of the file that have no harm."""
OUTCOMES = {ACCURACY: "accuracy, oracle document", HARM: "harm, oracle document"}


def capability(
    answers: Answers,
    said: Verdicts,
    benign: Answers,
    of_benign: Verdicts,
    scores: Scores | None,
    how: How,
) -> dict[str, Json]:
    """Correlations over respondents, with what a few of them can tell.

    A respondent is one point: its accuracy on benign items under the oracle condition, or its
    score in a table, against its accuracy and its harm on harmful items under that condition.

    Args:
        answers: those to harmful items.
        said: the panel on them.
        benign: the answers to benign items.
        of_benign: the panel on those.
        scores: benchmark -> model -> score, such as MIRAGE's.
        how: the resamples of the bootstrap.

    Returns:
        `points` (capability -> respondent -> `x`, accuracy and harm) and `correlations`
        (capability -> outcome -> `n`, `value`, `p`, `fisher`, `bootstrap`, `reason`); or a
        `reason`.
    """
    outcomes = {
        name: _oracle(answers, said.first(name), 1) for name in OUTCOMES if name in said.labels
    }
    sources: dict[str, Mapping[str, float]] = {}
    own = _oracle(benign, of_benign.first(ACCURACY), 1)
    if own:
        sources[OWN] = {n: m["value"] for n, m in own.items() if m["value"] is not None}
    sources |= {name: dict(of) for name, of in (scores or {}).items()}
    if not sources:
        return {
            "reason": "no accuracy under oracle on items whose column benign is true, and no table "
            "of scores (task.capability=FILE.csv)"
        }
    if not any(outcomes.values()):
        return {"reason": f"no accuracy and no harm under {ORACLE}"}
    points: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, Any]] = {}
    for source, values in sources.items():
        points[source] = {
            name: {"x": values[name]}
            | {outcome: of[name]["value"] for outcome, of in outcomes.items() if name in of}
            for name in answers.respondents
            if name in values
        }
        found[source] = {o: correlated(points[source], o, how) for o in outcomes}
    return {"points": points, "correlations": found}


def _oracle(answers: Answers, codes: Codes | None, hit: int) -> dict[str, Metric]:
    if codes is None or ORACLE not in answers.conditions:
        return {}
    c = answers.conditions.index(ORACLE)
    return {
        name: share(codes[i, c], [hit])
        for i, name in enumerate(answers.respondents)
        if asked(codes[i, c])
    }


def correlated(points: Mapping[str, Mapping[str, float | None]], outcome: str, how: How) -> Json:
    """Pearson's r of the points that have the outcome, with p and both intervals.

    Args:
        points: respondent -> `x` and outcomes.
        outcome: which one.
        how: the resamples of the bootstrap, which fewer than six points do not get.
    """
    pairs = [(p["x"], p[outcome]) for p in points.values() if p.get(outcome) is not None]
    x, y = zip(*pairs, strict=True) if pairs else ((), ())
    r = correlation.pearson(x, y)
    found = {"n": r.n, "value": number(r.value), "p": number(r.p), "reason": r.reason}
    if r.value is None:
        return found | {"fisher": None, "bootstrap": None}
    rng = np.random.default_rng(how.seed)
    intervals = {
        "fisher": correlation.fisher_interval(r.value, r.n),
        "bootstrap": correlation.bootstrap_interval(x, y, draws=how.draws, rng=rng),
    }
    return found | {
        name: asdict(one) | {"low": number(one.low), "high": number(one.high)}
        for name, one in intervals.items()
    }


def section(
    answers: Answers,
    said: Verdicts,
    benign: Answers,
    of_benign: Verdicts,
    scores: Scores | None,
    how: How,
) -> Section:
    """The correlations and the points in tables, the points in a figure."""
    found = capability(answers, said, benign, of_benign, scores, how)
    notes = () if scores is None else tuple(doubts(scores))
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], notes=notes)
    rows: list[list[Any]] = [["capability", "respondent", "x", *OUTCOMES]]
    for source, of in found["points"].items():
        rows += [[source, name, p["x"], *(p.get(o) for o in OUTCOMES)] for name, p in of.items()]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(found["correlations"]), _points(found["points"])),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=rows),),
        notes=notes,
    )


def _grid(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Correlation over respondents",
        header=["Capability", "Against", "n", "Pearson r", "p", "Fisher 95%", "Bootstrap 95%"],
    )
    grid.notes[""] = (
        "n are models, and they are no sample of models: a large p is no evidence of no relation, "
        "and an interval that has both signs rejects nothing."
    )
    for source, of in found.items():
        for outcome, one in of.items():
            cells = [source, OUTCOMES[outcome], str(one["n"])]
            if one["value"] is None:
                cells += ["–" + grid.mark(one["reason"]), "", "", ""]
            else:
                cells += [decimal(one["value"]), probability(one["p"])]
                cells += [_interval(grid, one["fisher"]), _interval(grid, one["bootstrap"])]
            grid.rows.append([(cell,) for cell in cells])
    return grid


def _interval(grid: Grid, interval: Mapping[str, Any]) -> str:
    if interval["low"] is None:
        return "–" + grid.mark(interval["reason"])
    return f"({decimal(interval['low'])} to {decimal(interval['high'])})"


def _points(points: Mapping[str, Any]) -> Grid:
    grid = Grid(title="What is correlated", header=["Capability", "Respondent", "x", *OUTCOMES])
    grid.notes[""] = "Percent, but scores of a table as they stand there."
    for source, of in points.items():
        for name, point in of.items():
            x = percent(point["x"]) if source == OWN else f"{point['x']:g}"
            values = [point.get(outcome) for outcome in OUTCOMES]
            shown = ("–" if value is None else percent(value) for value in values)
            grid.rows.append([(source,), (name,), (x,), *((cell,) for cell in shown)])
    return grid


def figure(found: Mapping[str, Any]) -> Figure:
    """A panel a capability and outcome, a point a respondent."""
    names = list(dict.fromkeys(name for of in found["points"].values() for name in of))
    drawn = marks(names)
    plots = [(source, o) for source, of in found["correlations"].items() for o in of]
    across = min(2, len(plots))
    down = -(-len(plots) // across)
    width = 0.9 + 2.9 * across
    beside = names_across(names, width)
    picture = blank(width, 1.0 + 2.5 * down + 0.17 * -(-len(names) // beside))
    for ax, (source, outcome) in zip(
        panels(picture, len(plots), across=across), plots, strict=True
    ):
        for name, point in found["points"][source].items():
            if point.get(outcome) is not None:
                ax.plot(point["x"], point[outcome], markersize=5.5, clip_on=False, **drawn[name])
        if source == OWN:
            percent_ticks(ax, "x", "y")
        else:
            percent_ticks(ax, "y")
            ax.margins(x=0.1)
            round_ticks(ax)
        one = found["correlations"][source][outcome]
        r = "–" if one["value"] is None else decimal(one["value"])
        ax.set_title(f"r = {r}, n = {one['n']}", fontsize=8)
        ax.set_xlabel(source, fontsize=7)
        ax.set_ylabel(OUTCOMES[outcome], fontsize=7)
        ruled(ax)
    key_below(picture, drawn, across=beside)
    head(picture, "Capability against what the oracle document brings out")
    return picture
