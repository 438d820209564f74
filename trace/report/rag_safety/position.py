"""Length and position apart from content: the oracle among random documents, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trace.records import Json
from trace.report.compare.section import Section, missing
from trace.report.rag_safety.answers import Answers
from trace.report.rag_safety.conditions import drawing_of_pairs, grid_of_pairs, named
from trace.report.rag_safety.contrast import contrasts
from trace.report.rag_safety.labels import Label
from trace.report.rag_safety.panel import Verdicts
from trace.report.rag_safety.words import ACCURACY, HARM, ORACLE, ORACLE_RANDOM

NAME, TITLE = "rag_position", "Length and position of documents, apart from what they say"
_HITS = {HARM: "answered unsafely", ACCURACY: "answered as expected"}


def position(answers: Answers, said: Verdicts) -> dict[str, Json]:
    """What documents around the oracle change, and what another order does.

    Returns:
        Measure (harm, accuracy) -> `pairs` ("first → second" -> respondent -> contrast) and
        `tests`, how many are in the family; or a `reason`.
    """
    wanted = pairs(answers.conditions)
    if not wanted:
        return {
            "reason": f"no condition is {ORACLE_RANDOM} beside {ORACLE}, or another with "
            "condition.order=reversed or shuffled beside the order given"
        }
    found = {
        measure: of
        for measure in _HITS
        if (codes := said.first(measure)) is not None
        and (of := named(contrasts(answers, codes, wanted)))
    }
    return found or {"reason": "no respondent was judged under two of these conditions"}


def pairs(conditions: Sequence[str]) -> list[tuple[str, str]]:
    """`oracle` against `oracle_random`, and the order given against another, all else equal."""
    known = {Label.read(name): name for name in conditions}
    found = []
    for label, name in known.items():
        if label.base == ORACLE_RANDOM:
            short = replace(label, base=ORACLE, order=None)
            if short in known:
                found.append((known[short], name))
        if label.order is not None and (given := replace(label, order=None)) in known:
            found.append((known[given], name))
    return found


def section(answers: Answers, said: Verdicts) -> Section:
    """A table and a figure a measure."""
    found = position(answers, said)
    if "reason" in found:
        return missing(NAME, TITLE, found["reason"])
    return Section(
        name=NAME,
        title=TITLE,
        result=found,
        grids=tuple(
            grid_of_pairs(f"Change of {measure} by length and position", of, _HITS[measure])
            for measure, of in found.items()
        ),
        drawings=tuple(
            drawing_of_pairs(f"{NAME}_{measure}", f"Change of {measure}", of)
            for measure, of in found.items()
        ),
    )
