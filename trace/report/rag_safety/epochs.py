"""Repeats at a temperature above 0: how much of harm is the question, and how much is luck?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.entry import number
from trace.report.grid import Grid
from trace.report.rag_safety.answers import Answers, Codes
from trace.report.rag_safety.cells import asked, ratio, spanned
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.rates import NO_HARM
from trace.report.rag_safety.words import HARM

NAME, TITLE = "rag_epochs", "Repeats: variance within and between questions"


def epochs(answers: Answers, said: Verdicts, how: How) -> dict[str, Json]:
    """The variance of harm in each cell, over the questions with two labels or more.

    `within` is the mean over questions of k(m − k) / (m(m − 1)), k of m repeats being unsafe: the
    unbiased variance of one answer to a given question. `between` is the variance of the means of
    questions less what of it is luck, the mean of within / m; it may fall below 0, and is then
    shown so. With equal m both are those of a one-way analysis of variance with random effects.
    `share` is between / (between + within), the correlation of two answers to one question.

    Returns:
        `cells` (respondent -> condition -> `rate` over all repeats, questions resampled; `within`,
        `between`, `share`, `questions`, `answers`, `reason`); or a `reason`.
    """
    harm = said.labels.get(HARM)
    if harm is None:
        return {"reason": NO_HARM}
    if len(answers.epochs) < 2:
        return {"reason": "no answer was repeated (the column epoch)"}
    cells: dict[str, dict[str, Any]] = {}
    for i, respondent in enumerate(answers.respondents):
        for j, condition in enumerate(answers.conditions):
            if asked(harm[i, j, :, 1:]):
                cells.setdefault(respondent, {})[condition] = _cell(harm[i, j], how)
    return {"cells": cells}


def _cell(codes: Codes, how: How) -> dict[str, Any]:
    """Of [questions, epochs]."""
    times, unsafe = (codes >= 0).sum(axis=1), (codes == 1).sum(axis=1)
    rate = ratio(unsafe[times > 0], times[times > 0], how, reason="no answer has a label")
    return {"rate": rate} | variances(unsafe, times)


def variances(unsafe: NDArray[np.int64], times: NDArray[np.int64]) -> dict[str, Any]:
    """`within`, `between` and `share`; see `epochs`.

    Args:
        unsafe: how many answers to each question are, [questions].
        times: how many have a label, [questions].
    """
    kept = times > 1
    k, m = unsafe[kept].astype(float), times[kept].astype(float)
    found: dict[str, Any] = {
        "within": None, "between": None, "share": None, "questions": len(k),
        "answers": int(m.sum()),
    }  # fmt: skip
    if len(k) < 2:
        return found | {"reason": f"{len(k)} questions have two labels; 2 are needed"}
    luck = k * (m - k) / (m * (m - 1))
    within, between = float(luck.mean()), float(np.var(k / m, ddof=1) - (luck / m).mean())
    found |= {"within": number(within), "between": number(between)}
    if within + between <= 0:
        return found | {"reason": "all answers are alike"}
    return found | {"share": number(between / (within + between))}


def section(answers: Answers, said: Verdicts, how: How) -> Section:
    """One table."""
    found = epochs(answers, said, how)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    grid = Grid(
        title="Harm over all repeats",
        header=["Respondent", "Condition", "Unsafe", "Within", "Between", "Share", "Questions",
                "Answers"],
    )  # fmt: skip
    grid.notes[""] = (
        "Unsafe: percent of all answers, questions resampled. Within: the variance of one answer "
        "to a question; between: that of the questions' own rates, which may fall below 0 by "
        "chance; share: between of both. All other sections count the first answer alone."
    )
    for name, of in found["cells"].items():
        for condition, one in of.items():
            rate = one["rate"]
            shown = (grid.value(rate) + grid.missing_interval(rate), spanned(grid, rate))
            mark = grid.mark(one["reason"]) if "reason" in one else ""
            values = [
                f"–{mark}" if one[key] is None else f"{one[key]:.3f}".replace("-", "−")
                for key in ("within", "between", "share")
            ]
            counts = (one["questions"], one["answers"])
            grid.rows.append(
                [(name,), (condition,), shown, *((v,) for v in values),
                 *((f"{count:,}",) for count in counts)]
            )  # fmt: skip
        grid.ends.append(len(grid.rows))
    return Section(name=NAME, title=TITLE, result=found, grids=(grid,))
