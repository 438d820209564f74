"""A claim that was written down: what its one test gives, and whether it was there beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trace.records import Json
from trace.report.compare.section import Section
from trace.report.cross_lab.claims import Claim, pooled
from trace.report.cross_lab.family import ALPHA, Reading
from trace.report.entry import from_rate, number
from trace.report.grid import Grid, decimal, probability
from trace.stats.rates import rate
from trace.stats.unpaired import cohens_h

NAME, TITLE = "cross_lab_registered", "The registered claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """A claim of a file. `doubts` say why it is post hoc; without any it is registered.

    `either` is True if it says that the groups differ and not which is ahead: the claim's own
    direction plays no part then.
    """

    name: str
    claim: Claim
    doubts: tuple[str, ...]
    either: bool = False

    @property
    def text(self) -> str:
        """The claim in words."""
        if not self.either:
            return str(self.claim)
        where, labels, _ = self.claim.parts
        first, second = (", ".join(side) for side in (self.claim.first, self.claim.second))
        return f"{where}: {labels}: {first} not as often as {second}, or more often"

    @property
    def status(self) -> str:
        """What is printed."""
        return f"post hoc: {'; '.join(self.doubts)}" if self.doubts else "registered"


def oriented(announced: Announced, read: Reading) -> Claim:
    """The claim; one that says only that the groups differ, in the direction in which they do.

    Its test is two-sided, so that it holds in that direction exactly if the groups differ.
    """
    counts, claim = pooled(announced.claim, read), announced.claim
    if announced.either and not counts.towards(claim):
        return replace(claim, direction="less" if claim.direction == "more" else "more")
    return claim


def tested(announced: Announced, read: Reading) -> dict[str, Json]:
    """The union of the labels counted in both groups, each pooled, and one test of them.

    Fisher's exact test, two-sided, and Cohen's h, the first group less the second. Responses of
    several models to one item are counted as if they were to different ones.

    Args:
        announced: a claim that these judgements can decide (`claims.checked`).
        read: the labels, counted.

    Returns:
        `name`, `status`, `text`, `first` and `second` (metrics with Wilson intervals), `p`, `h`,
        `holds` (p < .05 in the direction of the claim); where a side has no label, the last three
        are None and there is a `reason`.
    """
    claim = oriented(announced, read)
    counts = pooled(claim, read)
    sides = [
        from_rate(rate(k, n - k, 0, unscored_as="exclude", of="responses"))
        | {"k": k, "higher_is_better": None}
        for k, n in zip(counts.k, counts.n, strict=True)
    ]
    found: dict[str, Json] = {
        "name": announced.name,
        "status": announced.status,
        "text": announced.text,
        "first": sides[0],
        "second": sides[1],
        "p": number(counts.p),
        "h": None,
        "holds": None,
    }
    if counts.p is None:
        return found | {"reason": "a side has no response with a label"}
    shares = (k / n for k, n in zip(counts.k, counts.n, strict=True))
    return found | {
        "h": number(float(cohens_h(*shares))),
        "holds": bool(counts.p < ALPHA and counts.towards(claim)),
    }


def section(announced: Announced, read: Reading) -> Section:
    """One table: both groups, and the test."""
    found = tested(announced, read)
    grid = Grid(
        title=f"{announced.name} ({'post hoc' if announced.doubts else 'registered'})",
        header=["Models", "Counted", "Share", "95% interval"],
    )
    labels = " or ".join(announced.claim.labels)
    for names, side in (
        (announced.claim.first, found["first"]),
        (announced.claim.second, found["second"]),
    ):
        counted = f"{side['k']}/{side['n']}"
        grid.rows.append(
            [(", ".join(names),), (counted,), (grid.value(side),), (grid.interval(side),)]
        )
    status = f"{announced.status[:1].upper()}{announced.status[1:]}."
    result = found.get("reason") or (
        f"p = {probability(found['p'])}, h = {decimal(found['h'])}: it "
        f"{'holds' if found['holds'] else 'does not hold'}"
    )
    grid.notes[""] = (
        f"{found['text']}. Counted: {labels}. Fisher's exact test of both groups pooled, "
        f"two-sided; Wilson intervals: {result}. {status}"
    )
    said = f"{announced.name}: {result}. {status}"
    return Section(name=NAME, title=TITLE, result=found, grids=(grid,), notes=(said,))
