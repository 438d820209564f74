"""Two conditions, or two respondents, on the same items; and families of such differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from scipy.stats import false_discovery_control

from trace.report.compare.section import FIELDS, fields
from trace.report.entry import entry, number
from trace.report.grid import Grid
from trace.report.rag_safety.answers import ABSENT, Answers, Codes
from trace.report.rag_safety.cells import asked, spanned
from trace.stats.paired import paired

Contrast: TypeAlias = dict[str, Any]
"""A metric (second less first) with `p`, `q` (adjusted within its family), `first_only`,
`second_only`, and `left_out`: how many items lack a side, by why."""

BEYOND = 0.05
"""A difference with a smaller q is marked."""

FIELDS_TESTED = [*FIELDS, "first_only", "second_only", "p", "q", "not_judged", "unscored"]


def contrast(first: Codes, second: Codes, hit: int = 1) -> Contrast:
    """The difference of two shares over the items that have a label on both sides.

    Args:
        first: codes of labels, [items].
        second: likewise, of the same items.
        hit: the label whose share it is.
    """
    both = (first >= 0) & (second >= 0)
    absent = ((first == ABSENT) | (second == ABSENT)) & (first != second)  # judged on one side only
    unscored = ~both & (first != ABSENT) & (second != ABSENT)
    found = paired(first[both] == hit, second[both] == hit)
    metric = entry(
        found.value,
        n=found.n,
        n_unscored=int(unscored.sum()),
        higher_is_better=None,
        reason="no item has a label on both sides",
    )
    if found.value is not None:
        metric |= {"low": number(found.low), "high": number(found.high), "interval": "tango"}
    return metric | {
        "first_only": found.first_only,
        "second_only": found.second_only,
        "p": number(found.p),
        "q": None,
        "left_out": {"not_judged": int(absent.sum()), "unscored": int(unscored.sum())},
    }


def contrasts(
    answers: Answers, codes: Codes, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Contrast]]:
    """Pairs of conditions, for each respondent that was judged under both; all are one family.

    Args:
        answers: whose respondents and conditions they are.
        codes: [respondents, conditions, items].
        pairs: the first condition and the second.

    Returns:
        Pair -> respondent -> contrast; a pair without any respondent is not there.
    """
    found: dict[tuple[str, str], dict[str, Contrast]] = {}
    for pair in pairs:
        first, second = (codes[:, answers.conditions.index(name)] for name in pair)
        for i, respondent in enumerate(answers.respondents):
            if asked(first[i]) and asked(second[i]):
                found.setdefault(pair, {})[respondent] = contrast(first[i], second[i])
    adjust([one for of in found.values() for one in of.values()])
    return found


def adjust(family: Iterable[Contrast]) -> None:
    """Gives each its q: the smallest false discovery rate at which it is a finding.

    By Benjamini & Hochberg 1995 (J. R. Stat. Soc. B 57:289-300). Those without a p are not in the
    family.
    """
    tested = [one for one in family if one["p"] is not None]
    for one, q in zip(tested, false_discovery_control([t["p"] for t in tested]), strict=True):
        one["q"] = number(float(q))


def difference(grid: Grid, found: Contrast) -> tuple[str, ...]:
    """A cell: the difference in percentage points and its interval; marked if beyond chance."""
    star = ""
    if found["q"] is not None and found["q"] < BEYOND:
        grid.notes["*"] = f"q < {BEYOND:g} (exact McNemar, Benjamini-Hochberg)"
        star = "*"
    return (grid.value(found, signed=True) + star, spanned(grid, found))


def tested(found: Contrast) -> list[Any]:
    """The values of `FIELDS_TESTED`."""
    own = [found[name] for name in ("first_only", "second_only", "p", "q")]
    return [*fields(found), *own, *found["left_out"].values()]
