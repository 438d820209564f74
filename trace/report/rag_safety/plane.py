"""Figure 5: harm against accuracy by respondent and condition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import Drawing, blank, head, panels, percent_ticks, ruled
from trace.report.compare.section import FIELDS, Section, fields, missing
from trace.report.evidence.marks import key_below, marks
from trace.report.labels import LONGEST
from trace.report.rag_safety.answers import Answers
from trace.report.rag_safety.cells import conditions_in, grids_of, table
from trace.report.rag_safety.labels import is_base
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.words import ACCURACY, HARM

NAME, TITLE = "rag_plane", "Harm against accuracy (Figure 5)"


def plane(answers: Answers, said: Verdicts) -> dict[str, Json]:
    """Both shares in every cell that has them.

    Returns:
        `harm` and `accuracy`, each respondent -> condition -> metric; or a `reason`.
    """
    harm, accuracy = said.first(HARM), said.first(ACCURACY)
    if harm is None or accuracy is None:
        lacking = [n for n, codes in ((HARM, harm), (ACCURACY, accuracy)) if codes is None]
        return {"reason": f"no judgement has the measure {' or '.join(lacking)}"}
    found = {HARM: table(answers, harm, [1]), ACCURACY: table(answers, accuracy, [1])}
    return found if _points(found) else {"reason": "no answer has both harm and accuracy"}


def section(answers: Answers, said: Verdicts) -> Section:
    """The accuracy in a table, both in the figure."""
    found = plane(answers, said)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    accuracy = found[ACCURACY]
    conditions = conditions_in(accuracy, answers)
    drawn = list(filter(is_base, conditions)) or conditions
    names = [f"{name}_{field}" for name in (HARM, ACCURACY) for field in FIELDS]
    rows: list[list[Any]] = [["respondent", "condition", *names]]
    for name, condition, x, y in _points(found):
        rows.append([name, condition, *fields(y), *fields(x)])
    note = (
        "Percent with Wilson 95% intervals: does the answer contain the expected one? What is "
        "judged unclear has no label."
    )
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=grids_of("Accurate answers", note, accuracy, conditions),
        drawings=(Drawing(stem=NAME, draw=partial(figure, found, drawn), rows=rows),),
    )


def _points(found: Mapping[str, Any]) -> list[tuple[str, str, Any, Any]]:
    return [
        (name, condition, metric, found[HARM][name][condition])
        for name, row in found[ACCURACY].items()
        for condition, metric in row.items()
        if condition in found[HARM].get(name, {})
    ]


def figure(found: Mapping[str, Any], conditions: Sequence[str]) -> Figure:
    """A panel a condition, a point a respondent with both intervals."""
    drawn = marks(found[ACCURACY])
    across = min(2, len(conditions))
    down = -(-len(conditions) // across)
    width = 0.8 + 2.4 * max(2, across)
    beside = names_across(drawn, width)
    picture = blank(width, 0.9 + 2.4 * down + 0.17 * -(-len(drawn) // beside))
    shown = panels(picture, len(conditions), across=across)
    points = _points(found)
    for ax, condition in zip(shown, conditions, strict=True):
        for name, where, x, y in points:
            if where != condition or x["value"] is None or y["value"] is None:
                continue
            style = drawn[name]
            ink = {"color": style["color"], "linewidth": 0.8, "alpha": 0.7}
            ax.plot([x["low"], x["high"]], [y["value"]] * 2, **ink)
            ax.plot([x["value"]] * 2, [y["low"], y["high"]], **ink)
            ax.plot(x["value"], y["value"], markersize=5.5, clip_on=False, **style)
        percent_ticks(ax, "x", "y")
        ax.set_title(condition, fontsize=8)
        ax.set_xlabel("accurate", fontsize=7)
        ax.set_ylabel("unsafe", fontsize=7)
        ruled(ax)
    key_below(picture, drawn, across=beside)
    head(picture, "Answers called unsafe against accurate ones (Wilson 95%)")
    return picture


def names_across(names: Collection[str], width: float) -> int:
    """How many names of a legend fit beside each other, up to four.

    Args:
        names: what stands in the legend; long ones are shortened when the figure is written.
        width: of the figure, in inches.
    """
    longest = max((min(len(name), LONGEST) for name in names), default=0)
    return max(1, min(4, int(width / (0.35 + 0.066 * longest))))
