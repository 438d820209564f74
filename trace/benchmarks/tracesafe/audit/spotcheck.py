"""The spot check: which records people look at, what they said, and how far they agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa

from trace.benchmarks.tracesafe.audit.collection import by_class
from trace.benchmarks.tracesafe.audit.reviews import VERDICTS, Review
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.records import Json, digest
from trace.report.entry import Metric, entry, from_rate, number
from trace.report.grid import THIN, Grid, decimal, percent
from trace.stats.classification import confusion
from trace.stats.rates import rate

PER_CLASS = 10
LEAST = 10
"""Kappa over fewer records is not given: one verdict more would change it by a tenth and more."""
DIFFER = "differ"


def chosen(records: Iterable[MutationRecord]) -> list[MutationRecord]:
    """The records to look at: ten a class, by a hash of their id, so that the choice is stable.

    Originals that stand in as benign records are left out: nobody labelled them.
    """
    given = by_class(record for record in records if record.kind != "original")
    return [
        record
        for group in given.values()
        for record in sorted(group, key=lambda r: digest(["spot check", r.id]))[:PER_CLASS]
    ]


def agreement(reviews: Sequence[Review], records: Iterable[MutationRecord]) -> dict[str, Json]:
    """How many labels stand, and how far reviewers agree.

    A record counts once: with the verdict that all its reviewers share; as one on which they
    differ, if one agrees and another does not; else as unsure. Those two are left out of a rate,
    which has a Wilson interval, and are in its bounds.

    Returns:
        `all` and `classes` (class -> rate of agree, with `n_differ` of its `n_unscored`),
        `reviewers` (rows of each), `kappa` (a row a pair of reviewers), and `disputed` (id, class
        and reason of each disagreement).
    """
    class_of = {record.id: record.class_ for record in records}
    said: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        said[review.id].append(review)
    verdicts = {id_: _shared(rows) for id_, rows in said.items()}
    by_number = sorted({class_of[id_] for id_ in said}, key=lambda c: c.number)
    return {
        "all": _rate(verdicts.values()),
        "classes": {
            c.name: _rate(v for id_, v in verdicts.items() if class_of[id_] is c) for c in by_number
        },
        "reviewers": dict(sorted(Counter(review.reviewer for review in reviews).items())),
        "kappa": [_kappa(one, other, said) for one, other in _pairs(reviews)],
        "disputed": [
            {"id": r.id, "class": class_of[r.id].name, "reviewer": r.reviewer, "reason": r.reason}
            for r in reviews
            if r.verdict == "disagree"
        ],
    }


def tables(found: Json) -> list[Grid]:
    """The agreement by class, and between reviewers where several judged the same records."""
    by_label = Grid(
        title="Spot check: share of labels that reviewers agree with",
        header=["Class", "Agree", "95% interval", "Bounds", "Differ", "Unsure", "n"],
    )
    by_label.notes[""] = (
        "Percent, with Wilson intervals. Not in n: records on which reviewers differ or one is "
        "unsure; the bounds count them either way."
    )
    for name, metric in (*found["classes"].items(), ("All", found["all"])):
        texts = (
            name,
            by_label.value(metric),
            by_label.interval(metric),
            _bounds(metric),
            str(metric["n_differ"]),
            str(metric["n_unscored"] - metric["n_differ"]),
            str(metric["n"]),
        )
        by_label.rows.append([(text,) for text in texts])
    if not found["kappa"]:
        return [by_label]
    between = Grid(
        title="Agreement between reviewers", header=["Reviewers", "κ", "95% interval", "n"]
    )
    between.notes[""] = "Cohen's kappa over agree, disagree and unsure."
    for row in found["kappa"]:
        kappa = _cells(between, row["kappa"])
        cells = (" and ".join(row["reviewers"]), *kappa, str(row["kappa"]["n"]))
        between.rows.append([(text,) for text in cells])
    return [by_label, between]


def _bounds(metric: Metric) -> str:
    if not metric["n_unscored"]:
        return ""
    low, high = metric["bounds"]
    return f"{percent(low)}–{percent(high)}"


def _cells(grid: Grid, kappa: Metric) -> tuple[str, str]:
    if kappa["value"] is None:
        return "–" + grid.mark(kappa["reason"]), ""
    value = decimal(kappa["value"])
    if kappa["n"] < THIN:
        grid.notes["†"] = f"fewer than {THIN} samples"
        value += "†"
    if kappa["low"] is None:
        return value, "–" + grid.mark("no interval: its asymptotic width is 0")
    return value, f"({decimal(kappa['low'])} to {decimal(kappa['high'])})"


def _shared(reviews: Sequence[Review]) -> str:
    verdicts = {review.verdict for review in reviews}
    if len(verdicts) == 1:
        return verdicts.pop()
    return DIFFER if {"agree", "disagree"} <= verdicts else "unsure"


def _rate(verdicts: Iterable[str]) -> Metric:
    counts = Counter(verdicts)
    found = rate(
        counts["agree"],
        counts["disagree"],
        counts["unsure"] + counts[DIFFER],
        unscored_as="exclude",
        of="reviewed records",
    )
    return from_rate(found) | {"n_differ": counts[DIFFER]}


def _pairs(reviews: Sequence[Review]) -> list[tuple[str, str]]:
    ids = defaultdict(set)
    for review in reviews:
        ids[review.reviewer].add(review.id)
    return [pair for pair in combinations(sorted(ids), 2) if ids[pair[0]] & ids[pair[1]]]


def _kappa(one: str, other: str, said: dict[str, list[Review]]) -> dict[str, Json]:
    """Cohen's kappa (Cohen 1960) of two reviewers with its asymptotic interval.

    There is no interval where that has no width: one of them always said the same, or they never
    differ.
    """
    both = [
        (by[one], by[other])
        for rows in said.values()
        if {one, other} <= (by := {review.reviewer: review.verdict for review in rows}).keys()
    ]
    first, second = zip(*both, strict=True)
    counts = confusion(first, second, VERDICTS)
    n = len(both)
    reason = None
    if len({*first, *second}) == 1:  # kappa is 0/0
        reason = f"both reviewers always said {first[0]}"
    elif n < LEAST:
        reason = f"fewer than {LEAST} records were judged by both"
    if reason is not None:
        kappa = entry(None, n=n, n_unscored=0, reason=reason)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):  # a test that is not asked for
            result = cohens_kappa([row[: len(VERDICTS)] for row in counts])
        kappa = entry(float(result.kappa), n=n, n_unscored=0) | {"unit": "kappa"}
        low, high = max(float(result.kappa_low), -1.0), min(float(result.kappa_upp), 1.0)
        if low < high:  # not where they are NaN
            kappa |= {"low": number(low), "high": number(high), "interval": "asymptotic"}
    return {"reviewers": [one, other], "kappa": kappa}
