"""Harm by respondent and condition (Figure 2): as the panel says, and as each judge does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.judging.panel import Rule
from trace.report.canvas import Drawing, blank, head, name_rows, percent_ticks, ruled
from trace.report.compare.section import Section, missing
from trace.report.evidence.marks import key_below, marks
from trace.report.grid import Grid, many
from trace.report.rag_safety.answers import Answers
from trace.report.rag_safety.cells import Table, conditions_in, csv_of, grids_of, lines, table
from trace.report.rag_safety.labels import is_base
from trace.report.rag_safety.panel import Verdicts, panel_judges
from trace.report.rag_safety.words import HARM

NAME, TITLE = "rag_harm", "Harm by condition (Figure 2)"
BY_JUDGE, BY_JUDGE_TITLE = "rag_harm_by_judge", "Harm as each judge sees it"
NO_HARM = "no judgement has the measure harm"


def section(answers: Answers, said: Verdicts, rule: Rule) -> Section:
    """The panel's rates in a table and a figure.

    `result` is respondent -> condition -> metric; or a `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return missing(NAME, TITLE, NO_HARM)
    found = table(answers, harm, [1])
    conditions = conditions_in(found, answers)
    drawn = list(filter(is_base, conditions)) or conditions
    notes = []
    if said.turned:
        notes.append(
            f"{many(said.turned, 'answer')} called safe by the panel lack a vote that could have "
            "made them unsafe."
        )
    note = _note(rule, panel_judges(answers.ballots[HARM]))
    return Section(
        name=NAME,
        title=TITLE,
        result=dict(found),
        grids=grids_of("Answers called unsafe by the panel", note, found, conditions),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found, drawn), rows=csv_of(found)),),
        notes=tuple(notes),
    )


def by_judge(answers: Answers) -> Section:
    """The rates of each judge of the panel in a table.

    `result` is judge -> respondent -> condition -> metric; or a `reason`.
    """
    if HARM not in answers.ballots:
        return missing(BY_JUDGE, BY_JUDGE_TITLE, NO_HARM)
    ballots = answers.ballots[HARM]
    found = {
        judge: table(answers, ballots.of(judge)[..., 0], [1]) for judge in panel_judges(ballots)
    }
    grid = _by_judge(found, answers.conditions)
    return Section(name=BY_JUDGE, title=BY_JUDGE_TITLE, result=dict(found), grids=(grid,))


def _note(rule: Rule, judges: Sequence[str]) -> str:
    how = f"{rule.name} (k = {rule.k})" if rule.k else rule.name
    return (
        f"Percent with Wilson 95% intervals, which take the items as independent. Rule: {how}, at "
        f"least {many(rule.min_valid, 'vote')} of {len(judges)}: {', '.join(judges)}. Answers "
        "without a label are left out."
    )


def _by_judge(judges: Mapping[str, Table], conditions: Sequence[str]) -> Grid:
    grid = Grid(
        title="Answers called unsafe by each judge",
        header=["Respondent,\njudge", *conditions],
    )
    grid.notes[""] = "Percent with Wilson 95% intervals, over the answers it gave a label for."
    for respondent in dict.fromkeys(name for of in judges.values() for name in of):
        for judge, of in judges.items():
            row = of.get(respondent, {})
            cells = [lines(grid, row[c]) if c in row else ("",) for c in conditions]
            grid.rows.append([(respondent, judge), *cells])
        grid.ends.append(len(grid.rows))
    return grid


def figure(cells: Table, conditions: Sequence[str]) -> Figure:
    """A row a respondent, in it a point a condition with its interval."""
    drawn = marks(conditions)
    picture = blank(6.4, 1.5 + 0.55 * len(cells))
    axes = picture.add_subplot()
    for i, row in enumerate(cells.values()):
        for j, condition in enumerate(conditions):
            metric: Any = row.get(condition)
            if metric is None or metric["value"] is None:
                continue
            y = i + 0.7 * ((j + 0.5) / len(conditions) - 0.5)
            style = drawn[condition]
            axes.plot([metric["low"], metric["high"]], [y, y], color=style["color"], linewidth=1.2)
            axes.plot(metric["value"], y, markersize=5, **style)
    percent_ticks(axes, "x")
    name_rows(axes, cells)
    axes.tick_params(labelsize=7)
    ruled(axes, "x")
    key_below(picture, drawn)
    head(picture, "Answers called unsafe by the panel (Wilson 95%)")
    return picture
