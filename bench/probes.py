"""Probes of every layer for every shuffle, against scikit-learn one fit at a time, in one run."""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
import warnings

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trace import config
from trace.interp.probes.fitting import NewtonFit
from trace.interp.probes.folds import split
from trace.interp.probes.shuffles import labelings
from trace.interp.probes.solver import solve

N, WIDTH, LAYERS, FOLDS, SHUFFLES = 100, 8192, 20, 5, 200
STRENGTH = 1e-3
SHARE = 0.01
PEAK_GB = 1.0


def main() -> None:
    """All fits by our solver; a random 1% of them by scikit-learn, on one thread and on all."""
    rng = np.random.default_rng(0)
    y = np.arange(N) < 42
    x = torch.from_numpy(rng.standard_normal((N, LAYERS, WIDTH), dtype=np.float32))
    folds = split(y, list(range(N)), folds=FOLDS, inner_folds=2, seed=0)
    flags = labelings(y, list(range(N)), SHUFFLES, seed=0)
    fits = LAYERS * FOLDS * len(flags)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = solve(
            x,
            torch.from_numpy(flags),
            [folds],
            strengths=[STRENGTH],
            fit=NewtonFit(memory_gib=0.5),
            trainer=config.Trainer(),
            output_dir=folder,
        )
        ours = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{fits:,} probes: {ours:.1f} s, peak {peak:.2f} GB", flush=True)
    chosen = rng.choice(fits, round(SHARE * fits), replace=False)
    theirs: dict[str, list[float]] = {"one thread": [], "default threads": []}
    apart = 0.0
    for number in chosen:
        layer, rest = divmod(int(number), FOLDS * len(flags))
        at, labeling = divmod(rest, len(flags))
        fold = folds[at]
        scaled = StandardScaler().fit(x[fold.train, layer].double().numpy())
        rows = scaled.transform(x[:, layer].double().numpy())
        model = LogisticRegression(C=STRENGTH, class_weight="balanced", tol=1e-8, max_iter=10_000)
        for name, limit in (("one thread", 1), ("default threads", None)):
            with threadpool_limits(limit), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                began = time.perf_counter()
                model.fit(rows[fold.train], flags[labeling][fold.train])
                theirs[name].append(time.perf_counter() - began)
        decisions = model.decision_function(rows[fold.test])
        mine = found.decisions[0, layer, labeling, torch.from_numpy(fold.test)].numpy()
        apart = max(apart, float(np.abs(decisions - mine).max()))
    print(f"decisions differ by {apart:.1e} at most")
    for name, seconds in theirs.items():
        whole = statistics.fmean(seconds) * fits
        print(
            f"scikit-learn, {name}: {whole:,.0f} s by {len(seconds)} fits, ratio {whole / ours:.0f}"
        )
    if peak > PEAK_GB:
        raise SystemExit(f"peak memory {peak:.2f} GB is above {PEAK_GB} GB")


if __name__ == "__main__":
    main()
