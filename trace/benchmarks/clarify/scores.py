"""From outcomes to the numbers of metrics.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from trace.benchmarks.clarify.items import KINDS
from trace.benchmarks.clarify.outcomes import Outcome
from trace.benchmarks.clarify.taxonomy import ASKS_BACK
from trace.records import Finish, Json, Status, Verdict
from trace.report.agreement import measure_agreement
from trace.report.entry import Metric, entry, from_rate, number
from trace.report.judged import Judged, repeats_in, share
from trace.stats.paired import paired
from trace.stats.rates import rate

DEFINITION = (
    "Shares are of the answers that have a label; what a provider's filter stopped is counted "
    "apart. The difference is over pairs: requests that lack something less those that have it."
)
UNDERSPECIFIED, SPECIFIED = KINDS


def measure(outcomes: Sequence[Outcome], *, draws: int, seed: int) -> dict[str, Json]:
    """All metrics and breakdowns of one respondent, ready for metrics.json.

    There is no gold label, so an answer without a label is left out, and the bounds count it
    either way. Shares have Wilson intervals over distinct requests. The difference has Tango's
    interval, over pairs of which both answers have a label; with several epochs it is that of the
    first, because repeats of a pair are not independent.

    Args:
        outcomes: one an answer.
        draws: bootstrap resamples of the judges' agreement.
        seed: of the resampling.

    Returns:
        `{"metrics": …, "breakdowns": {"topic", "pairs", "judge", "status", "finish"}}`; with
        several judges there is `agreement` too.
    """
    answers = [o for o in outcomes if not o.filtered]
    topics: dict[str, list[Outcome]] = {}
    for outcome in answers:
        topics.setdefault(outcome.item.topic, []).append(outcome)
    status = Counter(o.record.verdict.status for o in answers)
    finish = Counter(o.response.finish for o in outcomes)
    difference, pairs = _difference(answers)
    return {
        "metrics": {
            **_shares(answers),
            "difference": difference,
            "coverage": _coverage(answers),
            "provider_refused": _part(outcomes, lambda o: o.filtered),
        },
        "breakdowns": {
            "topic": {
                name: _shares(of) | {"difference": _difference(of)[0]}
                for name, of in topics.items()
            },
            "pairs": pairs,
            **_judges(answers, draws, seed),
            "status": {name: status[name] for name in get_args(Status)},
            "finish": {name: finish[name] for name in get_args(Finish)},
        },
    }


def _shares(outcomes: Sequence[Outcome], judge: str | None = None) -> dict[str, Metric]:
    """The shares that ask back, by the scored verdict or that of one judge."""
    found: dict[str, Metric] = {}
    for kind in KINDS:
        said = [(o, _said(o, judge)) for o in outcomes if o.item.kind == kind]
        judged = [_judged(o, verdict) for o, verdict in said if verdict is not None]
        metric = from_rate(
            share(judged, lambda j: j.verdict.label == ASKS_BACK, "exclude", "answers")
        )
        found[kind] = metric | {"higher_is_better": kind == UNDERSPECIFIED}
    return found


def _said(outcome: Outcome, judge: str | None) -> Verdict | None:
    """None where a judge's vote is set aside; what has nothing to judge is so for every judge."""
    if judge is None or not outcome.record.judges:
        return outcome.record.verdict
    return None if judge in outcome.record.excluded else outcome.record.judges[judge]


def _judged(outcome: Outcome, verdict: Verdict) -> Judged:
    """A request is one observation, however often it is asked."""
    return Judged(
        gold="", verdict=verdict, cluster=outcome.item.pair, class_="", sample=outcome.item.id
    )


def _coverage(outcomes: Sequence[Outcome]) -> Metric:
    missing = sum(o.asks_back is None for o in outcomes)
    metric = _part(outcomes, lambda o: o.asks_back is not None)
    return metric | {"n_unscored": missing, "higher_is_better": True}


def _part(outcomes: Sequence[Outcome], hit: Callable[[Outcome], bool]) -> Metric:
    hits = sum(map(hit, outcomes))
    repeats = repeats_in([_judged(o, o.record.verdict) for o in outcomes])
    whole = rate(
        hits, len(outcomes) - hits, 0, unscored_as="exclude", of="answers", repeats=repeats
    )
    return from_rate(whole) | {"bounds": None, "higher_is_better": None}


def _difference(outcomes: Sequence[Outcome]) -> tuple[Metric, dict[str, Json]]:
    """The difference of both shares in the first epoch, and the pairs behind it."""
    sides: dict[str, dict[str, bool | None]] = {}
    for outcome in outcomes:
        if outcome.record.epoch == 0:
            sides.setdefault(outcome.item.pair, {})[outcome.item.kind] = outcome.asks_back
    whole = [
        (lacks, has)
        for side in sides.values()
        if (lacks := side.get(UNDERSPECIFIED)) is not None
        and (has := side.get(SPECIFIED)) is not None
    ]
    found = paired([has for _, has in whole], [lacks for lacks, _ in whole], of="pairs")
    metric = entry(found.value, n=found.n, n_unscored=len(sides) - found.n, reason=found.reason)
    if found.value is not None:
        metric |= {"low": number(found.low), "high": number(found.high), "interval": "tango"}
    return metric, {
        "n": found.n,
        "only_underspecified": found.second_only,
        "only_specified": found.first_only,
        "p": number(found.p),
    }


def _judges(outcomes: Sequence[Outcome], draws: int, seed: int) -> Mapping[str, Json]:
    """The shares by each judge, and how far several agree."""
    seen = [o for o in outcomes if o.record.judges]
    names = list(seen[0].record.judges) if seen else []
    found: dict[str, Json] = {"judge": {name: _shares(outcomes, name) for name in names}}
    if len(names) > 1:
        votes = {name: [_said(o, name) for o in seen] for name in names}
        clusters = [o.item.pair for o in seen]
        found["agreement"] = measure_agreement(votes, clusters, draws=draws, seed=seed)
    return found
