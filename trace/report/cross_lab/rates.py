"""What each model did: the shares of labels by category and condition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing, bare, blank, head, name_rows, percent_ticks
from trace.report.compare.section import FIELDS, Section, fields
from trace.report.cross_lab.votes import Majority, Votes
from trace.report.cross_lab.words import CONDITIONS, heading, plain
from trace.report.entry import Metric
from trace.report.grid import Grid, many
from trace.report.rag_safety.answers import ABSENT
from trace.report.rag_safety.cells import share

NAME, TITLE = "cross_lab_rates", "What the models did"

Rates: TypeAlias = dict[str, dict[str, dict[str, dict[str, Metric]]]]
"""Category -> model -> condition -> label -> metric."""

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#666666")
"""Those of Okabe and Ito (2008), neighbours far apart in lightness."""


def rates(votes: Votes, said: Majority) -> Rates:
    """The share of each label among the answers that have one, with Wilson intervals.

    The unscored are left out; the bounds of a share say what they could make of it.
    """
    return {
        category: {
            model: {
                condition: {
                    label: share(said.labels[votes.of(category), c, m], [code])
                    for code, label in enumerate(labels)
                }
                for c, condition in enumerate(CONDITIONS)
            }
            for m, model in enumerate(votes.respondents)
        }
        for category, labels in votes.rubrics.items()
        if votes.of(category).any()
    }


def unscored(votes: Votes, said: Majority) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Category -> model -> condition -> why -> how many answers have no label."""
    return {
        category: {
            model: {
                condition: {
                    why: int(flags[votes.of(category), c, m].sum())
                    for why, flags in (("tied", said.tied), ("too few votes", said.few))
                }
                for c, condition in enumerate(CONDITIONS)
            }
            for m, model in enumerate(votes.respondents)
        }
        for category in votes.rubrics
        if votes.of(category).any()
    }


def section(votes: Votes, said: Majority, min_valid: int) -> Section:
    """A table and a panel of a figure a category.

    `result` has `rates`, `unscored`, `excluded` (pairs of which a model has one half) and
    `not_asked` (model -> items that others answered and it did not).
    """
    found, without = rates(votes, said), unscored(votes, said)
    excluded: list[Json] = [
        {"item": one.item, "respondent": one.respondent, "lacking": one.lacking}
        for one in votes.lone
    ]
    asked = (said.labels != ABSENT).any(axis=1)
    gone = {(one.item, one.respondent) for one in votes.lone}
    not_asked = {
        model: names
        for m, model in enumerate(votes.respondents)
        if (
            names := [
                votes.items[i]
                for i in np.flatnonzero(~asked[:, m])
                if (votes.items[i], model) not in gone
            ]
        )
    }
    rows: list[list[Any]] = [["category", "model", "condition", "label", *FIELDS]]
    for category, of in found.items():
        for model, under in of.items():
            for condition, labels in under.items():
                rows += [[category, model, condition, n, *fields(m)] for n, m in labels.items()]
    result: dict[str, Json] = {
        "rates": found,
        "unscored": without,
        "excluded": excluded,
        "not_asked": not_asked,
    }
    return Section(
        name=NAME,
        title=TITLE,
        result=result,
        grids=tuple(
            grid_of(
                f"{plain(name).capitalize()}: label by the majority of peers",
                of,
                without[name],
                min_valid,
            )
            for name, of in found.items()
        ),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found), rows=rows),),
        notes=tuple(_notes(votes, not_asked)),
    )


def _notes(votes: Votes, not_asked: Mapping[str, list[str]]) -> list[str]:
    notes = []
    by_model: dict[str, list[str]] = {}
    for one in votes.lone:
        by_model.setdefault(one.respondent, []).append(f"{one.item} (not {one.lacking})")
    notes += [
        f"{model}: {many(len(items), 'pair')} left out, judged under one condition only: "
        + _some(items)
        for model, items in by_model.items()
    ]
    notes += [
        f"{model}: {many(len(items), 'item')} that others answered were not judged: {_some(items)}"
        for model, items in not_asked.items()
    ]
    notes += [
        f"{many(count, 'judgement')} {why} left out." for why, count in votes.passed_over.items()
    ]
    return notes


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more + "."


def grid_of(
    title: str,
    of: Mapping[str, Mapping[str, Mapping[str, Metric]]],
    without: Mapping[str, Mapping[str, Mapping[str, int]]],
    min_valid: int,
) -> Grid:
    """A row a model and condition, a column a label.

    Args:
        title: of the table.
        of: one category of `rates`.
        without: the same of `unscored`.
        min_valid: for the note.
    """
    labels = list(next(iter(next(iter(of.values())).values())))
    grid = Grid(
        title=title,
        header=["Model,\ncondition", *map(heading, labels), "n"],
    )
    grid.notes[""] = (
        "Percent of the answers with a label, with Wilson 95% intervals. The label is the one with "
        f"most votes of the model's peers, of which {min_valid} or more must have given one."
    )
    for model, under in of.items():
        for condition, shares in under.items():
            counts = [f"{next(iter(shares.values()))['n']}"]
            for why, count in without[model][condition].items():
                if count:
                    counts.append(f"{count} {'tied' if why == 'tied' else 'few'}")
                    grid.notes["tied, few:"] = (
                        f"answers without a label: several labels have most votes; fewer than "
                        f"{min_valid} votes"
                    )
            cells = [(grid.value(metric), grid.interval(metric)) for metric in shares.values()]
            grid.rows.append([(model, condition), *cells, tuple(counts)])
        grid.ends.append(len(grid.rows))
    return grid


def figure(found: Rates) -> Figure:
    """A row of panels a category, a panel a condition, in it a bar a model, divided by label."""
    models = len(next(iter(found.values())))
    picture = blank(7.8, 0.5 + len(found) * (0.65 + 0.2 * max(models, 4)))
    parts = picture.subfigures(len(found), 1, squeeze=False).ravel()
    for part, (category, of) in zip(parts, found.items(), strict=True):
        part.suptitle(plain(category), fontsize=8, x=0.01, ha="left")
        row = part.subplots(1, len(CONDITIONS), sharey=True)
        for ax, condition in zip(row, CONDITIONS, strict=True):
            for y, under in enumerate(of.values()):
                left = 0.0
                for i, (label, metric) in enumerate(under[condition].items()):
                    width = metric["value"] or 0.0
                    ax.barh(
                        y, width, left=left, height=0.8, color=_COLOURS[i % len(_COLOURS)],
                        label=None if y else plain(label),
                    )  # fmt: skip
                    left += width
            percent_ticks(ax, "x")
            name_rows(ax, of)
            ax.tick_params(labelsize=7)
            ax.set_title(condition, fontsize=7)
            bare(ax)
        row[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7, frameon=False)
    head(picture, "Labels by the majority of peers")
    return picture
