"""Answers under pushes: planned, made by Lightning's trainer, logged, resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trace import config
from trace.errors import ConfigError
from trace.interp.activations.trainer import silent_trainer
from trace.interp.predicting import predict
from trace.interp.steering.answerer import Answerer, LogWriter
from trace.interp.steering.direction import Direction
from trace.models.hf.answers import NOT_FINITE
from trace.models.hf.engine import HfModel
from trace.models.log import CompletionLog, log_folder
from trace.records import Completion, Request


def steered(
    model: config.Model,
    requests: Sequence[Request],
    directions: Sequence[Direction],
    *,
    trainer: config.Trainer,
    output_dir: str | Path,
) -> tuple[list[Completion], bool]:
    """The completions of `requests` in their order, and whether any was made now.

    All alphas of a prompt are decoded together, and the plan is made from all requests. What is
    logged in `output_dir` is not made again; if all is, no weights are loaded. A request that the
    model could not answer (its scores are no finite numbers) has a completion with finish
    `error`, which is not logged.

    Args:
        model: what answers.
        requests: each with its `push`, whose `vector` is the `sha256` of one of `directions`.
        directions: the vectors.
        trainer: where the model runs.
        output_dir: of the run.

    Raises:
        ConfigError: the engine is not transformers, or the model cannot be pushed there.
        ValueError: a request is not pushed, is to be scored, or names no vector of `directions`
            or another layer than its own.
    """
    if not isinstance(model.engine, config.HfEngine):
        raise ConfigError(
            f"model/engine: {model.engine.name} cannot be steered. Use model/engine=hf."
        )
    _check(requests, directions)
    side = HfModel(model)  # and not open_model, which would put a warm model away
    keys = [request.key(side.identity) for request in requests]
    folder = log_folder(output_dir, model.name)
    done = CompletionLog(folder).read(keys)
    missing = len(set(keys) - done.keys())
    if missing:
        too_long, plans = side.plans(list(dict(zip(keys, requests, strict=True)).values()))
        with CompletionLog(folder) as log:
            log.append([one for one in too_long if one.key not in done])
        work = [(plan, group) for plan in plans for group in plan.undone(done)]
        if work:
            writer = LogWriter(folder, f"{model.name}: steered answers")
            predict(silent_trainer(trainer, [writer]), Answerer(model, work, directions))
        done = CompletionLog(folder).read(keys)
    failed = {key: Completion(key=key, finish="error", error=NOT_FINITE) for key in keys}
    return [done.get(key, failed[key]) for key in keys], bool(missing)


def _check(requests: Sequence[Request], directions: Sequence[Direction]) -> None:
    layers = {direction.sha256: direction.layer for direction in directions}
    for request in requests:
        push = request.push
        if push is None or request.labels:
            raise ValueError("only requests with a push and without labels can be steered")
        if layers.get(push.vector) != push.layer:
            raise ValueError(f"no vector {push.vector} for layer {push.layer} was given")
