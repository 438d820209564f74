"""Shares of answers, a cell a respondent and condition; what has no label is in none of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trace.report.compare.judged import How
from trace.report.compare.section import FIELDS, fields
from trace.report.entry import Metric, entry, from_rate, with_interval
from trace.report.grid import Grid, percent
from trace.report.rag_safety.answers import ABSENT, UNSCORED, Answers, Codes
from trace.report.rag_safety.labels import is_base
from trace.stats.rates import rate
from trace.stats.resampling import cluster_bootstrap

Table: TypeAlias = dict[str, dict[str, Metric]]
"""Respondent -> condition -> metric; a condition that it was not asked under is not there."""


def share(codes: Codes, hits: Collection[int], *, of: str = "answers") -> Metric:
    """The share of labels that are among `hits`, with a Wilson interval.

    The unscored are left out, and the bounds say what they could make of it; what nobody judged is
    not counted at all.

    Args:
        codes: one an answer, [answers].
        hits: codes of labels.
        of: what the answers are, for the reason of an undefined share.
    """
    scored = codes[codes >= 0]
    right = int(np.isin(scored, list(hits)).sum())
    unscored = int((codes == UNSCORED).sum())
    found = rate(right, len(scored) - right, unscored, unscored_as="exclude", of=of)
    return from_rate(found) | {"higher_is_better": None}


def table(answers: Answers, codes: Codes, hits: Collection[int]) -> Table:
    """`share` in each cell.

    Args:
        answers: whose respondents and conditions they are.
        codes: [respondents, conditions, items].
        hits: codes of labels.
    """
    return {
        respondent: {
            condition: share(codes[i, j], hits)
            for j, condition in enumerate(answers.conditions)
            if asked(codes[i, j])
        }
        for i, respondent in enumerate(answers.respondents)
        if asked(codes[i])
    }


def ratio(
    numerators: NDArray[Any],
    denominators: NDArray[Any],
    how: How,
    *,
    reason: str,
    n_unscored: int = 0,
) -> Metric:
    """The sum of the one over the sum of the other, items resampled.

    Args:
        numerators: [items].
        denominators: [items]; their sum is n.
        how: resamples and seed.
        reason: why there is no value without any item.
        n_unscored: how many are left out.
    """
    n = int(denominators.sum())
    value = float(numerators.sum() / n) if n else None
    metric = entry(value, n=n, n_unscored=n_unscored, higher_is_better=None, reason=reason)
    if value is None:
        return metric
    interval = cluster_bootstrap(
        np.stack([numerators, denominators], axis=1),
        range(len(numerators)),
        lambda sums: sums[:, 0] / sums[:, 1],
        draws=how.draws,
        rng=np.random.default_rng(how.seed),
    )
    return with_interval(metric, interval)


def asked(codes: Codes) -> bool:
    """Whether anything there was judged."""
    return bool((codes != ABSENT).any())


def conditions_in(cells: Mapping[str, Mapping[str, object]], answers: Answers) -> list[str]:
    """The conditions of any respondent, in the order of the tables."""
    there = {condition for row in cells.values() for condition in row}
    return [condition for condition in answers.conditions if condition in there]


def lines(grid: Grid, metric: Metric, *, signed: bool = False) -> tuple[str, ...]:
    """A cell: the value, its interval, and what is unscored with the bounds it leaves open."""
    shown = [
        grid.value(metric, signed=signed) + grid.missing_interval(metric),
        spanned(grid, metric),
    ]
    if metric["n_unscored"]:
        total = metric["n"] + metric["n_unscored"]
        shown.append(f"{metric['n']}/{total}")
        grid.notes["n/N:"] = "n of N answers have a label"
        if metric["bounds"] is not None:
            low, high = metric["bounds"]
            shown.append(f"[{percent(low)}–{percent(high)}]")
            grid.notes["[a–b]:"] = "the share if none or all of the answers without a label counted"
    return tuple(shown)


def spanned(grid: Grid, metric: Metric) -> str:
    """The interval as `Grid.interval` has it, but with "to" where an end is below 0."""
    shown = grid.interval(metric)
    return shown.replace("–", " to ") if shown and metric["low"] < 0 else shown


def grids_of(title: str, note: str, cells: Table, conditions: Sequence[str]) -> tuple[Grid, ...]:
    """A row a respondent, a column a condition; a second table has those without a column."""
    columns, others = columned(conditions)
    grid = Grid(title=title, header=["Respondent", *columns, "n"])
    grid.notes[""] = note
    for respondent, row in cells.items():
        here = [row[c] for c in columns if c in row]
        if here:
            shown = [lines(grid, row[c]) if c in row else ("",) for c in columns]
            sizes = sorted({metric["n"] for metric in here})
            n = "–".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
            grid.rows.append([(respondent,), *shown, (n,)])
    further = Grid(title=f"{title}, further conditions", header=["Condition, respondent", "%", "n"])
    further.notes[""] = note
    for condition in others:
        for respondent, row in cells.items():
            if condition in row:
                metric = row[condition]
                named = (condition, respondent)
                further.rows.append([named, lines(further, metric), (f"{metric['n']:,}",)])
        further.ends.append(len(further.rows))
    return tuple(one for one in (grid, further) if one.rows)


def columned(conditions: Sequence[str]) -> tuple[list[str], list[str]]:
    """The conditions that get a column of a table, up to four bases; and the others."""
    columns = [condition for condition in conditions if is_base(condition)][:4]
    return columns, [condition for condition in conditions if condition not in columns]


def csv_of(cells: Table) -> list[list[Any]]:
    """The rows of a CSV, under a header."""
    rows: list[list[Any]] = [["respondent", "condition", *FIELDS]]
    for respondent, row in cells.items():
        rows += [[respondent, condition, *fields(metric)] for condition, metric in row.items()]
    return rows
