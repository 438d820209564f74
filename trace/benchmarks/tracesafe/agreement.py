"""How far two Check judges agree on which classes suit which calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa

from trace.benchmarks.tracesafe.checking import Checked, Judgement
from trace.records import Json
from trace.report.entry import Metric, entry, from_rate, with_interval
from trace.stats.rates import rate
from trace.stats.resampling import cluster_bootstrap


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
        word = {True: "suitable", False: "unsuitable", None: judgement.status}
        found[class_name][word[judgement.suitable]] += 1
    return {
        name: {"suitable": 0, "unsuitable": 0} | dict(sorted(counts.items()))
        for name, counts in found.items()
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
    pairs = [
        (c.first.suitable, c.second.suitable, c)
        for c in checked
        if c.second is not None and None not in (c.first.suitable, c.second.suitable)
    ]
    cells = np.array([_cell(bool(a), bool(b)) for a, b, _ in pairs], dtype=np.int64).reshape(-1, 4)
    table = cells.sum(axis=0)
    return {
        "share": _share([c for c in checked if c.second is not None]),
        "kappa": _kappa(
            cells, [c.place.base.cluster for *_, c in pairs], len(checked), seed, draws
        ),
        "classes": {
            name: _share([c for c in checked if c.class_name == name])
            for name in dict.fromkeys(c.class_name for c in checked)
        },
        "table": dict(zip(("both", "first", "second", "neither"), map(int, table), strict=True)),
    }


def _cell(first: bool, second: bool) -> list[int]:
    return [int((first, second) == pair) for pair in
            ((True, True), (True, False), (False, True), (False, False))]  # fmt: skip


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


def _kappa(
    cells: NDArray[np.int64], clusters: Sequence[str], asked: int, seed: int, draws: int
) -> Metric:
    n, unscored = len(cells), asked - len(cells)
    both, first, second, neither = map(int, cells.sum(axis=0))
    if n in (0, both, neither):  # 0/0
        reason = f"both judges always said {'suitable' if both else 'unsuitable'}"
        return entry(
            None, n=n, n_unscored=unscored, reason=reason if n else "no call has two verdicts"
        )
    with np.errstate(divide="ignore", invalid="ignore"):  # of a test that is not asked for
        value = float(cohens_kappa([[both, first], [second, neither]]).kappa)
    interval = cluster_bootstrap(
        cells, clusters, _kappas, draws=draws, rng=np.random.default_rng(seed)
    )
    return with_interval(entry(value, n=n, n_unscored=unscored) | {"unit": "kappa"}, interval)


def _kappas(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    both, first, second, neither = (sums / sums.sum(axis=1, keepdims=True)).T
    chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    value: NDArray[np.float64] = (both + neither - chance) / (1 - chance)
    return value
