"""What the models of a run were asked, put together again and found by the keys of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trace import config
from trace.benchmarks.answerable import answerable
from trace.benchmarks.load import load
from trace.errors import TraceError
from trace.models.open import open_model
from trace.models.unopened import Unopened
from trace.records import Json, Request
from trace.tasks.ask import Interview
from trace.tasks.judged_studies import study_of
from trace.tasks.recorded import Recorded, read_recorded


def asked(path: Path, output_dir: str) -> tuple[dict[str, Request], str | None]:
    """Requests by the key of their completion, and why there are none.

    A key is a hash of the whole request, so what is found is what was asked, word for word. No
    weights are loaded.

    Args:
        path: the run directory.
        output_dir: of the command that reads.
    """
    try:
        recorded = read_recorded(path, output_dir)
        return _requests(recorded), None
    except TraceError as error:
        return {}, str(error).removeprefix("probe.run: ").removeprefix(f"{path}: ")


def _requests(recorded: Recorded) -> dict[str, Request]:
    settings = recorded.settings
    if settings.benchmark.asks_respondent:
        found = study_of(recorded).requests()
        return {request.key(recorded.answered): request for request in found}
    if settings.judges is None:
        return _of_judge(recorded, settings.model, recorded.answered)
    requests: dict[str, Request] = {}
    for name, judge in settings.judges.models.items():
        if not isinstance(judge, config.RuleModel):
            requests |= _of_judge(recorded, judge, recorded.answered[name])
    return requests


def _of_judge(
    recorded: Recorded, judge: config.Model, identity: Mapping[str, Json]
) -> dict[str, Request]:
    """All that one judge can have been asked."""
    settings = recorded.settings
    dataset = load(
        settings.benchmark,
        condition=settings.condition,
        limit=settings.limit,
        seed=settings.seed,
    )
    dataset = answerable(dataset, settings.protocol.answers)
    counts = settings.condition.tokens is not None  # in tokens of the model itself
    opened = counts or isinstance(judge, config.MockModel)
    model = open_model(judge) if opened else Unopened()
    interview = Interview(settings, dataset, model, judge).under_condition()
    return {request.key(identity): request for request in interview.requests}
