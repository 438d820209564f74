"""What pushing did: shares by dose, tests against no push, and the smallest dose that counts."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from statsmodels.stats.multitest import multipletests

from trace.interp.steering.coherence import Coherence, incoherent
from trace.records import Json
from trace.report.entry import from_rate
from trace.stats.paired import mcnemar_p
from trace.stats.rates import rate
from trace.stats.unpaired import fisher_p

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """The answers to the held-out questions under one push, in the order of the questions.

    `sides` says whether each was judged positive; None where there is no label. `ratio` is the
    length of the push over the median length of the stream.
    """

    direction: str
    alpha: float
    ratio: float
    sides: Sequence[bool | None]
    coherence: Sequence[Coherence]


def measure(doses: Sequence[Dose], own: str) -> tuple[Json, list[list[bool]]]:
    """The `doses` and `smallest` of metrics.json, and which answers are no language any more.

    An answer that is no language counts as unscored, whatever label it got: it shows neither
    induction nor suppression. Each dose is tested against no push: McNemar's exact test on the
    questions that have a label under both, and Fisher's on the two shares, as the paper did. Each
    family of tests is adjusted together (Benjamini and Hochberg 1995), the control's among them.

    Args:
        doses: those of the vector, 0 among them, and of a random direction.
        own: the vector's direction.
    """
    zero = next(dose for dose in doses if dose.direction == own and dose.alpha == 0)
    lost = [incoherent(dose.coherence, zero.coherence) for dose in doses]
    counted = [
        [None if gone else side for side, gone in zip(dose.sides, lost_here, strict=True)]
        for dose, lost_here in zip(doses, lost, strict=True)
    ]
    base = counted[doses.index(zero)]
    pushed = [i for i, dose in enumerate(doses) if dose.alpha != 0]
    fisher = [_fisher(counted[i], base) for i in pushed]
    pairs = [_discordant(base, counted[i]) for i in pushed]
    mcnemar = [mcnemar_p(*pair) for pair in pairs]
    tests: dict[int, tuple[Json, Json]] = {}
    if pushed:
        q_fisher, q_mcnemar = (multipletests(p, method="fdr_bh")[1] for p in (fisher, mcnemar))
        for at, i in enumerate(pushed):
            gained, gone = pairs[at]
            tests[i] = (
                {"p": fisher[at], "adjusted": float(q_fisher[at])},
                {
                    "b": gained,
                    "c": gone,
                    "p": mcnemar[at],
                    "adjusted": float(q_mcnemar[at]),
                },
            )
    rows = [
        _row(dose, counted[i], lost[i], *tests.get(i, (None, None))) for i, dose in enumerate(doses)
    ]
    return {"doses": rows, "smallest": _smallest(rows, own)}, lost


def _row(
    dose: Dose,
    counted: Sequence[bool | None],
    lost: Sequence[bool],
    fisher: Json,
    mcnemar: Json,
) -> Json:
    scored = [side for side in counted if side is not None]
    found = from_rate(
        rate(
            sum(scored),
            len(scored) - sum(scored),
            len(counted) - len(scored),
            unscored_as="exclude",
            of="answers",
        )
    )
    return {
        "direction": dose.direction,
        "alpha": dose.alpha,
        "ratio": dose.ratio,
        "n": len(scored),
        "n_unscored": len(counted) - len(scored),
        "positives": sum(scored),
        "share": found,
        "fisher": fisher,
        "mcnemar": mcnemar,
        "coherence": {
            "repetition": _median([one.repetition for one in dose.coherence]),
            "words": _median([one.words for one in dose.coherence]),
            "perplexity": _median([one.perplexity for one in dose.coherence]),
        },
        "incoherent": sum(lost),
    }


def _smallest(rows: Sequence[Json], own: str) -> Json:
    """The push of least strength each way whose share differs in that way, by McNemar's test."""
    zero = next(
        row["share"]["value"] for row in rows if row["direction"] == own and not row["alpha"]
    )
    found: Json = {"up": None, "down": None, "reason": None}
    if zero is None:
        return found | {"reason": "without a push no answer has a label"}
    for row in sorted(rows, key=lambda row: abs(row["alpha"])):
        value = row["share"]["value"]
        if row["direction"] != own or not row["alpha"] or value is None:
            continue
        end = "up" if row["alpha"] > 0 else "down"
        as_meant = (value > zero) == (end == "up") and value != zero
        if found[end] is None and as_meant and row["mcnemar"]["adjusted"] <= SIGNIFICANT:
            found[end] = row["alpha"]
    return found


def _fisher(pushed: Sequence[bool | None], base: Sequence[bool | None]) -> float:
    a, b = ([side for side in sides if side is not None] for sides in (pushed, base))
    return float(fisher_p(sum(a), len(a), sum(b), len(b)))


def _discordant(base: Sequence[bool | None], pushed: Sequence[bool | None]) -> tuple[int, int]:
    """How many questions became positive, and how many ceased to be."""
    both = [(a, b) for a, b in zip(base, pushed, strict=True) if None not in (a, b)]
    return sum(b and not a for a, b in both), sum(a and not b for a, b in both)  # type: ignore[misc]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(statistics.median(known)) if known else None
