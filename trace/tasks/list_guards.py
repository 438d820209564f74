"""The guards among the listed models: what each can judge, and what is known of its prompt."""

from __future__ import annotations

from collections.abc import Mapping

from trace.judging.guards.base import Target
from trace.judging.guards.cloud import CloudGuard
from trace.judging.guards.registry import guard_of
from trace.report.grid import Grid
from trace.tasks.verification import recalled

TARGETS: tuple[Target, ...] = ("prompt", "reasoning", "response", "trajectory")
HEADER = ["Guard", "Pro-\nmpt", "Rea-\nson", "Re-\nply", "Tra-\nject", "Codes", "Own\npolicy",
          "Says\nwhy", "Third\nlabel", "Veri-\nfied"]  # fmt: skip


def guards_grid(families: Mapping[str, str]) -> Grid:
    """A row a guard.

    Args:
        families: name of the guard's file -> family.

    Raises:
        ConfigError: a file names a family that does not exist.
    """
    grid = Grid(title="Guards (protocol=binary)", header=HEADER)
    grid.notes[""] = (
        "What it judges: n native, a adapted, – not. Codes: its own categories. Verified: its "
        "whole prompt was found to be what its own tokenizer makes; docs/guards.md says what is "
        "whose."
    )
    for name, family in families.items():
        guard, checked = guard_of(family), recalled(name)
        fits = (guard.targets.get(target) for target in TARGETS)
        served = isinstance(guard, CloudGuard)  # there is no prompt that could be compared
        verified = "yes" if checked.verified else "no"
        third = tuple((guard.third_label or "–").split())
        grid.rows.append(
            [
                (name,),
                *((fit[0] if fit else "–",) for fit in fits),
                (str(len(guard.categories) or "–"),),
                ("yes" if guard.custom_policy else "–",),
                ("yes" if guard.explains else "–",),
                third,
                ("–" if served else verified + grid.mark(checked.reason),),
            ]
        )
    return grid
