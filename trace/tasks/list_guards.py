"""The guards among the listed models: what each can judge, and what is known of its prompt."""

from __future__ import annotations

from collections.abc import Iterable

from trace import config
from trace.judging.guards.base import Target
from trace.judging.guards.registry import guard_of
from trace.report.grid import Grid
from trace.tasks.verification import recalled

TARGETS: tuple[Target, ...] = ("prompt", "reasoning", "response", "trajectory")
HEADER = ["Guard", "Pro-\nmpt", "Rea-\nson", "Re-\nply", "Tra-\nject", "Codes", "Own\npolicy",
          "Says\nwhy", "Third\nlabel", "Veri-\nfied"]  # fmt: skip


def guards_grid(models: Iterable[config.Model]) -> Grid:
    """A row a guard.

    Raises:
        ConfigError: a file names a family that does not exist.
    """
    grid = Grid(title="Guards (protocol=binary)", header=HEADER)
    grid.notes[""] = (
        "What it judges: n native, a adapted, – not. Codes: its own categories. Verified: its "
        "prompt was found to be what its own tokenizer makes; docs/guards.md says what is whose."
    )
    for model in models:
        guard, checked = guard_of(model.guard or ""), recalled(model.name)
        fits = (guard.targets.get(target) for target in TARGETS)
        third = tuple((guard.third_label or "–").split())
        grid.rows.append(
            [
                (model.name,),
                *((fit[0] if fit else "–",) for fit in fits),
                (str(len(guard.categories) or "–"),),
                ("yes" if guard.custom_policy else "–",),
                ("yes" if guard.explains else "–",),
                third,
                (("yes" if checked.verified else "no") + grid.mark(checked.reason),),
            ]
        )
    return grid
