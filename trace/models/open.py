"""From a model's configuration to the model."""

from __future__ import annotations

from functools import singledispatch

from trace import config
from trace.models.base import Model
from trace.records import canonical

_open: dict[str, Model] = {}


def open_model(settings: config.Model) -> Model:
    """The model of a configuration; the last one opened is kept for the next job.

    Weights are loaded when the first request is really made, so a run whose completions are all
    in the log loads none.
    """
    key = canonical(config.plain(settings))
    if key not in _open:
        for last in _open.values():
            if hasattr(last, "close"):  # vLLM keeps its memory until it is told
                last.close()
        _open.clear()  # frees the memory of the last model before the next is loaded
        _open[key] = make(settings.engine, settings)
    return _open[key]


@singledispatch
def make(engine: config.Engine, settings: config.Model) -> Model:
    """Builds the model; the type of its engine's configuration picks the code."""
    raise TypeError(f"no engine for {type(engine).__name__}")


@make.register
def _(engine: config.HfEngine, settings: config.Model) -> Model:
    from trace.models.hf.engine import HfModel

    return HfModel(settings)


@make.register
def _(engine: config.MockEngine, settings: config.Model) -> Model:
    from trace.models.mock import MockModel

    assert isinstance(settings, config.MockModel)
    return MockModel(settings)


@make.register
def _(engine: config.OpenAIEngine, settings: config.Model) -> Model:
    from trace.models.hosted.engine import OpenAIModel

    assert isinstance(settings, config.HostedModel)
    return OpenAIModel(settings)


@make.register
def _(engine: config.CloudEngine, settings: config.Model) -> Model:
    from trace.models.cloud.engine import CloudModel
    from trace.models.cloud.providers import service_of

    return CloudModel(settings, service_of(settings))


@make.register
def _(engine: config.VllmEngine, settings: config.Model) -> Model:
    from trace.models.vllm.engine import VllmModel

    return VllmModel(settings)
