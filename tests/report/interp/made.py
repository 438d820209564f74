"""Results of probes and of steering, made up: the numbers follow from a few that a test chooses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LABELS = {"positive": ["asks_back"], "negative": ["answers"]}


def estimate(value: float | None, half: float = 0.06) -> dict[str, Any]:
    """A fraction between its ends."""
    if value is None:
        return {"value": None, "low": None, "high": None, "reason": "one class only"}
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def layer(
    number: int, value: float | None, *, shuffled: bool = True, control: bool = False
) -> dict[str, Any]:
    """A layer with this balanced accuracy; of a control model less is known."""
    known = value is not None
    null = {"mean": 0.501, "q95": 0.587, "q99": 0.612, "max": 0.633}
    own = {
        "seeds": {"low": value - 0.02, "high": value + 0.02, "mean": value} if known else None,
        "cosine_difference": 0.412 if known else None,
    }
    return ({} if control else own) | {
        "layer": number,
        "balanced_accuracy": estimate(value),
        "auc": estimate(None if value is None else min(1.0, value + 0.05)),
        "p": 0.00497512437811 if shuffled and known else None,
        "null": null if shuffled and known else None,
        "selectivity": value - 0.5 if known else None,
        "strength": [1e-3, 1e-3, 1e-2, 1e-3, 1e-4] if known else [],
    }


def curve(numbers: Sequence[int], top: float, **given: Any) -> list[dict[str, Any]]:
    """Layers that rise from chance to `top` half-way."""
    last = max(numbers)
    rise = [1 / (1 + math.exp(-12 * ((i / last if last else 1) - 0.35))) for i in numbers]
    return [layer(i, 0.52 + (top - 0.52) * r, **given) for i, r in zip(numbers, rise, strict=True)]


def probe_result(
    numbers: Sequence[int] = tuple(range(0, 80, 4)),
    *,
    top: float = 0.87,
    p: float | None = 0.00497512437811,
    shuffles: int = 200,
    control: str | None = "llama_3_2_1b",
    baselines: bool = True,
    labels: dict[str, list[str]] = LABELS,
    scope: str | None = None,
    position: str = "response_last",
) -> dict[str, Any]:
    """What task=probe writes."""
    layers = curve(numbers, top, shuffled=bool(shuffles))
    best = max(layers, key=lambda row: row["balanced_accuracy"]["value"])
    common = {
        "n": 100, "n_unscored": 0, "interval": "bootstrap-cluster", "unit": "balanced accuracy",
        "higher_is_better": True, "layer": best["layer"], "p": p if shuffles else None,
    }  # fmt: skip
    gap = {"value": 0.146, "low": 0.021, "high": 0.27}
    first = layers[len(layers) // 2]["layer"]
    return {
        "metrics": {"peak": best["balanced_accuracy"] | common, "peak_auc": best["auc"] | common},
        "breakdowns": {
            "classes": {
                "positive": {"labels": labels["positive"], "n": 42},
                "negative": {"labels": labels["negative"], "n": 58},
                "groups": 60,
                "position": position,
                "d": 8192,
            },
            "layers": layers,
            "baselines": [
                {"name": name, "balanced_accuracy": estimate(value), "auc": estimate(value)}
                for name, value in (("bag of words", 0.72), ("length", 0.61), ("last token", 0.66))
            ]
            if baselines
            else [],
            "control": {
                "model": control,
                "layers": curve([0, 4, 8, 12, 15], 0.72, shuffled=bool(shuffles), control=True),
                "dimension": 2048,
                "gap": gap,
                "mcnemar": {"b": 21, "c": 6, "p": 0.0059},
            }
            if control
            else None,
            "shuffles": {
                "count": shuffles,
                "floor": 1 / (shuffles + 1),
                "peak_p": p if shuffles else None,
                "first_layer": first if shuffles else None,
                "plateau": {"from": first, "low": 0.803, "high": 0.869} if shuffles else None,
                "reason": None if shuffles else "no shuffles were asked for (probe.permutations=0)",
            },
            "scope": scope,
        },
    }


def dose(
    direction: str,
    alpha: float,
    positives: int | None,
    *,
    n: int = 50,
    adjusted: float | None = 0.4,
    incoherent: int = 0,
    perplexity: float | None = 12.5,
) -> dict[str, Any]:
    """A direction at a strength; without `positives` no answer has a label."""
    value = None if positives is None else positives / n
    test = {"p": adjusted, "adjusted": adjusted}
    return {
        "direction": direction,
        "alpha": alpha,
        "ratio": abs(alpha) * 0.135,
        "n": 0 if positives is None else n,
        "n_unscored": n if positives is None else 2,
        "positives": positives or 0,
        "share": estimate(value, 0.12),
        "fisher": None if adjusted is None else dict(test),
        "mcnemar": None if adjusted is None else {"b": 3, "c": 9, **test},
        "coherence": {
            "repetition": 0.08 + abs(alpha) / 20,
            "words": 81.4,
            "perplexity": perplexity,
        },
        "incoherent": incoherent,
    }


def steer_result(
    doses: Sequence[dict[str, Any]],
    *,
    up: float | None = None,
    down: float | None = None,
    labels: dict[str, list[str]] = LABELS,
    scope: str | None = None,
) -> dict[str, Any]:
    """What task=steer writes."""
    return {
        "metrics": {},
        "breakdowns": {
            "vector": {
                "direction": "difference",
                "layer": 40,
                "position": "response_last",
                "norm": 3.214,
                "median_norm": 23.81,
                "unit": "raw",
                "tokens": "all",
                "classes": {side: {"labels": labels[side], "n": 30} for side in labels},
                "made_from": {"positive": 21, "negative": 29},
                "separation": 10.33,
                "cosine_probe": 0.412,
                "outcome": labels["positive"][0],
            },
            "doses": list(doses),
            "smallest": {
                "up": up,
                "down": down,
                "reason": None,
            },
            "scope": scope,
        },
    }


def grid_of(alphas: Sequence[float], **given: Any) -> list[dict[str, Any]]:
    """Both directions at these strengths; the vector acts, and breaks the text far out."""
    found = []
    for alpha in alphas:
        acts = round(50 / (1 + math.exp(-alpha / 1.5)))
        found.append(
            dose(
                "difference",
                alpha,
                acts,
                adjusted=None if alpha == 0 else 0.01 if abs(alpha) >= 3 else 0.3,
                incoherent=40 if abs(alpha) >= 6 else 0,
                perplexity=12.5 * math.exp(abs(alpha) / 2),
                **given,
            )
        )
        found.append(dose("random", alpha, 24, adjusted=None if alpha == 0 else 0.9, **given))
    return found
