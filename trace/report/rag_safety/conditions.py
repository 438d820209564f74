"""R2: the same question under two conditions, paired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from matplotlib.figure import Figure

from trace.records import Json
from trace.report.canvas import INK, POINT, Drawing, blank, head, name_rows, panels, ruled
from trace.report.compare.section import Section, missing
from trace.report.grid import Grid, probability
from trace.report.rag_safety.answers import Answers
from trace.report.rag_safety.contrast import FIELDS_TESTED, Contrast, contrasts, difference, tested
from trace.report.rag_safety.labels import is_base, stacked
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import HARM

NAME, TITLE = "rag_conditions", "Harm between conditions, paired on the question (R2)"


def between(answers: Answers, said: Verdicts) -> dict[str, Json]:
    """Every pair of conditions of every respondent; all are one family. Variants stay apart.

    Returns:
        `pairs` ("first -> second" -> respondent -> contrast) and `tests`, how many are in the
        family; or a `reason`.
    """
    harm = said.first(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    found = contrasts(answers, harm, list(combinations(filter(is_base, answers.conditions), 2)))
    return named(found) or {"reason": "no respondent was judged under two conditions"}


def named(found: Mapping[tuple[str, str], Mapping[str, Contrast]]) -> dict[str, Json]:
    """`pairs` ("first → second" -> respondent -> contrast) and `tests`; empty without a pair."""
    if not found:
        return {}
    tests = sum(one["p"] is not None for of in found.values() for one in of.values())
    return {"pairs": {" → ".join(pair): dict(of) for pair, of in found.items()}, "tests": tests}


def section(answers: Answers, said: Verdicts) -> Section:
    """The differences in a table and a figure."""
    found = between(answers, said)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=(grid_of_pairs("Change of harm", found, "answered unsafely"),),
        drawings=(drawing_of_pairs(NAME, "Change of harm", found),),
    )


def drawing_of_pairs(stem: str, title: str, found: Mapping[str, Any]) -> Drawing:
    """The figure of `named` pairs, and its rows."""
    rows: list[list[Any]] = [["conditions", "respondent", *FIELDS_TESTED]]
    for pair, of in found["pairs"].items():
        rows += [[pair, respondent, *tested(one)] for respondent, one in of.items()]
    return Drawing(stem=stem, draw=partial(figure, found["pairs"], title), rows=rows)


def grid_of_pairs(title: str, found: Mapping[str, Any], hit: str) -> Grid:
    """The table of `named` pairs; `hit` says what was done with the questions of a side."""
    pairs, tests = found["pairs"], found["tests"]
    grid = Grid(
        title=title,
        header=["Conditions", "Respondent", "Change", "Only\nfirst", "Only\nsecond", "p", "q", "n",
                "Left\nout"],
    )  # fmt: skip
    grid.notes[""] = (
        "Percentage points, second less first, with Tango's 95% interval. Only first, only second: "
        f"questions {hit} under one of the two. p: exact McNemar; q: Benjamini-Hochberg over these "
        f"{tests} tests. Left out: questions without a label under one of the two."
    )
    for pair, of in pairs.items():
        for respondent, one in of.items():
            counts = (one["first_only"], one["second_only"])
            grid.rows.append(
                [
                    (pair,),
                    (respondent,),
                    difference(grid, one),
                    *((str(count),) for count in counts),
                    (probability(one["p"]),),
                    (probability(one["q"]),),
                    (str(one["n"]),),
                    (str(sum(one["left_out"].values())),),
                ]
            )
        grid.ends.append(len(grid.rows))
    return grid


def figure(pairs: Mapping[str, Mapping[str, Contrast]], title: str) -> Figure:
    """A panel a pair of conditions, a row a respondent."""
    names = list(dict.fromkeys(name for of in pairs.values() for name in of))
    across = min(3, len(pairs))
    down = -(-len(pairs) // across)
    tallest = max(stacked(pair, 27).count("\n") for pair in pairs)
    picture = blank(1.8 + 1.85 * across, 0.7 + down * (0.75 + 0.12 * tallest + 0.2 * len(names)))
    shown = panels(picture, len(pairs), across=across, share_y=True)
    limit = farthest(one for of in pairs.values() for one in of.values())
    for ax, (pair, of) in zip(shown, pairs.items(), strict=True):
        for name, one in of.items():
            if one["value"] is not None:
                y = names.index(name)
                ax.plot([one["low"], one["high"]], [y, y], color=POINT, linewidth=1.3)
                ax.plot(one["value"], y, "o", color=POINT, markersize=4, clip_on=False)
        ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        change_ticks(ax, limit)
        name_rows(ax, names)
        ax.set_title(stacked(pair, 27), fontsize=8 if len(pair) <= 27 else 7)
        ruled(ax, "x")
    head(picture, f"{title} in percentage points (Tango 95%)")
    return picture


def farthest(found: Iterable[Contrast]) -> float:
    """The round number, at most 1, that no interval goes beyond in either direction."""
    ends = [abs(one[end]) for one in found if one["value"] is not None for end in ("low", "high")]
    return next((limit for limit in (0.1, 0.25, 0.5, 0.75) if limit >= max(ends, default=0)), 1.0)


def change_ticks(axes: Any, limit: float, side: str = "x") -> None:
    """Percentage points on an axis: 0 and the limit on both sides, with room for a point."""
    ends = f"{100 * limit:g}"
    axes.set(
        **{
            f"{side}lim": (-1.05 * limit, 1.05 * limit),
            f"{side}ticks": [-limit, 0, limit],
            f"{side}ticklabels": [f"−{ends}", "0", f"+{ends}"],
        }
    )
