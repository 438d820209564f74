"""How far two Check judges agree on which classes suit which calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from trace.benchmarks.tracesafe.checking import Checked, Judgement
from trace.records import Json
from trace.report.entry import Metric, from_estimate, from_rate, with_interval
from trace.stats.agreement import Votes, agreement_interval
from trace.stats.agreement import agreement as coefficient
from trace.stats.rates import rate

_YES, _NO = "suitable", "unsuitable"


def summary(checked: Sequence[Checked], *, seed: int, draws: int = 2000) -> dict[str, Json]:
    """What the judges said, counted, and their agreement if there are two.

    Returns:
        `check` and `second_check`: class -> suitable, unsuitable, and how many replies have no
        verdict by their status; and what `agreement` returns, as `agreement`.
    """
    found: dict[str, Json] = {"check": _counts((c.class_name, c.first) for c in checked)}
    seconds = [(c.class_name, c.second) for c in checked if c.second is not None]
    if seconds:
        found["second_check"] = _counts(seconds)
        found["agreement"] = agreement(checked, seed=seed, draws=draws)
    return found


def _counts(said: Iterable[tuple[str, Judgement]]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for class_name, judgement in said:
        found[class_name][_word(judgement) or judgement.status] += 1
    return {
        name: {_YES: 0, _NO: 0} | dict(sorted(counts.items())) for name, counts in found.items()
    }


def agreement(checked: Sequence[Checked], *, seed: int, draws: int = 2000) -> dict[str, Json]:
    """The agreement of two judges on the calls that both gave a verdict on.

    Args:
        checked: calls that both were asked about. A reply without a verdict is no disagreement.
        seed: of the resampling.
        draws: how many resamples.

    Returns:
        `share` of equal verdicts with its Wilson interval; `kappa` (Cohen 1960) with an interval
        resampled by source cluster; `classes`: class -> its share; and `table`: how often both,
        only the first, only the second, and neither found the class suitable.
    """
    both = [c for c in checked if c.second is not None]
    votes = [(_word(c.first), _word(c.second)) for c in both]
    table = Counter(votes)
    return {
        "share": _share(both),
        "kappa": _kappa(votes, [c.place.base.cluster for c in both], seed, draws),
        "classes": {
            name: _share([c for c in checked if c.class_name == name])
            for name in dict.fromkeys(c.class_name for c in checked)
        },
        "table": {
            "both": table[_YES, _YES],
            "first": table[_YES, _NO],
            "second": table[_NO, _YES],
            "neither": table[_NO, _NO],
        },
    }


def _word(judgement: Judgement | None) -> str | None:
    if judgement is None or judgement.suitable is None:
        return None
    return _YES if judgement.suitable else _NO


def _share(checked: Sequence[Checked]) -> Metric:
    counts = Counter(
        None
        if c.second is None or None in (c.first.suitable, c.second.suitable)
        else c.first.suitable == c.second.suitable
        for c in checked
    )
    return from_rate(
        rate(counts[True], counts[False], counts[None], unscored_as="exclude", of="calls")
    )


def _kappa(votes: Votes, clusters: Sequence[str], seed: int, draws: int) -> Metric:
    found = coefficient("cohen", votes)
    metric = from_estimate(found, total=len(votes))
    if found.value is None:
        said = next((row[0] for row in votes if None not in row), None)
        return metric | {
            "reason": f"both judges always said {said}" if said else "no call has two verdicts"
        }
    rng = np.random.default_rng(seed)
    interval = agreement_interval("cohen", votes, clusters, draws=draws, rng=rng)
    return with_interval(metric | {"unit": "kappa"}, interval)
