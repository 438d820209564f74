"""Would fewer samples a class rank the classes alike?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata

from trace.records import Json
from trace.report.canvas import Drawing, blank, head, round_ticks, ruled
from trace.report.compare.judged import (
    How,
    Judge,
    blocks,
    class_order,
    counted,
    left_out,
    without_label,
)
from trace.report.compare.section import Section, missing
from trace.report.entry import number
from trace.report.grid import Grid
from trace.stats.correlation import pearson

NAME, TITLE = "subsample", "Rank of the classes in subsamples"
WANTED, DRAWS = 45, 100
"""The paper's: 45 of 90 samples a class (appendix F); the number of draws is ours."""
FEWEST = 5


def stability(judges: Sequence[Judge], how: How) -> dict[str, Json]:
    """How well subsamples of a class's samples keep the order of the classes by accuracy.

    Accuracy is over all judges; a subsample takes the same samples for all of them. The
    correlation with all samples is optimistic, for the subsample is among them; so each is also
    held against another subsample that shares none.

    Returns:
        Protocol -> `n` (samples a class), `classes`, `draws`, and for `with_all` and `split_half`
        Spearman's rho: `values` of the draws, `mean`, and the quantiles `low` (2.5%), `median`,
        `high` (97.5%), or the `reason` of this protocol; or a `reason` where none has any.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        table = _by_sample(block, how)
        smallest = min(map(len, table.values()))
        n = min(WANTED, smallest // 2)
        if len(table) < 3:
            found[protocol] = {"reason": f"{len(table)} classes; at least 3 can be ranked"}
        elif n < FEWEST:
            few = f"a class has {smallest} samples; at least {2 * FEWEST} can be halved"
            found[protocol] = {"reason": few}
        else:
            found[protocol] = _draw(table, n, np.random.default_rng(how.seed))
    if all("reason" in row for row in found.values()):
        reasons = (f"{protocol}: {row['reason']}" for protocol, row in found.items())
        return {"reason": "; ".join(reasons) or "no runs"}
    return found


def _by_sample(block: Sequence[Judge], how: How) -> dict[str, NDArray[np.float64]]:
    """Class -> [samples, 2]: how many judges were right about each, and how many are counted."""
    sums: dict[str, dict[str, list[int]]] = {name: {} for name in class_order(block)}
    for judge in block:
        for o in counted(judge.run.once, how):
            cell = sums[o.class_].setdefault(o.id, [0, 0])
            cell[0] += o.right
            cell[1] += 1
    return {
        name: np.array([cells[id_] for id_ in sorted(cells)], dtype=np.float64).reshape(-1, 2)
        for name, cells in sums.items()
    }


def _draw(
    table: Mapping[str, NDArray[np.float64]], n: int, rng: np.random.Generator
) -> dict[str, Json]:
    def accuracy(picks: Mapping[str, NDArray[np.int64]]) -> list[float]:
        sums = [table[name][rows].sum(axis=0) for name, rows in picks.items()]
        return [right / total for right, total in sums]

    whole = accuracy({name: np.arange(len(rows)) for name, rows in table.items()})
    values: dict[str, list[float | None]] = {"with_all": [], "split_half": []}
    for _ in range(DRAWS):
        order = {name: rng.permutation(len(rows)) for name, rows in table.items()}
        one = accuracy({name: rows[:n] for name, rows in order.items()})
        other = accuracy({name: rows[n : 2 * n] for name, rows in order.items()})
        values["with_all"].append(_rho(one, whole))
        values["split_half"].append(_rho(one, other))
    return {
        "n": n,
        "classes": len(table),
        "draws": DRAWS,
        **{name: _summary(rhos) for name, rhos in values.items()},
    }


def _rho(a: Sequence[float], b: Sequence[float]) -> float | None:
    return number(pearson(rankdata(a), rankdata(b)).value)


def _summary(values: Sequence[float | None]) -> dict[str, Json]:
    defined = [v for v in values if v is not None]
    if not defined:
        return {"reason": "all classes are alike in every draw", "values": list(values)}
    low, median, high = (number(float(q)) for q in np.quantile(defined, (0.025, 0.5, 0.975)))
    return {
        "values": list(values),
        "undefined": values.count(None) / len(values),
        "mean": number(float(np.mean(defined))),
        "low": low,
        "median": median,
        "high": high,
    }


def section(judges: Sequence[Judge], how: How) -> Section:
    """The quantiles in a table, the distributions in a figure."""
    found = stability(judges, how)
    without = left_out(judges, lambda judge: without_label(judge, how))
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"], left_out=without)
    drawn = {protocol: row for protocol, row in found.items() if "reason" not in row}
    grid = Grid(
        title="Spearman's ρ of the classes' accuracies",
        header=["Protocol", "Against", "Median", "2.5%", "97.5%", "Mean", "n a class", "Classes"],
    )
    grid.notes[""] = (
        f"{DRAWS} draws without replacement. Against all samples ρ is optimistic: the subsample is "
        "among them. The other half shares none."
    )
    lines: list[list[Any]] = [["protocol", "draw", "with_all", "split_half"]]
    for protocol, row in found.items():
        if "reason" in row:
            grid.rows.append([(protocol,), ("–" + grid.mark(row["reason"]),), *[("",)] * 6])
            continue
        for name, label in (("with_all", "all samples"), ("split_half", "another subsample")):
            cells = ["–" + grid.mark(row[name]["reason"])] if "reason" in row[name] else [
                f"{row[name][q]:.3f}".replace("-", "−") for q in ("median", "low", "high", "mean")
            ]  # fmt: skip
            cells += [""] * (4 - len(cells))
            texts = (protocol, label, *cells, str(row["n"]), str(row["classes"]))
            grid.rows.append([(text,) for text in texts])
        pairs = zip(row["with_all"]["values"], row["split_half"]["values"], strict=True)
        lines += [[protocol, i, a, b] for i, (a, b) in enumerate(pairs)]
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(grid,),
        drawings=(Drawing(stem=NAME, draw=partial(figure, drawn), rows=lines),),
        left_out=without,
    )


def figure(found: Mapping[str, Any]) -> Figure:
    """The share of draws at or under each ρ; solid against all samples, dashed split-half."""
    picture = blank(7, 4)
    axes = picture.add_subplot()
    for i, (protocol, row) in enumerate(found.items()):
        for name, style in (("with_all", "-"), ("split_half", "--")):
            values = sorted(v for v in row[name]["values"] if v is not None)
            if values:
                axes.ecdf(values, color=f"C{i}", linestyle=style,
                          label=protocol if name == "with_all" else None)  # fmt: skip
    axes.set_ylim(0, 1)
    round_ticks(axes)
    axes.set_xlabel("Spearman's ρ of the classes")
    axes.set_ylabel("share of draws at or under")
    axes.legend(frameon=False, fontsize=8)
    ruled(axes)
    head(picture, "Rank of the classes: subsample against all (solid), another (dashed)")
    return picture
