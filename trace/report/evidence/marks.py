"""A colour and a shape for each guard, which stay apart in print and for the colour-blind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trace.report.canvas import INK

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
"""Those of Okabe and Ito (2008), without yellow, which is too pale for a point on white."""
_SHAPES = ("o", "^", "s", "D", "v", "P")
"""Six, so that with seven colours 42 pairs differ, and neighbours in both."""


def marks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Name -> how matplotlib draws its point."""
    return {
        name: {
            "color": _COLOURS[i % len(_COLOURS)],
            "marker": _SHAPES[i % len(_SHAPES)],
            "markeredgecolor": INK,
            "markeredgewidth": 0.4,
            "linestyle": "",
        }
        for i, name in enumerate(names)
    }


def key_below(figure: Figure, drawn: dict[str, dict[str, Any]], *, across: int = 4) -> None:
    """What each mark stands for, under the panels."""
    handles = [Line2D([], [], markersize=5, label=name, **style) for name, style in drawn.items()]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=across, fontsize=7, frameon=False,
        handletextpad=0.2, columnspacing=1.0,
    )  # fmt: skip
