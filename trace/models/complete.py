"""From requests to completions: what the log has is read, the rest is made and logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from trace.models.base import Model
from trace.models.log import CompletionLog
from trace.records import Completion, Request


def complete(
    model: Model,
    requests: Sequence[Request],
    log: CompletionLog,
    progress: Callable[[Completion], None],
) -> list[Completion]:
    """The completions of `requests`, in their order.

    Requests with the same key are asked once. Every finished batch is logged before `progress`
    hears of it, so an interruption loses no more than the batch that was being made. Errors are
    returned and not logged: the same command asks them again.

    Args:
        model: It is asked only if something is missing in the log.
        requests: All requests of the run.
        log: The model's log.
        progress: Called once for every request, with its completion; those from the log first.

    Raises:
        RuntimeError: the model left a request unanswered.
    """
    identity = model.identity
    keys = [request.key(identity) for request in requests]
    times = Counter(keys)
    done = log.read(times)
    answers = dict(done)

    def tell(completion: Completion) -> None:
        for _ in range(times[completion.key]):
            progress(completion)

    for completion in done.values():
        tell(completion)
    if len(done) < len(times):
        unique: dict[str, Request] = {}
        for key, request in zip(keys, requests, strict=True):
            unique.setdefault(key, request)
        for batch in model.generate(list(unique.values()), done):
            made = [c for c in batch if c.key not in done]
            log.append([c for c in made if c.finish != "error"])
            for completion in made:
                answers[completion.key] = completion
                tell(completion)
    if missing := times.keys() - answers.keys():
        raise RuntimeError(f"{type(model).__name__} left {len(missing)} requests unanswered")
    return [answers[key] for key in keys]
