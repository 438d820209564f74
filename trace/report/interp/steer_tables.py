"""Tables of what pushing a vector changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trace.report.grid import Grid, decimal, probability
from trace.report.interp.doses import (
    NAMES,
    Dose,
    by_direction,
    is_incoherent,
    is_significant,
    share,
)
from trace.report.interp.words import SIGNIFICANT, cells, dose, figure, listed, position

_TOKENS = {"all": "prompt and answer", "generated": "where an answer's tokens are chosen"}


def steer_grids(title: str, result: Mapping[str, Any]) -> list[Grid]:
    """The share by direction and strength, whether the texts are still language, and the vector.

    Args:
        title: stands above the first.
        result: `metrics` and `breakdowns` of task=steer.
    """
    found = result["breakdowns"]
    return [
        _shares(title, found["doses"], found["vector"]["outcome"]),
        _coherence(found["doses"]),
        _vector(found["vector"], found["smallest"]),
    ]


def _shares(title: str, doses: Sequence[Dose], labels: str) -> Grid:
    grid = Grid(
        title=title,
        header=["Direction", "α", "Ratio", "Share", "95%\ninterval", "n", "Un-\nscored",
                "Fisher\nq", "McNemar\nq"],
    )  # fmt: skip
    grid.notes[""] = (
        f"Share: percent of the answers to held-out prompts that are {labels}, with Wilson "
        "intervals. Ratio: length of the push by the median length of the stream. q: against "
        "α = 0, adjusted by Benjamini-Hochberg; McNemar pairs the answers to a prompt."
    )
    for name, rows in by_direction(doses).items():
        for i, row in enumerate(rows):
            (value,), interval = cells(grid, share(row))
            tests = [(_adjusted(row[test]),) for test in ("fisher", "mcnemar")]
            counts = [(f"{row[key]:,}",) for key in ("n", "n_unscored")]
            first = (NAMES.get(name, name) if i == 0 else "",)
            ratio = ("–" if row["ratio"] is None else decimal(row["ratio"]),)
            grid.rows.append(
                [first, (dose(row["alpha"]),), ratio, (value + _marks(grid, row),), interval,
                 *counts, *tests]
            )  # fmt: skip
        grid.ends.append(len(grid.rows))
    return grid


def _marks(grid: Grid, row: Dose) -> str:
    marks = ""
    if is_significant(row):
        grid.notes["*"] = f"McNemar q ≤ {SIGNIFICANT:g} (Fisher's without it)"
        marks += "*"
    if is_incoherent(row):
        grid.notes["○"] = "more than half of the answers are no longer language: not an effect"
        marks += "○"
    return marks


def _adjusted(test: Mapping[str, Any] | None) -> str:
    return probability(None if test is None else test["adjusted"])


def _coherence(doses: Sequence[Dose]) -> Grid:
    grid = Grid(
        title="Are the answers still language?",
        header=["Direction", "α", "Flagged", "of", "Repetition", "Words", "Perplexity"],
    )
    grid.notes[""] = (
        "Flagged: answers that are no longer language; they count as unscored, whatever their "
        "label. Medians over the answers: share of repeated trigrams, words, and perplexity of the "
        "model without a push."
    )
    for name, rows in by_direction(doses).items():
        for i, row in enumerate(rows):
            found = row["coherence"]
            grid.rows.append(
                [(NAMES.get(name, name) if i == 0 else "",), (dose(row["alpha"]),),
                 (f"{row['incoherent']:,}",), (f"{row['n'] + row['n_unscored']:,}",),
                 *((figure(found[key]),) for key in ("repetition", "words", "perplexity"))]
            )  # fmt: skip
        grid.ends.append(len(grid.rows))
    return grid


def _vector(vector: Mapping[str, Any], smallest: Mapping[str, Any]) -> Grid:
    grid = Grid(title="The vector", header=["What", "Value"])
    made = vector["made_from"]
    rows = {
        "Direction": NAMES.get(vector["direction"], str(vector["direction"])),
        **{
            f"Made from, {side}: {listed(vector['classes'][side]['labels'])}": f"{made[side]:,}"
            for side in ("positive", "negative")
        },
        "Read at": position(vector["position"]),
        "Added behind layer": str(vector["layer"]),
        "Pushed tokens": _TOKENS.get(vector["tokens"], str(vector["tokens"])),
        "Unit of α": vector["unit"],
        "Length": figure(vector["norm"]),
        "Median length of the stream": figure(vector["median_norm"]),
        "Separation": figure(vector["separation"]),
        "Cosine with the probe's direction": figure(vector["cosine_probe"]),
        "Smallest significant α up": _smallest(smallest["up"]),
        "Smallest significant α down": _smallest(smallest["down"]),
    }
    grid.rows = [[(name,), (text,)] for name, text in rows.items()]
    grid.notes[""] = (
        "Separation: mean projection of the positive answers it was made from less that of the "
        "negative ones; with more dimensions than answers, noise is separated as well."
    )
    if smallest["reason"]:
        grid.notes["Smallest:"] = smallest["reason"]
    return grid


def _smallest(alpha: float | None) -> str:
    return "none" if alpha is None else dose(alpha)
