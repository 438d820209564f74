"""The tables of a set that is built, for its card and for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from trace.benchmarks.evidence.counts import NONE, groups
from trace.benchmarks.evidence.infer import Answered, invalid_counts
from trace.benchmarks.evidence.names import shown
from trace.benchmarks.evidence.taxonomy import CATEGORY_NAMES
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.records import Json
from trace.report.grid import Grid, decimal, many, percent


def by_language(triples: Sequence[Triple]) -> Grid:
    """Triples by category of the prompt and language; all nine categories have a row."""
    found = Counter((t.category or NONE, t.language) for t in triples)
    extra = sorted({category for category, _ in found} - {*CATEGORY_NAMES, NONE})
    grid = Grid(title="Triples by category and language", header=["Category", "en", "zh"])
    for name in (*CATEGORY_NAMES, *extra, NONE):
        grid.rows.append([(name,), (str(found[name, "en"]),), (str(found[name, "zh"]),)])
    return grid


def by_group(triples: Sequence[Triple]) -> Grid:
    """Triples by category, language, attack and respondent; groups without any are left out."""
    found = groups(triples)
    header = ["Category", "Language", "Attack", "Respondent", "Triples"]
    grid = Grid(title="Triples by category, language, attack and respondent", header=header)
    grid.rows = [[*((name,) for name in group), (str(found[group]),)] for group in sorted(found)]
    return grid


def transitions(triples: Sequence[Triple]) -> Grid:
    """How safety shifts: all eight combinations of the three labels."""
    found = Counter(tuple(str(t.labels[c].safety) for c in COMPONENTS) for t in triples)
    grid = Grid(
        title="Safety from prompt to trace to response",
        header=[*(shown(c).capitalize() for c in COMPONENTS), "Triples", "%"],
    )
    for labels in product(("safe", "unsafe"), repeat=len(COMPONENTS)):
        share = percent(found[labels] / len(triples)) if triples else "–"
        grid.rows.append([*((label,) for label in labels), (str(found[labels]),), (share,)])
    return grid


def not_here(invalid: Mapping[str, Mapping[str, int]], queued: Mapping[str, int]) -> Grid:
    """Answers that make no triple, by respondent and reason; and what is left to a human."""
    grid = Grid(title="Left out", header=["Who or what", "Why", "Number"])
    for name, reasons in invalid.items():
        for reason, n in reasons.items():
            grid.rows.append([(name,), (f"invalid: {reason}",), (str(n),)])
    for reason, n in queued.items():
        if reason != "triples":
            grid.rows.append([("open to a human",), (reason,), (str(n),)])
    if not grid.rows:
        grid.rows.append([("nothing",), ("",), ("0",)])
    return grid


def agreed(agreement: Mapping[str, Mapping[str, Json]]) -> Grid:
    """Fleiss' kappa of all annotators and Cohen's of each two, by what they voted on."""
    grid = Grid(
        title="Agreement of the annotators",
        header=["On", "Between", "Equal votes, %", "Kappa", "Triples"],
    )
    for item, said in agreement.items():
        for between, row in said.items():
            kappa, share = row["kappa"], row["percent"]
            cell = "–" + grid.mark(kappa["reason"]) if kappa["value"] is None else ""
            alike = "–" if share["value"] is None else percent(share["value"])
            grid.rows.append(
                [(shown(item),), (between,), (alike,), (cell or decimal(kappa["value"]),),
                 (str(kappa["n"]),)]
            )  # fmt: skip
    return grid


def quoted(invented: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Grid:
    """How many of each annotator's quotes do not stand in their text."""
    grid = Grid(title="Quotes", header=["Annotator", "Of the", "Quotes", "Not in the text"])
    for name, components in invented.items():
        for component, n in components.items():
            grid.rows.append(
                [(name,), (shown(component),), (str(n["quotes"]),), (str(n["invented"]),)]
            )
    return grid


def inferred(answered: Sequence[Answered]) -> Grid:
    """How many answers of each respondent can make a triple, and why the others cannot."""
    grid = Grid(title="Answers", header=["Respondent", "Prompts", "Valid", "Cut", "Invalid"])
    asked = Counter(one.respondent.name for one in answered)
    valid = Counter(one.respondent.name for one in answered if one.invalid is None)
    cut = Counter(o.respondent.name for o in answered if o.invalid is None and o.cut)
    for name, reasons in invalid_counts(answered).items():
        why = tuple(f"{n} {reason}" for reason, n in reasons.items()) or ("0",)
        grid.rows.append(
            [(name,), (str(asked[name]),), (str(valid[name]),), (str(cut[name]),), why]
        )
    return grid


def voted(failures: Mapping[str, Mapping[str, int]], triples: int) -> Grid:
    """How often each annotator has a vote on a text, and why not."""
    title = f"Votes on the three texts of {many(triples, 'answer')}"
    grid = Grid(title=title, header=["Annotator", "Votes", "None"])
    for name, reasons in failures.items():
        votes = len(COMPONENTS) * triples - sum(reasons.values())
        why = tuple(f"{n} {reason}" for reason, n in reasons.items()) or ("0",)
        grid.rows.append([(name,), (str(votes),), why])
    return grid
