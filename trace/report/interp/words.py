"""How numbers and names of probes and steering are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trace.report.entry import Metric
from trace.report.grid import Grid, one_line, percent

SIGNIFICANT = 0.05
"""A p, or one adjusted within its family, is a finding up to here."""

_POSITIONS = {
    "prompt_end": "the last token of the prompt",
    "response_last": "the last token of the answer",
    "response_end": "the token that ends the answer",
    "response_mean": "all tokens of the answer (their mean)",
}


def position(name: str | None) -> str:
    """Where in the text the stream was read."""
    return _POSITIONS.get(name or "", name or "a position that is not known")


def listed(labels: Iterable[Any]) -> str:
    """The labels of a class on one line."""
    return one_line(", ".join(map(str, labels)))


def dose(alpha: float) -> str:
    """A strength with its sign."""
    return f"{alpha:+g}".replace("-", "−") if alpha else "0"


def doses(alphas: Iterable[float]) -> str:
    """Strengths in order: α = −3, +3."""
    return "α = " + ", ".join(map(dose, sorted(set(alphas))))


def figure(value: float | None) -> str:
    """A number with three significant digits; an en dash where there is none."""
    return "–" if value is None else f"{value:.3g}".replace("-", "−")


def cells(grid: Grid, found: Metric, *, signed: bool = False) -> list[tuple[str, ...]]:
    """The cells of a fraction and its interval, in percent; the reason where there is none.

    Args:
        grid: is given the notes.
        found: `value`, `low`, `high`; `n` where few are to be marked, `reason` without a value.
        signed: writes a plus too.
    """
    if found["value"] is None:
        return [("–" + grid.mark(found.get("reason") or "not defined"),), ("",)]
    shown = grid.value(found, signed=signed) if "n" in found else percent(found["value"])
    if found["low"] is None:
        why = found.get("reason")
        return [(shown + (grid.mark(f"no interval: {why}") if why else ""),), ("",)]
    ends = (percent(found[end], signed=signed) for end in ("low", "high"))
    return [(shown,), ("(" + (" to " if signed else "–").join(ends) + ")",)]


def spelled(found: Mapping[str, Any]) -> str:
    """A fraction that is known, and its interval, in a sentence."""
    text = f"{percent(found['value'])}%"
    if found["low"] is None:
        return text
    return f"{text} (95% interval {percent(found['low'])}% to {percent(found['high'])}%)"


def scope(result: Mapping[str, Any]) -> list[str]:
    """That a result is illustrative, and why; nothing where it is not."""
    why = result["breakdowns"].get("scope")
    return [f"Illustrative only: {one_line(str(why))}."] if why else []
