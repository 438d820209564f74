"""From outcomes to the numbers of metrics.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import get_args

from trace.benchmarks.cross_lab.outcomes import Outcome
from trace.benchmarks.cross_lab.rubric import CORE, Rubrics
from trace.benchmarks.cross_lab.traces import CATEGORY, RUBRIC
from trace.records import Finish, Json, Status, Verdict
from trace.report.agreement import coefficient, measure_agreement
from trace.report.entry import Metric, entry, from_rate, number
from trace.stats.rates import rate

DEFINITION = (
    "A response has the label with most votes of the respondent's peers; its own vote is kept "
    "apart. Shares are over the responses that have a label; the bounds count the others either "
    "way."
)
NO_COUNT = "the model's engine does not count them apart"
NO_OWN = "the respondent has no seat among the judges, or gave no label beside one of its peers"


def measure(
    outcomes: Sequence[Outcome],
    rubrics: Rubrics,
    titles: Mapping[str, str],
    *,
    draws: int,
    seed: int,
) -> dict[str, Json]:
    """All metrics and breakdowns of one respondent in one condition, ready for metrics.json.

    Args:
        outcomes: one an answer.
        rubrics: the labels of each category.
        titles: judge -> its name in a table.
        draws: bootstrap resamples of the agreement.
        seed: of the resampling.

    Returns:
        `{"metrics": {name: metric}, "breakdowns": …}`: `category` has the share of each label in
        each category, `judge` the coverage of each judge, `agreement` that of all of them and
        `fleiss` that in each category (labels of different rubrics are never confused, so that all
        categories together agree better than each),
        `trace` what became of values in the reasoning and `traced` its crossing with the label;
        `status`, `finish` and `masked` are counts.
    """
    peers = [o.verdict for o in outcomes]
    named = [o for o in outcomes if o.answer.unjudged is None]
    votes: dict[str, list[Verdict | None]] = {
        title: [None if name in o.excluded or name not in o.votes else o.votes[name].verdict
                for o in named]
        for name, title in titles.items()
    }  # fmt: skip
    repeats = _repeats(outcomes)
    by_category = {
        category: [o for o in outcomes if o.answer.item.category == category]
        for category in rubrics.of
    }
    breakdowns: dict[str, Json] = {
        "category": {
            category: {
                label: _share(of, lambda o, label=label: o.verdict.label == label)  # type: ignore[misc]
                for label in rubrics.of[category].names
            }
            for category, of in by_category.items()
            if of
        },
        "judge": {
            title: _covered([v for v in said if v is not None], len(named), repeats)
            for title, said in votes.items()
        },
        "agreement": measure_agreement(
            votes, [o.answer.item.id for o in named], draws=draws, seed=seed
        ),
        "fleiss": {
            category: _fleiss(of, list(titles), draws=draws, seed=seed)
            for category, of in by_category.items()
            if of
        },
    }
    if any(o.trace for o in outcomes):
        breakdowns |= _traced(outcomes)
    status = Counter(verdict.status for verdict in peers)
    finish = Counter(o.answer.response.finish for o in outcomes)
    masked = Counter(name for o in outcomes for name in o.shown.found)
    breakdowns["status"] = {name: status[name] for name in get_args(Status)}
    breakdowns["finish"] = {name: finish[name] for name in get_args(Finish)}
    breakdowns["masked"] = dict(sorted(masked.items()))
    core = [o for o in outcomes if o.answer.item.category in CORE]
    cut = sum(o.answer.truncated for o in core)
    ok = sum(verdict.status == "ok" for verdict in peers)
    return {
        "metrics": {
            "coverage": _plain(ok, len(outcomes), repeats, better=True),
            "truncated": _plain(cut, len(core), _repeats(core), better=False),
            "asked_again": _plain(
                sum(o.answer.asked_again for o in core), len(core), _repeats(core), better=None
            ),
            "own_agrees": _own(outcomes),
            "masked": _plain(sum(bool(o.shown.found) for o in outcomes), len(outcomes), repeats),
            "answer_tokens": _tokens(
                [o.answer.response.completion_tokens for o in named], "no answer"
            ),
            "reasoning_tokens": _tokens(
                [o.answer.response.reasoning_tokens for o in named], NO_COUNT
            ),
        },
        "breakdowns": breakdowns,
    }


def _share(of: Sequence[Outcome], hit: Callable[[Outcome], bool]) -> Metric:
    scored = [o for o in of if o.verdict.status == "ok"]
    hits = sum(map(hit, scored))
    found = rate(
        hits,
        len(scored) - hits,
        len(of) - len(scored),
        unscored_as="exclude",
        of="responses",
        repeats=_repeats(of),
    )
    return from_rate(found) | {"higher_is_better": None}


def _plain(hits: int, n: int, repeats: float, better: bool | None = None) -> Metric:
    found = rate(hits, n - hits, 0, unscored_as="exclude", of="responses", repeats=repeats)
    return from_rate(found) | {"higher_is_better": better, "bounds": None}


def _covered(said: Sequence[Verdict], n: int, repeats: float) -> Metric:
    return _plain(sum(verdict.status == "ok" for verdict in said), n, repeats, better=True)


def _fleiss(of: Sequence[Outcome], names: Sequence[str], *, draws: int, seed: int) -> Metric:
    """Fleiss' kappa of all judges in a category, over the answers that could be judged."""
    named = [o for o in of if o.answer.unjudged is None]
    rows = [
        [
            None if name in o.excluded or name not in o.votes else o.votes[name].verdict.label
            for name in names
        ]
        for o in named
    ]
    return coefficient("fleiss", rows, [o.answer.item.id for o in named], draws=draws, seed=seed)


