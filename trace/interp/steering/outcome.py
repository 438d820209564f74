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
    family of tests is adjusted together (Benjamini and Hochberg 1995), the control's among them;
    where nothing has a label there is no test, and p is None. The smallest push each way is one
    under which most answers are still language.

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
    pairs = [_discordant(base, counted[i]) for i in pushed]
    fisher = _adjusted([_fisher(counted[i], base) for i in pushed])
    mcnemar = _adjusted([None if pair is None else mcnemar_p(*pair) for pair in pairs])
    tests: dict[int, tuple[Json, Json]] = {
        i: (fisher[at], dict(zip("bc", pairs[at] or (0, 0), strict=True)) | mcnemar[at])
        for at, i in enumerate(pushed)
    }
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
        test, value = row["mcnemar"], row["share"]["value"]
        if row["direction"] != own or test is None or test["p"] is None:
            continue
        up = row["alpha"] > 0
        as_meant = value > zero and test["b"] > test["c"]
        if not up:
            as_meant = value < zero and test["b"] < test["c"]
        language = 2 * row["incoherent"] <= row["n"] + row["n_unscored"]
        end = "up" if up else "down"
        if found[end] is None and as_meant and language and test["adjusted"] <= SIGNIFICANT:
            found[end] = row["alpha"]
    return found


def _fisher(pushed: Sequence[bool | None], base: Sequence[bool | None]) -> float | None:
    a, b = ([side for side in sides if side is not None] for sides in (pushed, base))
    return float(fisher_p(sum(a), len(a), sum(b), len(b))) if a and b else None


def _discordant(
    base: Sequence[bool | None], pushed: Sequence[bool | None]
) -> tuple[int, int] | None:
    """How many questions became positive and how many ceased to be; None if none has both."""
    both = [(a, b) for a, b in zip(base, pushed, strict=True) if None not in (a, b)]
    if not both:
        return None
    return sum(bool(b and not a) for a, b in both), sum(bool(a and not b) for a, b in both)


def _adjusted(family: Sequence[float | None]) -> list[dict[str, Json]]:
    """Each p with the one adjusted for all that are known."""
    known = [p for p in family if p is not None]
    adjusted = iter(multipletests(known, method="fdr_bh")[1] if known else ())
    return [{"p": p, "adjusted": None if p is None else float(next(adjusted))} for p in family]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(statistics.median(known)) if known else None
