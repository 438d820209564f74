"""How much a judge's numbers and labels depend on the wording that it is asked in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import (
    INK,
    blank,
    head,
    legend_below,
    name_rows,
    panels,
    percent_ticks,
    ruled,
)
from trace.report.compare.judged import Judge, blocks, left_out
from trace.report.compare.section import FIELDS, Section, by_protocol, fields, missing
from trace.report.entry import Metric, from_rate, number
from trace.report.grid import Grid, percent
from trace.stats.rates import rate

NAME, TITLE = "spread", "Sensitivity to the wording"
PLAIN = "plain"
SHOWN = {
    "balanced_accuracy": "Balanced\naccuracy",
    "tpr": "TPR",
    "tnr": "TNR",
    "balanced_f1": "F1",
}


def sensitivity(judges: Sequence[Judge]) -> dict[str, Json]:
    """The spread of a judge's metrics over the variants of a protocol, and the labels that change.

    The variants are a choice of ours and no sample of wordings, so the spread has no interval.
    The samples of all variants are the same; where they are not, a judge has a `reason` instead.

    Returns:
        Protocol -> judge -> `variants` (variant -> metric -> metric), `spread` (metric -> `range`
        and `sd`, the sample standard deviation, as fractions; None with a `reason` where fewer than
        two variants have a value), `changed` (variant -> the share of the samples with another
        label than under the plain one, of those with a label under both; or a `reason` for all);
        or a `reason`.
    """
    found: dict[str, Json] = {}
    for protocol, block in blocks(judges).items():
        rows: dict[str, dict[str, Judge]] = {}
        for judge in block:
            rows.setdefault(judge.run.name_without_wording, {})[judge.run.wording] = judge
        measured = {name: _row(asked) for name, asked in rows.items() if len(asked) > 1}
        if measured:
            found[protocol] = measured
    return found or {
        "reason": "no judge was asked in two variants of a protocol "
        "(protocol.variant=plain,reversed -m)"
    }


def _row(asked: Mapping[str, Judge]) -> dict[str, Json]:
    """Of one judge under one protocol, by variant; the plain one first."""
    order = sorted(asked, key=lambda wording: (wording != PLAIN, wording))
    if len({frozenset(o.id for o in asked[wording].run.once) for wording in order}) > 1:
        return {"reason": f"{', '.join(order)} are not of the same samples"}
    variants = {w: {name: asked[w].metrics[name] for name in SHOWN} for w in order}
    row: dict[str, Json] = {
        "variants": variants,
        "spread": {name: _spread([of[name] for of in variants.values()]) for name in SHOWN},
    }
    if order[0] != PLAIN:
        return row | {"changed": {}, "changed_reason": "not asked in the plain variant"}
    return row | {"changed": {w: _changed(asked[PLAIN], asked[w]) for w in order[1:]}}


def _spread(metrics: Sequence[Metric]) -> dict[str, Json]:
    values = [m["value"] for m in metrics if m["value"] is not None]
    if len(values) < 2:
        reason = f"{len(values)} of {len(metrics)} variants have a value"
        return {"range": None, "sd": None, "n": len(values), "reason": reason}
    return {
        "range": number(max(values) - min(values)),
        "sd": number(stdev(values)),
        "n": len(values),
    }


def _changed(plain: Judge, other: Judge) -> Metric:
    """Nothing is right or wrong about a change: a sample without both labels is left out."""
    labels = {o.id: o.verdict.label for o in other.run.once}
    pairs = [(o.verdict.label, labels[o.id]) for o in plain.run.once]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    changed = sum(a != b for a, b in both)
    return from_rate(
        rate(
            changed,
            len(both) - changed,
            len(pairs) - len(both),
            unscored_as="exclude",
            of="samples",
        ),
        higher_is_better=False,
    )


def section(judges: Sequence[Judge]) -> Section:
    """A row a judge and variant in a table a protocol, and the balanced accuracies as a figure."""
    found = sensitivity(judges)
    if "reason" not in found and all("reason" in r for b in found.values() for r in b.values()):
        reasons = {row["reason"] for block in found.values() for row in block.values()}
        return missing(NAME, TITLE, "; ".join(sorted(reasons)))
    without = left_out(
        judges,
        lambda judge: (
            None
            if judge.run.name_without_wording in found.get(judge.run.protocol, {})
            else "one wording"
        ),
    )
    return by_protocol(NAME, TITLE, found, grid=_grid, figure=figure, rows=_csv, left_out=without)


def _grid(protocol: str, block: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title=f"protocol: {protocol}",
        header=["Judge", "Variant", *SHOWN.values(), "Label changed", "95% interval", "n"],
    )
    grid.notes[""] = (
        "Percent. Range: the highest less the lowest of the variants; SD: their standard "
        "deviation; both in percentage points. Label changed: another label than in the plain "
        "variant, of the n samples that have one in both, with Wilson intervals."
    )
    for name, row in block.items():
        if "reason" in row:
            grid.rows.append([(name,), ("–" + grid.mark(row["reason"]),)] + [()] * 7)
            continue
        for i, (wording, metrics) in enumerate(row["variants"].items()):
            cells: list[tuple[str, ...]] = [(name if i == 0 else "",), (wording,)]
            cells += [(grid.value(metrics[metric]),) for metric in SHOWN]
            changed = row["changed"].get(wording)
            if changed is not None:
                cells += [(grid.value(changed),), (grid.interval(changed),), (str(changed["n"]),)]
            else:
                why = row.get("changed_reason")
                cells += [("–" + grid.mark(why) if why else "",), (), ()]
            grid.rows.append(cells)
        for key, label in (("range", "Range"), ("sd", "SD")):
            values = [row["spread"][metric] for metric in SHOWN]
            shown = [
                "–" + grid.mark(v["reason"]) if v[key] is None else percent(v[key]) for v in values
            ]
            grid.rows.append([("",), (label,), *((text,) for text in shown), (), (), ()])
        grid.ends.append(len(grid.rows))
    return grid


def _csv(found: Mapping[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = [["protocol", "judge", "variant", "metric", *FIELDS]]
    for protocol, block in found.items():
        for name, row in block.items():
            for wording, metrics in row.get("variants", {}).items():
                changed = row["changed"].get(wording)
                extra = {} if changed is None else {"label_changed": changed}
                for metric, value in (metrics | extra).items():
                    lines.append([protocol, name, wording, metric, *fields(value)])
    return lines


def figure(found: Mapping[str, Any]) -> Figure:
    """Balanced accuracy in every variant, a row a judge and a panel a protocol."""
    drawn = {
        protocol: {name: row["variants"] for name, row in block.items() if "reason" not in row}
        for protocol, block in found.items()
    }
    drawn = {protocol: block for protocol, block in drawn.items() if block}
    wordings = sorted({w for block in drawn.values() for row in block.values() for w in row})
    inks = {wording: f"C{i}" for i, wording in enumerate(wordings)}
    tallest = max(map(len, drawn.values()))
    picture = blank(1.6 + 3 * len(drawn), 1.9 + 0.27 * tallest)
    shown = panels(picture, len(drawn))
    for ax, (protocol, block) in zip(shown, drawn.items(), strict=True):
        for i, variants in enumerate(block.values()):
            values = {w: of["balanced_accuracy"]["value"] for w, of in variants.items()}
            known = {w: value for w, value in values.items() if value is not None}
            if known:
                ends = [min(known.values()), max(known.values())]
                ax.plot(ends, [i, i], color=INK, linewidth=0.8, zorder=1)
            for wording, value in known.items():
                ax.plot(value, i, "o", color=inks[wording], label=wording, markersize=5, alpha=0.8)
        percent_ticks(ax, "x")
        name_rows(ax, block, rows=tallest)
        ax.set_title(protocol, fontsize=9)
        ruled(ax, "x")
    legend_below(picture, shown)
    head(picture, "Balanced accuracy in each variant of the wording")
    return picture
