"""R3: who declines, and because of the danger or for lack of information?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing, blank, head, legend_below, name_rows, panels, ruled
from trace.report.compare.judged import How
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric
from trace.report.grid import Grid, many
from trace.report.rag_safety.answers import Answers
from trace.report.rag_safety.cells import asked, lines, share
from trace.report.rag_safety.judges import two
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.words import KINDS, LABELS, NONE, OTHER, PHRASES, REFUSAL

NAME, TITLE = "rag_refusal", "Refusal by kind (R3)"
REVIEWED = 20
_CODES = {label: code for code, label in enumerate(LABELS[REFUSAL])}
_ANY = [code for label, code in _CODES.items() if label != NONE]
_INKS = dict(zip(KINDS, ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d9d9d9"), strict=True))


def refusal(answers: Answers, said: Verdicts, how: How) -> dict[str, Json]:
    """The share of each kind, what a list of phrases finds, and answers to look at.

    Returns:
        `kinds` (respondent -> condition -> kind -> metric), `any` (the same -> `judged` and, if
        there is such a judge, `phrases` -> metric: declined in any way), `agreement` (`percent` and
        `cohen` of those two, or nothing), `other` (the share of that kind over all) and `review`
        (up to 20 answers of that kind, drawn by the seed); or a `reason`.
    """
    ballots = answers.ballots.get(REFUSAL)
    kinds = said.first(REFUSAL)
    if ballots is None or kinds is None:
        return {"reason": "no judge has told kinds of refusal"}
    phrases = ballots.of(PHRASES)[..., 0] if PHRASES in ballots.judges else None
    found: dict[str, Any] = {"kinds": {}, "any": {}}
    for i, respondent in enumerate(answers.respondents):
        for j, condition in enumerate(answers.conditions):
            cell = kinds[i, j]
            if not asked(cell):
                continue
            of = found["kinds"].setdefault(respondent, {})
            of[condition] = {kind: share(cell, [_CODES[kind]]) for kind in KINDS}
            declined = {"judged": share(cell, _ANY)}
            if phrases is not None and asked(phrases[i, j]):
                declined[PHRASES] = share(phrases[i, j], _ANY)
            found["any"].setdefault(respondent, {})[condition] = declined
    found["agreement"] = {}
    if phrases is not None:
        declined_or_not = {code: "no" if label == NONE else "yes" for label, code in _CODES.items()}
        found["agreement"] = two((kinds, declined_or_not), (phrases, declined_or_not), how)
    found["other"] = share(kinds.ravel(), [_CODES[OTHER]])
    found["review"] = _review(answers, kinds == _CODES[OTHER], how.seed)
    return found


def _review(answers: Answers, wanted: Any, seed: int) -> list[Json]:
    places = np.argwhere(wanted)
    rng = np.random.default_rng(seed)
    drawn = places[np.sort(rng.choice(len(places), min(REVIEWED, len(places)), replace=False))]
    return [
        {
            "respondent": answers.respondents[i],
            "condition": answers.conditions[j],
            "item": answers.items[k],
        }
        for i, j, k in drawn
    ]


def section(answers: Answers, said: Verdicts, how: How) -> Section:
    """The kinds in a table and a figure, the phrases beside them, and what to look at."""
    found = refusal(answers, said, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    rows: list[list[Any]] = [["respondent", "condition", "kind", *FIELDS]]
    for name, of in found["kinds"].items():
        for condition, kinds in of.items():
            rows += [[name, condition, kind, *fields(m)] for kind, m in kinds.items()]
    grids = [_kinds(found["kinds"]), _declined(found)]
    if found["review"]:
        grids.append(_to_review(found["review"]))
    other: Metric = found["other"]
    notes: tuple[str, ...] = ()
    if other["value"]:
        notes = (
            f"{many(round(other['value'] * other['n']), 'refusal')} of another kind among "
            f"{other['n']:,} answers; many such are mixtures: look at the sample in tables.md.",
        )
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(grids),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found["kinds"]), rows=rows),),
        notes=notes,
    )


def _kinds(cells: Mapping[str, Mapping[str, Mapping[str, Metric]]]) -> Grid:
    grid = Grid(title="Kinds of refusal", header=["Respondent", "Condition", *KINDS, "n"])
    grid.notes[""] = (
        "Percent of answers with Wilson 95% intervals. Unwilling: for the danger; uninformed: for "
        "lack of information; other: neither, or nothing that is an answer; none: it answers."
    )
    for name, of in cells.items():
        for condition, kinds in of.items():
            shown = [lines(grid, kinds[kind]) for kind in KINDS]
            grid.rows.append([(name,), (condition,), *shown, (str(kinds[NONE]["n"]),)])
        grid.ends.append(len(grid.rows))
    return grid


def _declined(found: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Declined in any way", header=["Respondent", "Condition", "Judged", "By phrases"]
    )
    grid.notes[""] = "Percent with Wilson 95% intervals."
    if found["agreement"]:
        percent, kappa = found["agreement"]["percent"], found["agreement"]["cohen"]
        said = ", ".join(" ".join(filter(None, grid.coefficient(m))) for m in (percent, kappa))
        grid.notes["Judge and phrases:"] = (
            f"{said} (share of equal answers, Cohen's κ; 95% intervals by question), "
            f"n = {kappa['n']:,}"
        )
    for name, of in found["any"].items():
        for condition, row in of.items():
            phrases = lines(grid, row[PHRASES]) if PHRASES in row else ("",)
            grid.rows.append([(name,), (condition,), lines(grid, row["judged"]), phrases])
        grid.ends.append(len(grid.rows))
    return grid


def _to_review(review: list[Mapping[str, str]]) -> Grid:
    grid = Grid(
        title="Refusals of another kind to look at", header=["Respondent", "Condition", "Item"]
    )
    grid.notes[""] = f"At most {REVIEWED}, drawn by the seed."
    grid.rows = [[(one["respondent"],), (one["condition"],), (one["item"],)] for one in review]
    return grid


def figure(cells: Mapping[str, Mapping[str, Mapping[str, Metric]]]) -> Figure:
    """A panel a respondent, a bar a condition, in it the kinds side by side."""
    conditions = list(dict.fromkeys(c for of in cells.values() for c in of))
    across = min(3, len(cells))
    down = -(-len(cells) // across)
    picture = blank(1.6 + 1.9 * across, 1.0 + down * (0.55 + 0.26 * len(conditions)))
    shown = panels(picture, len(cells), across=across, share_y=True)
    for ax, (name, of) in zip(shown, cells.items(), strict=True):
        for condition, kinds in of.items():
            left = 0.0
            for kind in KINDS:
                value = kinds[kind]["value"]
                if value is None:
                    continue
                ax.barh(
                    conditions.index(condition), value, left=left, height=0.7, color=_INKS[kind],
                    label=kind,
                )  # fmt: skip
                left += value
        ax.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0%", "50%", "100%"])
        name_rows(ax, conditions)
        ax.set_title(name, fontsize=8)
        ruled(ax, "x")
    legend_below(picture, shown)
    head(picture, "Kinds of refusal; none: it answers")
    return picture
