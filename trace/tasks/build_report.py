"""What a build prints: its records by class, and what the models that took part said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from trace.benchmarks.tracesafe import card
from trace.benchmarks.tracesafe.build import OwnSet
from trace.report.grid import decimal, percent

_REASONS = 3  # shown a class; the manifest has them all


def about_models(
    checks: Mapping[str, Any] | None, rewordings: Mapping[str, Any] | None
) -> list[str]:
    """What came of the questions to the Check judges and the rewording model."""
    said = []
    for role in ("check", "second_check"):
        if checks is not None and role in checks:
            totals = Counter[str]()
            for counts in checks[role].values():
                totals.update(counts)
            of = ", ".join(f"{n} {word}" for word, n in totals.most_common())
            said.append(f"{role}: of {totals.total()} calls {of}")
    if checks is not None and "agreement" in checks:
        share, kappa = checks["agreement"]["share"], checks["agreement"]["kappa"]
        said.append(
            f"The two judges agree on {_interval(share, percent)}%, Cohen's kappa "
            f"{_interval(kappa, decimal)}"
        )
    if rewordings is not None:
        used = sum(row["used"] for row in rewordings.values())
        asked = sum(row["asked"] for row in rewordings.values())
        why = Counter[str]()
        for row in rewordings.values():
            why.update(row["refused"])
        of = "".join(f"; {n}: {reason}" for reason, n in why.most_common(_REASONS))
        said.append(f"rewordings: {used} of {asked} are used{of}")
    return said


def _interval(metric: Mapping[str, Any], form: Callable[[float], str]) -> str:
    if metric["value"] is None:
        return f"– ({metric['reason']})"
    if metric["low"] is None:
        return form(metric["value"])
    return f"{form(metric['value'])} ({form(metric['low'])} to {form(metric['high'])})"


def table(built: OwnSet) -> Table:
    """How many records each class has, and why calls were turned down."""
    table = Table(
        title="Records, and calls of the base trajectories that were turned down",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for name, justify in (("Class", "left"), ("Records", "right"), ("Suitable", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("Refused because", overflow="fold")
    made = Counter(map(card.class_of, built.records))
    for name, number in made.items():
        reasons = built.refused.get(name, Counter())
        said = [f"{n}: {reason}" for reason, n in reasons.most_common(_REASONS)]
        if (left := sum(reasons.values()) - sum(n for _, n in reasons.most_common(_REASONS))) > 0:
            said.append(f"{left}: other reasons (manifest.json)")
        suitable = str(built.suitable[name]) if name in built.suitable else ""
        table.add_row(Text(name), str(number), suitable, Text("\n".join(said)))
    return table
