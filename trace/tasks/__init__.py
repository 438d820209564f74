"""The tasks: short scripts that wire the rooms together."""

from __future__ import annotations

import importlib

from trace.config import Root


def carry_out(settings: Root, *, group: str | None) -> None:
    """Carries out the task that the configuration names: `trace.tasks.<name>.run`.

    Args:
        settings: the configuration of the job.
        group: what the jobs of one multirun share; None outside one.
    """
    importlib.import_module(f"trace.tasks.{settings.task.name}").run(settings, group=group)
