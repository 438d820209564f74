"""Questions of RAG-Safety-Bench in the context of the model that is to answer them."""

from __future__ import annotations

from trace import config
from trace.benchmarks.rag_safety import samples
from trace.benchmarks.rag_safety.samples import RagDataset
from trace.errors import ConfigError
from trace.models.base import Model

TEMPLATE = 256
"""Tokens kept free for the chat template, which an engine adds to a message: those of the models
in conf/model take fewer. A message that is too long all the same is said to be by the engine."""


def fitted(dataset: RagDataset, model: Model, settings: config.Root) -> RagDataset:
    """The questions in messages that leave room for an answer.

    They are as they stand where no context is known.

    Raises:
        ConfigError: there is no room for any question.
    """
    tokens, condition = room(model, settings), settings.condition
    assert isinstance(condition, config.RagCondition)
    if tokens is None:
        return dataset
    return samples.fit(
        dataset,
        tokens=tokens,
        tokens_of=model.count_tokens,
        overflow=condition.overflow,  # type: ignore[arg-type]  # the configuration has checked it
    )


def room(model: Model, settings: config.Root) -> int | None:
    """The tokens that a message may take; None if no context is known.

    The template's share is not counted but set: see `TEMPLATE`.

    Raises:
        ConfigError: there are none.
    """
    if (context := model.context) is None:
        return None
    tokens = context - settings.sampling.max_new_tokens - TEMPLATE
    if tokens < 1:
        raise ConfigError(
            f"sampling.max_new_tokens: {settings.sampling.max_new_tokens} for an answer and "
            f"{TEMPLATE} for the chat template leave no room for a question in the {context} "
            f"tokens of {settings.model.name}. Use fewer, or a model with a longer context."
        )
    return tokens
