"""The tasks: short scripts that wire the rooms together."""

from __future__ import annotations

import importlib

from trace.config import Root


def carry_out(settings: Root, *, group: str | None) -> None:
    """Carries out the task that the configuration names: `trace.tasks.<name>.run`.

    In a dry run its `plan` is printed instead.

    Args:
        settings: the configuration of the job.
        group: what the jobs of one multirun share; None outside one.
    """
    task = importlib.import_module(f"trace.tasks.{settings.task.name}")
    if settings.dry_run:
        print("\n".join(task.plan(settings).lines()))
    else:
        task.run(settings, group=group)
