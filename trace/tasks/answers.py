"""Requests put to a model from within a task: logged, resumed, and with progress shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

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
    *,
    title: str | None = None,
) -> tuple[list[Completion], bool]:
    """The completions in the order of the requests; and whether any was made now.

    Args:
        model: asked for what its log lacks.
        name: names the log.
        requests: all of them.
        output_dir: holds the log.
        unscored: whether a completion counts as unscored in the progress.
        title: names the progress; `name` does without one.
    """
    folder = log_folder(output_dir, name)
    with CompletionLog(folder) as log, progress(len(requests), title or name) as meter:

        def advance(completion: Completion) -> None:
            meter.advance(unscored=int(unscored(completion)))

        made = complete(model, requests, log, advance), log.appended
    used = model.usage
    if used and used["attempts"]:
        read, written = used["prompt_tokens"], used["completion_tokens"]
        tokens = f", {read:,} tokens read, {written:,} written" if read or written else ""
        paid = "" if used["usd"] is None else f", {used['usd']:.4f} USD"
        Console(highlight=False).print(
            f"{name}: {used['attempts']:,} requests sent, {used['answers']:,} answered"
            f"{tokens}{paid}",
            markup=False,
            soft_wrap=True,
        )
    return made
