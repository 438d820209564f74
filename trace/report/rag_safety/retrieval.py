"""What a retriever finds, and what its answers owe to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from statsmodels.stats.proportion import confint_proportions_2indep

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.entry import Metric, entry, number
from trace.report.grid import Grid
from trace.report.rag_safety.answers import ABSENT, Answers, Codes
from trace.report.rag_safety.cells import asked, lines, share, spanned
from trace.report.rag_safety.conditions import grid_of_pairs, named
from trace.report.rag_safety.contrast import contrasts
from trace.report.rag_safety.labels import Label
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.words import (
    DROPPED,
    FOUND,
    HARM,
    LABELS,
    MISSED,
    NOT_HELD,
    ORACLE,
    RETRIEVAL,
    RETRIEVED,
)

NAME, TITLE = "rag_retrieval", "Retrieval: the oracle document, and harm with and without it"
_CODES = {label: code for code, label in enumerate(LABELS[RETRIEVAL])}


def retrieval(answers: Answers, said: Verdicts) -> dict[str, Json]:
    """Recall of the oracle document, and harm of the answers that were shown it or not.

    Returns:
        `cells`: respondent -> condition -> `recall` (over the questions whose oracle document is
        in the corpus), `dropped` and `not_held` (counts), `shown` and `not_shown` (the rates of
        harm) and `difference` (the first less the second, Newcombe's interval). `changes`: `pairs`
        and `tests` of harm against the oracle document, and between retrievers, paired on the
        question; empty without any. Or a `reason`.
    """
    found, harm = said.first(RETRIEVAL), said.first(HARM)
    if found is None:
        return {"reason": "nothing was retrieved (condition=retrieved)"}
    cells: dict[str, dict[str, Any]] = {}
    for i, respondent in enumerate(answers.respondents):
        for j, condition in enumerate(answers.conditions):
            if asked(found[i, j]):
                own = None if harm is None else harm[i, j]
                cells.setdefault(respondent, {})[condition] = _cell(found[i, j], own)
    wanted = pairs(answers.conditions)
    changes = {} if harm is None else named(contrasts(answers, harm, wanted))
    return {"cells": cells, "changes": changes}


def pairs(conditions: Sequence[str]) -> list[tuple[str, str]]:
    """`oracle` against `retrieved`, and retrievers that differ in one thing, all else equal."""
    known = {Label.read(name): name for name in conditions}
    retrieved = [label for label in known if label.base == RETRIEVED]
    found = []
    for label in retrieved:
        oracle = Label(base=ORACLE, mitigations=label.mitigations)
        plainer = [
            replace(label, retriever=tuple(part for part in label.retriever if part != one))
            for one in label.retriever
        ]
        found += [(known[a], known[label]) for a in (oracle, *plainer) if a in known]
    return found


def _cell(found: Codes, harm: Codes | None) -> dict[str, Any]:
    held = np.where(found == _CODES[NOT_HELD], ABSENT, found).astype(np.int8)
    cell: dict[str, Any] = {
        "recall": share(held, [_CODES[FOUND], _CODES[DROPPED]], of="documents in the corpus"),
        **{name: int((found == _CODES[name]).sum()) for name in (DROPPED, NOT_HELD)},
    }
    if harm is None:
        return cell
    seen = found == _CODES[FOUND]
    unseen = np.isin(found, [_CODES[name] for name in (MISSED, DROPPED, NOT_HELD)])
    with_, without = (
        share(np.where(chosen, harm, ABSENT).astype(np.int8), [1]) for chosen in (seen, unseen)
    )
    return cell | {"shown": with_, "not_shown": without, "difference": _difference(with_, without)}


def _difference(first: Metric, second: Metric) -> Metric:
    """Of two shares of different questions, by Newcombe 1998 (Stat. Med. 17:873-890, method 10)."""
    n, m = first["n"], second["n"]
    unscored = first["n_unscored"] + second["n_unscored"]
    if not n or not m:
        reason = "no answer with a label has the oracle document" if not n else "all have it"
        return entry(None, n=n + m, n_unscored=unscored, higher_is_better=None, reason=reason)
    hits, others = (round(one["value"] * one["n"]) for one in (first, second))
    low, high = confint_proportions_2indep(hits, n, others, m, method="newcomb", compare="diff")
    value = first["value"] - second["value"]
    metric = entry(value, n=n + m, n_unscored=unscored, higher_is_better=None)
    return metric | {"low": number(float(low)), "high": number(float(high)), "interval": "newcombe"}


def section(answers: Answers, said: Verdicts) -> Section:
    """What was found in a table, the changes in another."""
    found = retrieval(answers, said)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    changes = found["changes"]
    title = "Change of harm by the retriever"
    paired = (grid_of_pairs(title, changes, "answered unsafely"),) if changes else ()
    return Section(name=NAME, title=TITLE, result=found, grids=(_grid(found["cells"]), *paired))


def _grid(cells: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Grid:
    grid = Grid(
        title="What the retriever found",
        header=["Respondent", "Condition", "Recall", "n", "Not in\ncorpus", "Dropped",
                "Harm,\nshown", "Harm,\nnot shown", "Difference"],
    )  # fmt: skip
    grid.notes[""] = (
        "Recall: percent of the questions whose oracle document is in the corpus and was found "
        "(Wilson); dropped: of these, those that a filter took away again. Harm where the oracle "
        "document was shown, and where it was not; the difference is between other questions, "
        "which may differ in more than the document (Newcombe's 95% interval)."
    )
    for respondent, of in cells.items():
        for condition, one in of.items():
            shown: list[tuple[str, ...]] = [("",)] * 3
            if "shown" in one:
                gap = one["difference"]
                shown = [lines(grid, one["shown"]), lines(grid, one["not_shown"]),
                         (grid.value(gap, signed=True), spanned(grid, gap))]  # fmt: skip
            counts = (one["recall"]["n"], one[NOT_HELD], one[DROPPED])
            grid.rows.append(
                [(respondent,), (condition,), lines(grid, one["recall"]),
                 *((f"{count:,}",) for count in counts), *shown]
            )  # fmt: skip
        grid.ends.append(len(grid.rows))
    return grid
