"""How far people agree with the benchmark and with each other, and what became of their work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

from trace.annotation.assign import Assignment
from trace.annotation.decide import Decision, How
from trace.annotation.form import Form
from trace.annotation.item import Answer, Item, Lost
from trace.annotation.label import Label
from trace.records import Json
from trace.report.agreement import coefficient
from trace.report.entry import Metric, entry
from trace.report.inquiry import Asked, Inquiry, inquiries
from trace.report.labellings import Pair, compared
from trace.report.workload import problems, workload
from trace.stats.agreement import Kind
from trace.stats.classification import confusion

TOGETHER = "all together"
"""Stands where an annotator could, for what was decided; it is no pseudonym."""

_COEFFICIENTS: tuple[Kind, ...] = ("percent", "fleiss", "krippendorff")


def measure_annotation(
    items: Sequence[Item],
    forms: Mapping[str, Form],
    assignments: Sequence[Assignment],
    answers: Sequence[Answer],
    decisions: Sequence[Decision],
    lost: Mapping[str, Lost],
    *,
    draws: int,
    seed: int,
) -> dict[str, Json]:
    """All metrics and breakdowns of an annotation, ready for metrics.json.

    What was skipped, left half done or answered in a way that cannot be used has no label: it is
    counted in `n_unscored`, and never taken for one. For what counts as one question see
    `inquiries`; for measures and intervals of two labellings `compared`.

    Args:
        items: what was given out.
        forms: name -> form.
        assignments: who was given what.
        answers: those of the annotators. What adjudicators said shows in the decisions alone.
        decisions: one for each question and item.
        lost: annotator -> what was not taken; nothing for those who are not in it.
        draws: bootstrap resamples.
        seed: of the resampling.

    Returns:
        `metrics` has for each question `<question>_agreement`, `_kappa` and, where pieces are
        marked, `_evidence` (what was decided against the benchmark, over the items that it has a
        label for), `_between` (Krippendorff's alpha of the annotators) and `_decided` (the share
        with a label); and the share `done` of what was given. `breakdowns` has `benchmark`
        (question -> who -> the measures), `pairs` (question -> "a, b" -> the measures), `together`
        (question -> coefficients of more than two annotators), `strata` (question -> stratum ->
        the measures of what was decided, and `between`), `confusion` (question -> who -> counts, a
        row a label of the benchmark), `decisions` (question -> how -> number), `work` (see
        `workload`) and `problems` (question or passage -> problem -> number). Who is an annotator,
        or `TOGETHER`.

    Raises:
        ValueError: somebody answered what they were not given, or more came back than was given.
    """
    people = list(dict.fromkeys(a.annotator for a in assignments))
    asked = {q.name: q for q in inquiries(items, forms, assignments, answers, decisions)}
    measures = _Measures(people, draws, seed)
    benchmark = {
        name: {who: measures.against(q, q.asked, who) for who in (TOGETHER, *people)}
        for name, q in asked.items()
    }
    metrics: dict[str, Metric] = {}
    for name, q in asked.items():
        metrics |= {f"{name}_{of}": metric for of, metric in benchmark[name][TOGETHER].items()}
        metrics[f"{name}_between"] = measures.together(q.asked, "krippendorff")
        closed = sum(one.decision.label is not None for one in q.asked)
        metrics[f"{name}_decided"] = _share(closed, len(q.asked))
    work = workload(assignments, answers, lost)
    metrics["done"] = _share(*(sum(of[part] for of in work.values()) for part in ("done", "given")))
    return {
        "metrics": metrics,
        "breakdowns": {
            "benchmark": benchmark,
            "pairs": {
                name: {
                    ", ".join(pair): measures.between(q, pair) for pair in combinations(people, 2)
                }
                for name, q in asked.items()
            },
            "together": {
                name: {kind: measures.together(q.asked, kind) for kind in _COEFFICIENTS}
                for name, q in asked.items()
                if len(people) > 2
            },
            "strata": {
                name: {
                    stratum: measures.against(q, some, TOGETHER)
                    | {"between": measures.together(some, "krippendorff")}
                    for stratum, some in q.by_stratum().items()
                }
                for name, q in asked.items()
            },
            "confusion": {
                name: {who: _confusion(q, who) for who in (TOGETHER, *people)}
                for name, q in asked.items()
            },
            "decisions": {name: _how(q) for name, q in asked.items()},
            "work": work,
            "problems": problems(answers),
        },
    }


@dataclass(frozen=True, slots=True)
class _Measures:
    """What is measured of some answers to a question, always with the same resampling."""

    people: Sequence[str]
    draws: int
    seed: int

    def against(self, question: Inquiry, asked: Sequence[Asked], who: str) -> dict[str, Metric]:
        """Somebody, or all together, against the benchmark."""
        known = [one for one in asked if _is_known(one, who)]
        pairs = [(_said(one, who), one.benchmark) for one in known]
        return self._compared(question, known, pairs, "benchmark labels")

    def between(self, question: Inquiry, pair: tuple[str, str]) -> dict[str, Metric]:
        """Two annotators, over what both were given."""
        both = [one for one in question.asked if one.people.keys() >= {*pair}]
        pairs = [(one.people[pair[0]], one.people[pair[1]]) for one in both]
        return self._compared(question, both, pairs, "shared items")

    def together(self, asked: Sequence[Asked], kind: Kind) -> Metric:
        """All annotators, over what was given to several."""
        several = [one for one in asked if len(one.people) > 1]
        votes = [
            [label.value if label else None for label in map(one.people.get, self.people)]
            for one in several
        ]
        clusters = [one.item.cluster for one in several]
        return coefficient(kind, votes, clusters, draws=self.draws, seed=self.seed)

    def _compared(
        self, question: Inquiry, asked: Sequence[Asked], pairs: Sequence[Pair], of: str
    ) -> dict[str, Metric]:
        return compared(
            pairs,
            [one.item.cluster for one in asked],
            of=of,
            marked=question.marked,
            draws=self.draws,
            seed=self.seed,
        )


def _is_known(one: Asked, who: str) -> bool:
    """Whether the benchmark has a label for what somebody was given."""
    return one.benchmark is not None and (who == TOGETHER or who in one.people)


def _said(one: Asked, who: str) -> Label | None:
    return one.decision.label if who == TOGETHER else one.people[who]


def _share(part: int, whole: int) -> Metric:
    """How much of the work there is; no estimate of anything, so without an interval."""
    value = part / whole if whole else None
    return entry(value, n=whole, n_unscored=0, reason="nothing was given")


def _confusion(question: Inquiry, who: str) -> dict[str, Json]:
    """A row a label of the benchmark; those that the form does not have are the last."""
    known = [one for one in question.asked if _is_known(one, who)]
    gold = [one.benchmark.value for one in known if one.benchmark]
    said = [label.value if label else None for label in (_said(one, who) for one in known)]
    labels = [*question.values, *sorted({*gold} - {*question.values})]
    return {
        "labels": labels,
        "columns": [*labels, "unscored"],
        "counts": confusion(gold, said, labels),
    }


def _how(question: Inquiry) -> dict[str, int]:
    counts = Counter(one.decision.how for one in question.asked)
    return {how: counts[how] for how in get_args(How)}
