"""The table of headline claims and checks, as it is printed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from trace.records import Json
from trace.report.compare.judged import How
from trace.report.compare.section import Section, missing
from trace.report.cross_lab.agreement import kappa
from trace.report.cross_lab.checks import CHECKS, Outcome, Rereadings, outcomes
from trace.report.cross_lab.claims import Claim
from trace.report.cross_lab.context_field import sensitivity
from trace.report.cross_lab.words import plain
from trace.report.grid import Grid, decimal, percent

NAME, TITLE = "cross_lab_robustness", "Which claims survive every check"
WEAK = "weak"
"""In a cell: in the claim's direction, but not beyond chance."""


def robustness(
    claims: Sequence[Claim],
    to: Rereadings,
    agreed: Mapping[str, Any],
    field: Mapping[str, Any],
    how: How,
) -> list[dict[str, Json]]:
    """Each claim with what it rests on.

    Returns:
        For each claim its fields, `text`, `kappa` of its category, `context_field` (labels
        reproduced with the field less without, a fraction), `checks` (name -> `holds`, `towards`
        and `detail`), `survives` (every check that it could be put to, the analysis itself among
        them), `failed` and `not_run`.
    """
    found: list[dict[str, Json]] = []
    for claim, checks in zip(claims, outcomes(claims, to, how), strict=True):
        failed = [name for name, one in checks.items() if one.holds is False]
        found.append(
            {
                "category": claim.category,
                "condition": claim.condition,
                "labels": list(claim.labels),
                "first": list(claim.first),
                "second": list(claim.second),
                "direction": claim.direction,
                "split": claim.split,
                "registered": claim.registered,
                "text": str(claim),
                "kappa": kappa(agreed, claim.category),
                "context_field": sensitivity(field, claim.category),
                "checks": {name: _json(one) for name, one in checks.items()},
                "survives": not failed and checks["main"].holds is True,
                "failed": failed,
                "not_run": [name for name, one in checks.items() if one.holds is None],
            }
        )
    return found


def _json(one: Outcome) -> dict[str, Json]:
    return {"holds": one.holds, "towards": one.towards, "detail": one.detail}


def _shown(one: Mapping[str, Any]) -> str:
    if one["holds"] is None:
        return "–"
    return "yes" if one["holds"] else WEAK if one["towards"] else "no"


def section(
    claims: Sequence[Claim],
    to: Rereadings,
    agreed: Mapping[str, Any],
    field: Mapping[str, Any],
    how: How,
) -> Section:
    """A row a claim, a column a check, and the details of those that fail."""
    if not claims:
        return missing(NAME, TITLE, "there is no claim: no two models differ significantly")
    found = robustness(claims, to, agreed, field, how)
    kept = sum(one["survives"] for one in found)
    absent = [name for name in CHECKS if all(name in one["not_run"] for one in found)]
    without = f" Not run: {', '.join(map(plain, absent))}." if absent else ""
    note = f"{kept} of {len(found)} claims survive every check they were put to.{without}"
    failing = [one for one in found if one["failed"]]
    return Section(
        name=NAME,
        title=TITLE,
        result={"claims": found, "survive": kept},
        grids=(_grid(claims, found, absent), *([_failures(failing)] if failing else [])),
        notes=(note,),
    )


def _grid(
    claims: Sequence[Claim], found: Sequence[Mapping[str, Any]], absent: Collection[str]
) -> Grid:
    run = [name for name in CHECKS if name not in absent]
    titles = [CHECKS[name] for name in run]
    grid = Grid(title="Claims and checks", header=["Claim", *titles, "All", "κ", "Field"])
    grid.notes[""] = (
        "Between neighbouring tiers every pair of models is tested. Main: Fisher, Benjamini-"
        "Hochberg over the whole family; BY: Benjamini-Yekutieli; McNemar: on the same items; held "
        "out, judge out: main anew on those items, and without each judge; bootstrap: 97.5% of "
        "resamples of the items have the order; judged again, field-free: the sample alone, groups "
        "pooled; first budget, only cut: main anew, with the answers before any was asked again "
        "with more tokens, or with only those asked again that were cut off (which selects on the "
        f"outcome). {WEAK}: in this direction, but not beyond chance; what is so judged again, "
        "too, may lack answers rather than the field. κ: Fleiss, of the category; field: points "
        "fewer labels reproduced without the context field, of the category. – not put to it."
    )
    for i, (claim, one) in enumerate(zip(claims, found, strict=True)):
        mark = " (registered)" if claim.registered else ""
        where, label, who = claim.parts
        cells = [(_shown(one["checks"][name]),) for name in run]
        kappa = "–" if one["kappa"] is None else decimal(one["kappa"])
        field = one["context_field"]
        grid.rows.append(
            [
                (f"{i + 1}. {where}{mark}:", f"{label}:", who),
                *cells,
                ("yes" if one["survives"] else "no",),
                (kappa,),
                ("–" if field is None else percent(field),),
            ]
        )
    return grid


def _failures(found: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(title="Where claims do not survive", header=["Claim, and what its checks give"])
    for one in found:
        lines = [f"{plain(name)}: {one['checks'][name]['detail']}" for name in one["failed"]]
        grid.rows.append([(one["text"],)])
        grid.rows += [[(line,)] for line in lines]
        grid.ends.append(len(grid.rows))
    return grid
