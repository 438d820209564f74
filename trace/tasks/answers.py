"""Requests put to a model from within a task: logged, resumed, and with progress shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trace.models.base import Model
from trace.models.complete import complete
from trace.models.log import CompletionLog, log_folder
from trace.records import Completion, Request
from trace.tracking.progress import progress


def answers(
    model: Model,
    name: str,
    requests: Sequence[Request],
    output_dir: str | Path,
    unscored: Callable[[Completion], bool] = lambda completion: completion.finish == "error",
) -> tuple[list[Completion], bool]:
    """The completions in the order of the requests; and whether any was made now.

    Args:
        model: asked for what its log lacks.
        name: names the log and the progress.
        requests: all of them.
        output_dir: holds the log.
        unscored: whether a completion counts as unscored in the progress.
    """
    with CompletionLog(log_folder(output_dir, name)) as log, progress(len(requests), name) as meter:

        def advance(completion: Completion) -> None:
            meter.advance(unscored=int(unscored(completion)))

        return complete(model, requests, log, advance), log.appended
