"""What came out of pushing a vector, in sentences, and what that cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trace.report.grid import many, probability
from trace.report.interp.doses import (
    NAMES,
    RANDOM,
    Dose,
    adjusted,
    by_direction,
    is_incoherent,
    is_significant,
)
from trace.report.interp.words import dose, doses, scope, spelled


def steer_sentences(result: Mapping[str, Any]) -> list[str]:
    """What came out, significant or not: up to six sentences of plain text.

    Args:
        result: `metrics` and `breakdowns` of task=steer.
    """
    found = result["breakdowns"]
    groups = by_direction(found["doses"])
    own = [row for name, rows in groups.items() if name != RANDOM for row in rows]
    labels = found["vector"]["outcome"]
    return [
        *_unpushed(own, labels),
        _of_effect(own, found["smallest"], labels),
        *_of_random(groups.get(RANDOM, [])),
        *_of_coherence(found["doses"]),
        *scope(result),
    ]


def steer_limits(result: Mapping[str, Any]) -> list[str]:
    """What the numbers cannot show; stands below them."""
    found = result["breakdowns"]
    limits = [
        "A push that changes the answers shows that this direction can move them, not that the "
        "model uses it when nothing is pushed.",
        "The strengths are measured on the prompts that the vector was not made from. The one "
        "with the largest effect was found there too, so its effect is optimistic.",
    ]
    if any(row["direction"] == RANDOM for row in found["doses"]):
        limits.append(
            "One random direction of equal length stands beside the vector; others may act more."
        )
    if any(row["incoherent"] for row in found["doses"]):
        limits.append(
            "Answers that are no longer language count as unscored: the share is that of the rest."
        )
    if found["vector"]["tokens"] == "all":
        limits.append(
            "The prompt is pushed too, so the model may have read another prompt, not chosen "
            "another answer (steering.tokens=generated leaves the prompt alone)."
        )
    return limits


def _unpushed(own: list[Dose], labels: str) -> list[str]:
    for row in own:
        if row["alpha"] == 0 and row["share"]["value"] is not None:
            of = many(row["n"], "answer")
            return [f"Without a push {spelled(row['share'])} of {of} are “{labels}”."]
    return []


def _of_effect(own: list[Dose], smallest: Mapping[str, Any], labels: str) -> str:
    read = [row for row in own if adjusted(row) is not None and not is_incoherent(row)]
    parts: list[str] = []
    for end, verb in (("up", "raises"), ("down", "lowers")):
        if smallest[end] is not None:
            what = f"the share of “{labels}” significantly" if not parts else "it"
            to = _to(own, smallest[end])
            parts.append(f"{dose(smallest[end])} is the smallest push {end} that {verb} {what}{to}")
    if parts:
        return f"α = {'; '.join([*parts, *_other_end(read, smallest)])}."
    why = f": {smallest['reason']}" if smallest["reason"] else ""
    if not read:
        return f"Whether a push changes the share of “{labels}” is not known{why}."
    against = [row["alpha"] for row in read if is_significant(row)]
    if against:
        return (
            f"At {doses(against)} the share of “{labels}” changes significantly, but against the "
            "direction of the push."
        )
    lowest = min(q for row in read if (q := adjusted(row)) is not None)
    return (
        f"No push changes the share of “{labels}” significantly (smallest adjusted p "
        f"{probability(lowest)}){why}."
    )


def _other_end(read: list[Dose], smallest: Mapping[str, Any]) -> list[str]:
    """What the pushes did that go the way in which none is significant; nothing without any."""
    for end, verb, sign in (("up", "raises", 1), ("down", "lowers", -1)):
        there = [row for row in read if sign * row["alpha"] > 0]
        if smallest[end] is None and there:
            against = [row["alpha"] for row in there if is_significant(row)]
            if against:
                return [f"at {doses(against)} it changes against the direction of the push"]
            return [f"no push {end} {verb} it significantly"]
    return []


def _to(own: list[Dose], alpha: float) -> str:
    row = next((row for row in own if row["alpha"] == alpha), None)
    if row is None or row["share"]["value"] is None:
        return ""
    q = adjusted(row)
    return f", to {spelled(row['share'])}" + ("" if q is None else f", q = {probability(q)}")


def _of_random(rows: list[Dose]) -> list[str]:
    read = [row for row in rows if adjusted(row) is not None and not is_incoherent(row)]
    if not read:
        return []
    beyond = [row["alpha"] for row in read if is_significant(row)]
    if not beyond:
        return [
            "The random direction of equal length changed the share significantly at no strength."
        ]
    return [
        "The random direction of equal length changed the share as well, at "
        f"{doses(beyond)}: what the vector does at such a length, either way, is not shown to be "
        "due to its direction."
    ]


def _of_coherence(rows: list[Dose]) -> list[str]:
    lost = by_direction([row for row in rows if is_incoherent(row)])
    if not lost:
        return []
    where = "; ".join(
        f"{NAMES.get(name, name)}, {doses(row['alpha'] for row in of)}" for name, of in lost.items()
    )
    return [
        f"More than half of the answers are no longer language at some strengths ({where}): their "
        "labels are not an effect."
    ]
