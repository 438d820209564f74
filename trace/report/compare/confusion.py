"""What the judges take each class for when they must name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trace.records import Json
from trace.report.canvas import Drawing
from trace.report.compare.judged import Judge, blocks, left_out
from trace.report.compare.section import Section, missing
from trace.report.entry import from_rate
from trace.report.figures import confusion_figure, confusion_rows
from trace.report.grid import Grid, percent
from trace.report.runs import Observation
from trace.stats.rates import rate

NAME, TITLE = "confusion", "What a class is taken for (fine)"
PROTOCOL = "fine"
EXAMPLES = 3
EXCERPT = 160
"""Characters of a reply that are shown."""


def pooled(judges: Sequence[Judge]) -> dict[str, Json]:
    """The confusion matrices of all judges under `fine`, summed, and the misses of each class.

    A miss is a sample of a risky class that got another label; the unscored are counted apart. They
    are in neither share, however they count elsewhere: in the denominator of a rate that is better
    when it is lower, a reply without a label would count as one that was not called benign. The
    bounds of `called_benign` count them either way.

    Returns:
        `confusion` (labels, columns, counts), `judges`, and `classes`: name -> `n`, `unscored` (of
        these), `called_benign` (share of the scored), `misses_to_benign` (share of the misses),
        both over sample × judge, and `examples` (misses called benign: id, judge, reply); or a
        `reason`.
    """
    block = blocks(judges).get(PROTOCOL, [])
    if not block:
        return {"reason": f"no run under {PROTOCOL}"}
    if len({judge.run.labels for judge in block}) > 1:
        return {"reason": "the runs have different labels"}
    run = block[0].run
    counts = np.sum([judge.confusion["counts"] for judge in block], axis=0)
    missed: dict[str, list[tuple[Observation, Judge]]] = {}
    for judge in block:
        for o in judge.run.once:
            if o.verdict.label == run.negative != o.gold:
                missed.setdefault(o.gold, []).append((o, judge))
    classes = {}
    for i, name in enumerate(run.labels[1:], start=1):
        row, benign = counts[i], int(counts[i][0])
        unscored, right = int(row[-1]), int(row[i])
        scored = int(row[:-1].sum())
        others = scored - right
        classes[name] = {
            "n": scored + unscored,
            "unscored": unscored,
            "called_benign": from_rate(
                rate(benign, scored - benign, unscored, unscored_as="exclude"),
                higher_is_better=False,
            ),
            "misses_to_benign": from_rate(
                rate(benign, others - benign, 0, unscored_as="exclude", of="misses"),
                higher_is_better=False,
            ),
            "examples": _examples(missed.get(name, [])),
        }
    return {
        "judges": [judge.name for judge in block],
        "confusion": {
            "labels": list(run.labels),
            "columns": [*run.labels, "unscored"],
            "counts": counts.tolist(),
        },
        "classes": classes,
    }


def _examples(missed: Sequence[tuple[Observation, Judge]]) -> list[dict[str, Json]]:
    """The first ones by sample; different samples, and as many judges as there are."""
    chosen: list[dict[str, Json]] = []
    left = sorted(missed, key=lambda pair: (pair[0].id, pair[1].name))
    while left and len(chosen) < EXAMPLES:
        seen = {example["judge"] for example in chosen}
        o, judge = next((pair for pair in left if pair[1].name not in seen), left[0])
        chosen.append({"id": o.id, "judge": judge.name, "reply": _excerpt(o.reply)})
        left = [pair for pair in left if pair[0].id != o.id]
    return chosen


def _excerpt(reply: str) -> str:
    text = " ".join(reply.split())
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"


def section(judges: Sequence[Judge]) -> Section:
    """The misses by class, examples of them, and the matrix as a figure."""
    found = pooled(judges)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    without = left_out(
        [judge for judge in judges if judge.run.protocol == PROTOCOL],
        lambda judge: None if any(o.scored for o in judge.run.once) else "no reply with a label",
    )
    title = f"What a class is taken for: {len(found['judges'])} judges under {PROTOCOL}"
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_misses(found["classes"]), _shown(found["classes"])),
        drawings=(
            Drawing(
                stem=NAME,
                draw=partial(confusion_figure, found["confusion"], title),
                rows=list(confusion_rows(found["confusion"])),
            ),
        ),
        left_out=without,
    )


def _misses(classes: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Misses",
        header=["Class", "Called benign", "n", "Bounds", "Of the misses, benign", "Misses",
                "Unscored"],
    )  # fmt: skip
    grid.notes[""] = (
        "Percent of the n that have a label, with Wilson intervals that take sample × judge as "
        "independent: they are too narrow where there are several judges. Bounds: if no unscored "
        "reply were benign, and if all were."
    )
    for name, row in classes.items():
        called, to_benign = row["called_benign"], row["misses_to_benign"]
        bounds = "" if called["bounds"] is None else "–".join(map(percent, called["bounds"]))
        grid.rows.append(
            [
                (name,),
                (grid.value(called), grid.interval(called)),
                (str(called["n"]),),
                (bounds if row["unscored"] else "",),
                (grid.value(to_benign), grid.interval(to_benign)),
                (str(to_benign["n"]),),
                (str(row["unscored"]),),
            ]
        )
    return grid


def _shown(classes: Mapping[str, Any]) -> Grid:
    grid = Grid(title="Misses called benign", header=["Class", "Sample", "Judge", "Reply"])
    grid.notes[""] = f"Up to {EXAMPLES} a class, the reply cut at {EXCERPT} characters."
    for name, row in classes.items():
        for example in row["examples"]:
            reply = example["reply"] or "(none: labels were scored)"
            grid.rows.append([(name,), (example["id"],), (example["judge"],), (reply,)])
    return grid
