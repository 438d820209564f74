"""What became of values in the reasoning that a model shows, by the label of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.votes import Majority, Votes
from trace.report.cross_lab.words import CONDITIONS, heading, plain
from trace.report.grid import Grid
from trace.report.rag_safety.answers import ABSENT

NAME, TITLE = "cross_lab_traces", "Values in the reasoning, by the label of the answer"
UNREAD, UNSHOWN, UNSCORED = "unread", "none shown", "unscored"
"""The reader gave no label; the model showed no reasoning; the answer has no label."""

Crossed: TypeAlias = dict[str, dict[str, dict[str, dict[str, int]]]]
"""Model -> condition -> trace -> label of the answer -> how many answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What somebody called the reasoning before an answer of the main arm; None: gave no label."""

    item: str
    respondent: str
    condition: str
    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """All that were read, of items of one category, and what a trace can be called, in order."""

    category: str
    labels: tuple[str, ...]
    read: Sequence[Trace]


def crossed(votes: Votes, said: Majority, traces: Traces) -> Crossed:
    """How often each trace comes with each label, of models that anyone read a trace of."""
    known = {(one.item, one.respondent, one.condition): one for one in traces.read}
    labels = votes.rubrics[traces.category]
    finals = (*labels, UNSCORED)
    found: Crossed = {}
    for m, model in enumerate(votes.respondents):
        if not any(one.respondent == model for one in traces.read):
            continue
        found[model] = {}
        for c, condition in enumerate(CONDITIONS):
            table = {name: dict.fromkeys(finals, 0) for name in (*traces.labels, UNREAD, UNSHOWN)}
            for i in votes.of(traces.category).nonzero()[0]:
                code = int(said.labels[i, c, m])
                if code == ABSENT:
                    continue
                one = known.get((votes.items[i], model, condition))
                trace = UNSHOWN if one is None else one.label or UNREAD
                table[trace][labels[code] if code >= 0 else UNSCORED] += 1
            found[model][condition] = table
    return found


def section(votes: Votes, said: Majority, traces: Traces | None) -> Section:
    """A row a model, condition and kind of trace that occurs; a column a label.

    `result` is as `crossed` gives it; or has a `reason`.
    """
    if traces is None or not traces.read:
        return missing(NAME, TITLE, "nobody read the reasoning (benchmark.trace_judge)")
    found = crossed(votes, said, traces)
    labels = [*votes.rubrics[traces.category], UNSCORED]
    grid = Grid(
        title=f"{plain(traces.category).capitalize()}: what became of values in the reasoning",
        header=["Model, condition:\ntrace", *map(heading, labels), "n"],
    )
    grid.notes[""] = (
        "Answers. The column is the label of the answer by the majority of the model's peers, who "
        "never see the reasoning; one judge read that."
    )
    for model, under in found.items():
        for condition, table in under.items():
            shown = {name: of for name, of in table.items() if any(of.values())}
            if not shown:
                continue
            grid.rows.append([(f"{model}, {condition}",), *[("",)] * (len(labels) + 1)])
            grid.rows += [_row(name, of) for name, of in shown.items()]
            grid.ends.append(len(grid.rows))
    return Section(name=NAME, title=TITLE, result=_json(found), grids=(grid,))


def _row(name: str, of: Mapping[str, int]) -> list[tuple[str, ...]]:
    return [(f"  {plain(name)}",), *((str(k),) for k in of.values()), (str(sum(of.values())),)]


def _json(found: Crossed) -> dict[str, Json]:
    return {model: dict(under) for model, under in found.items()}