def _own(outcomes: Sequence[Outcome]) -> Metric:
    """How often the respondent's own label is its peers'."""
    pairs = [
        (o.votes[name].verdict.label == o.verdict.label)
        for o in outcomes
        for name in sorted(o.own)
        if name in o.votes and name not in o.excluded
        if o.votes[name].verdict.status == o.verdict.status == "ok"
    ]
    if not pairs:
        return entry(None, n=0, n_unscored=len(outcomes), higher_is_better=None, reason=NO_OWN)
    found = _plain(sum(pairs), len(pairs), _repeats(outcomes) * len(outcomes[0].own))
    return found | {"n_unscored": len(outcomes) * len(outcomes[0].own) - len(pairs)}


def _tokens(counts: Sequence[int | None], lack: str) -> Metric:
    """The mean over the answers for which there is a count."""
    known = [count for count in counts if count is not None]
    mean = fmean(known) if known else None
    missing = len(counts) - len(known)
    found = entry(mean, n=len(known), n_unscored=missing, higher_is_better=None, reason=lack)
    return found | {"unit": "tokens"}


def _traced(outcomes: Sequence[Outcome]) -> dict[str, Json]:
    """What became of values in the reasoning, and with which final label."""
    of = [o for o in outcomes if o.answer.item.category == CATEGORY and o.trace]
    scored = [o for o in of if o.trace and o.trace.verdict.status == "ok"]
    labels = Counter(o.trace.verdict.label for o in scored if o.trace)
    crossed = Counter(
        (o.trace.verdict.label, o.verdict.label or o.verdict.status) for o in scored if o.trace
    )
    shares = {
        name: from_rate(
            rate(
                labels[name],
                len(scored) - labels[name],
                len(of) - len(scored),
                unscored_as="exclude",
                of="traces",
                repeats=_repeats(of),
            )
        )
        | {"higher_is_better": None}
        for name in RUBRIC.names
    }
    finals = sorted({final for _, final in crossed})
    table = {name: {final: crossed[name, final] for final in finals} for name in RUBRIC.names}
    return {"trace": shares, "traced": table}


def _repeats(outcomes: Sequence[Outcome]) -> float:
    items = {o.answer.item.id for o in outcomes}
    return number(len(outcomes) / len(items)) or 1.0 if items else 1.0
