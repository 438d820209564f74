"""Requests put to a model from within a task: logged, resumed, and with progress shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from trace import config
from trace.models.base import Model
from trace.models.complete import complete
from trace.models.log import CompletionLog, log_folder
from trace.records import Completion, Json, Request
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
    if model.usage.get("attempts"):
        said = f"{name}: {used_in_words(model.usage)}"
        Console(highlight=False).print(said, markup=False, soft_wrap=True)
    return made


def used_in_words(used: Mapping[str, Json]) -> str:
    """What a paid service counted (`models.hosted.budget.Usage`), as one line."""
    said = f"{used['attempts']:,} requests sent, {used['answers']:,} answered"
    if used["uncounted"]:
        said += f" ({used['uncounted']:,} without a count of tokens)"
    if used["prompt_tokens"] or used["completion_tokens"]:
        said += f", {used['prompt_tokens']:,} tokens read, {used['completion_tokens']:,} written"
    if used["usd"] is not None:
        said += f", {used['usd']:.4f} USD"
    if used["usd_doubtful"]:
        said += f", and up to {used['usd_doubtful']:.4f} USD for attempts that broke off"
    return said


def addressed(requests: Sequence[Request], of: config.Model, *, before: int = 0) -> list[Request]:
    """The requests with the template arguments of a model; those to a mock numbered.

    Args:
        requests: what is asked now.
        of: the model's configuration.
        before: how many it was asked earlier: a mock deals its replies through all rounds.
    """
    mock = isinstance(of, config.MockModel)
    return [
        replace(
            request,
            template_args=dict(of.template_args or {}),
            reply=before + place if mock else None,
        )
        for place, request in enumerate(requests)
    ]
