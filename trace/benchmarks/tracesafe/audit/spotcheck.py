"""The spot check: which records people look at, what they said, and how far they agree."""

from __future__ import annotations

import math
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
from trace.report.grid import Grid
from trace.stats.classification import confusion
from trace.stats.rates import rate

PER_CLASS = 10


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

    A record counts once: with the verdict that all its reviewers share, else as unsure. Records
    that are unsure are left out of a rate, which has a Wilson interval, and are in its bounds.

    Returns:
        `all` and `classes` (class -> rate of agree), `reviewers` (rows of each),
        `kappa` (a row a pair of reviewers), and `disputed` (id, class and reason of each
        disagreement).
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
        header=["Class", "Agree", "95% interval", "Unsure", "n"],
    )
    by_label.notes[""] = (
        "Percent, with Wilson intervals. Left out: records on which a reviewer is unsure, or two "
        "differ."
    )
    for name, metric in (*found["classes"].items(), ("All", found["all"])):
        texts = (
            name,
            by_label.value(metric),
            by_label.interval(metric),
            str(metric["n_unscored"]),
            str(metric["n"]),
        )
        by_label.rows.append([(text,) for text in texts])
    if not found["kappa"]:
        return [by_label]
    between = Grid(title="Agreement between reviewers", header=["Reviewers", "κ", "95%", "n"])
    between.notes[""] = "Cohen's kappa over agree, disagree and unsure."
    for row in found["kappa"]:
        metric = row["kappa"]
        value = f"{metric['value']:.2f}" if metric["value"] is not None else "–"
        if metric["value"] is None:
            value += between.mark(metric["reason"])
        ends = "" if metric["low"] is None else f"({metric['low']:.2f}–{metric['high']:.2f})"
        cells = (" and ".join(row["reviewers"]), value, ends, str(metric["n"]))
        between.rows.append([(text,) for text in cells])
    return [by_label, between]


def _shared(reviews: Sequence[Review]) -> str:
    verdicts = {review.verdict for review in reviews}
    return verdicts.pop() if len(verdicts) == 1 else "unsure"


def _rate(verdicts: Iterable[str]) -> Metric:
    counts = Counter(verdicts)
    of = "reviewed records"
    return from_rate(
        rate(counts["agree"], counts["disagree"], counts["unsure"], unscored_as="exclude", of=of)
    )


def _pairs(reviews: Sequence[Review]) -> list[tuple[str, str]]:
    ids = defaultdict(set)
    for review in reviews:
        ids[review.reviewer].add(review.id)
    return [pair for pair in combinations(sorted(ids), 2) if ids[pair[0]] & ids[pair[1]]]


def _kappa(one: str, other: str, said: dict[str, list[Review]]) -> dict[str, Json]:
    """Cohen's kappa (Cohen 1960) of two reviewers with its asymptotic interval."""
    both = [
        (by[one], by[other])
        for rows in said.values()
        if {one, other} <= (by := {review.reviewer: review.verdict for review in rows}).keys()
    ]
    first, second = zip(*both, strict=True)
    counts = confusion(first, second, VERDICTS)
    n = len(both)
    if len({*first, *second}) == 1:  # kappa is 0/0
        reason = f"both reviewers always said {first[0]}"
        kappa = entry(None, n=n, n_unscored=0, reason=reason)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):  # a test that is not asked for
            result = cohens_kappa([row[: len(VERDICTS)] for row in counts])
        kappa = entry(float(result.kappa), n=n, n_unscored=0) | {"unit": "kappa"}
        if math.isfinite(result.kappa_low):
            ends = {"low": number(float(result.kappa_low)), "high": number(float(result.kappa_upp))}
            kappa |= ends | {"interval": "asymptotic"}
    return {"reviewers": [one, other], "kappa": kappa}
