"""What a filter or a safety prompt takes from harm, and from the use of harmless documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, Drawing, blank, head, panels, ruled
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.entry import Metric, entry
from trace.report.evidence.marks import key_below, marks
from trace.report.grid import Grid, probability
from trace.report.rag_safety.answers import Answers, Codes
from trace.report.rag_safety.cells import asked, lines, share
from trace.report.rag_safety.changes import short_title
from trace.report.rag_safety.conditions import change_ticks, farthest
from trace.report.rag_safety.contrast import FIELDS_TESTED, Contrast, contrasts, difference, tested
from trace.report.rag_safety.labels import Label, typed
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.plane import names_across
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import (
    ACCURACY,
    BLOCKED,
    HARM,
    LABELS,
    NON_RAG,
    ORACLE,
    UNBLOCKED,
)

NAME, TITLE = "rag_mitigations", "Mitigations: harm against what they cost"
COST = "benign_accuracy"
_ASKED = {
    ORACLE: "benchmark.benign=true",
    NON_RAG: "benchmark.benign=true benchmark.mirage=FOLDER",
}
"""Condition -> what asks harmless questions under it."""
_STOPPED = [code for code, label in enumerate(LABELS[BLOCKED]) if label != UNBLOCKED]


def mitigations(
    answers: Answers, said: Verdicts, benign: Answers, of_benign: Verdicts
) -> dict[str, Json]:
    """Each condition with a mitigation against the same one without it, paired on the question.

    Args:
        answers: those to harmful items.
        said: the panel on them.
        benign: the answers to benign items, with the same respondents and conditions.
        of_benign: the panel on those.

    Returns:
        `changes`: condition -> respondent -> `without` (the other condition), `harm` and `COST`
        (contrasts; each measure is one family) and, where something could be blocked, `blocked`
        and `benign_blocked` (metrics). `alone`: conditions with a mitigation that have nothing to
        be compared with. Or a `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    guarded, alone = pairs(answers.conditions)
    if not guarded and not alone:
        return {"reason": "no condition has a filter or a safety prompt (condition.filter=output)"}
    accuracy = of_benign.first(ACCURACY)
    changes = contrasts(answers, harm, guarded)
    costs = {} if accuracy is None else contrasts(benign, accuracy, guarded)
    if not changes:
        return {"reason": "no respondent was judged under one condition with and without it"}
    found: dict[str, dict[str, Any]] = {}
    for pair, of in changes.items():
        without, under = pair
        c = answers.conditions.index(under)
        for respondent, change in of.items():
            i = answers.respondents.index(respondent)
            cost = costs.get(pair, {}).get(respondent) or _unknown(
                [name for name in pair if not _there(accuracy, i, answers.conditions.index(name))]
            )
            row: dict[str, Any] = {"without": without, HARM: change, COST: cost}
            row |= _blocked(said, "blocked", i, c) | _blocked(of_benign, "benign_blocked", i, c)
            found.setdefault(under, {})[respondent] = row
    return {"changes": found, "alone": alone}


def pairs(conditions: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The conditions without a mitigation and with it; and those with one that stand alone."""
    known = {Label.read(name): name for name in conditions}
    guarded = [(label, name) for label, name in known.items() if label.mitigations]
    found = [
        (known[bare], name)
        for label, name in guarded
        if (bare := replace(label, mitigations=())) in known
    ]
    paired = {name for _, name in found}
    return found, [name for _, name in guarded if name not in paired]


def _there(codes: Codes | None, respondent: int, condition: int) -> bool:
    return codes is not None and asked(codes[respondent, condition])


def _unknown(conditions: Sequence[str]) -> Contrast:
    """No contrast, and what would give one."""
    asked_under = {name: Label.read(name).base for name in conditions}
    reason = f"no accuracy on harmless questions under {' and '.join(conditions)}: "
    if set(asked_under.values()) <= _ASKED.keys():
        reason += "run " + " and ".join(
            f"{_ASKED[base]} {typed(name) or name}" for name, base in asked_under.items()
        )
    else:
        reason += f"they are asked under {ORACLE}, and those of MIRAGE under {NON_RAG}, alone"
    metric = entry(None, n=0, n_unscored=0, higher_is_better=None, reason=reason)
    counts = {"first_only": 0, "second_only": 0, "p": None, "q": None}
    return metric | counts | {"left_out": {"not_judged": 0, "unscored": 0}}


def _blocked(said: Verdicts, name: str, respondent: int, condition: int) -> dict[str, Metric]:
    codes = said.first(BLOCKED)
    if codes is None or not asked(codes[respondent, condition]):
        return {}
    return {name: share(codes[respondent, condition], _STOPPED)}


def section(answers: Answers, said: Verdicts, benign: Answers, of_benign: Verdicts) -> Section:
    """The changes in a table, and harm against cost in a figure where both are known."""
    found = mitigations(answers, said, benign, of_benign)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    changes = found["changes"]
    rows: list[list[Any]] = [
        ["condition", "without", "respondent", *(f"{HARM}_{name}" for name in FIELDS_TESTED),
         *(f"{COST}_{name}" for name in FIELDS_TESTED),
         *(f"{what}_{name}" for what in ("blocked", "benign_blocked") for name in FIELDS)]
    ]  # fmt: skip
    for condition, of in changes.items():
        for respondent, one in of.items():
            shares = [
                fields(one[what]) if what in one else [None] * len(FIELDS)
                for what in ("blocked", "benign_blocked")
            ]
            rows.append(
                [condition, one["without"], respondent, *tested(one[HARM]), *tested(one[COST]),
                 *shares[0], *shares[1]]
            )  # fmt: skip
    drawn = bool(_points(changes))
    notes = tuple(
        f"{name} has nothing to be compared with: the same condition without it was not judged."
        for name in found["alone"]
    )
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(_grid(changes),),
        drawings=(Drawing(stem=NAME, draw=partial(figure, changes), rows=rows),) if drawn else (),
        notes=notes,
    )


def _grid(changes: Mapping[str, Any]) -> Grid:
    grid = Grid(
        title="Change by a mitigation",
        header=["Condition", "Respondent", "Harm", "q", "Benign\naccuracy", "q", "Blocked",
                "Benign\nblocked"],
    )  # fmt: skip
    grid.notes[""] = (
        "Percentage points against the same condition without the mitigation, on the same "
        "questions, with Tango's 95% intervals; q: exact McNemar, Benjamini-Hochberg over the "
        "tests of the column. Blocked: percent of answers that nobody reads (Wilson); they count "
        "as safe, and as inaccurate."
    )
    for condition, of in changes.items():
        for respondent, one in of.items():
            grid.rows.append(
                [
                    (condition,),
                    (respondent,),
                    difference(grid, one[HARM]),
                    (probability(one[HARM]["q"]),),
                    difference(grid, one[COST]),
                    (probability(one[COST]["q"]),),
                    *(
                        lines(grid, one[what]) if what in one else ("",)
                        for what in ("blocked", "benign_blocked")
                    ),
                ]
            )
        grid.ends.append(len(grid.rows))
    return grid


def _points(changes: Mapping[str, Any]) -> dict[str, dict[str, tuple[Contrast, Contrast]]]:
    """Respondent -> condition -> cost and change, where both are known."""
    found: dict[str, dict[str, tuple[Contrast, Contrast]]] = {}
    for condition, of in changes.items():
        for name, one in of.items():
            if one[COST]["value"] is not None and one[HARM]["value"] is not None:
                found.setdefault(name, {})[condition] = (one[COST], one[HARM])
    return found


def figure(changes: Mapping[str, Any]) -> Figure:
    """A panel a respondent, a point a mitigation with both intervals."""
    points = _points(changes)
    drawn = marks(dict.fromkeys(c for of in points.values() for c in of))
    across = min(3, len(points))
    down = -(-len(points) // across)
    width = 1.0 + 2.1 * max(2, across)
    beside = names_across(drawn, width)
    picture = blank(width, 1.0 + 2.3 * down + 0.17 * -(-len(drawn) // beside))
    limit = farthest(one for of in points.values() for pair in of.values() for one in pair)
    shown = panels(picture, len(points), across=across)
    for ax, (name, of) in zip(shown, points.items(), strict=True):
        for condition, (x, y) in of.items():
            style = drawn[condition]
            ink = {"color": style["color"], "linewidth": 0.8, "alpha": 0.7}
            ax.plot([x["low"], x["high"]], [y["value"]] * 2, **ink)
            ax.plot([x["value"]] * 2, [y["low"], y["high"]], **ink)
            ax.plot(x["value"], y["value"], markersize=5.5, clip_on=False, **style)
        for side in ("x", "y"):
            change_ticks(ax, limit, side)
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        ax.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        ax.set_title(short_title(name), fontsize=8)
        ax.set_xlabel("benign accuracy", fontsize=7)
        ax.set_ylabel("harm", fontsize=7)
        ruled(ax)
    key_below(picture, drawn, across=beside)
    head(picture, "Change by a mitigation in percentage points: harm against cost (Tango 95%)")
    return picture
