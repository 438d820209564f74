"""The text side of a model in this process: its tokenizer, its context, its rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import transformers

from trace import config
from trace.errors import ConfigError
from trace.models.hf.answers import Row, row_of
from trace.models.hf.load import Source, model_errors
from trace.models.unicode import whole_characters
from trace.records import Json, Request, digest


class TextSide:
    """What is known of a model before its weights are loaded."""

    def __init__(self, settings: config.Model) -> None:
        self.settings = settings
        self.source = Source(settings)

    def identity(self) -> dict[str, Json]:
        """What tells the weights and the reading of their output from others."""
        given = self.settings.chat_template
        return {
            **self.source.identity(),
            "context": self.settings.context,
            "reasoning": self.settings.reasoning,
            **({} if given is None else {"chat_template": digest(given)}),
        }

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer with the chat template."""
        with model_errors(self.settings):
            made = transformers.AutoTokenizer.from_pretrained(self.source.folder)
        if self.settings.chat_template is not None:
            made.chat_template = self.settings.chat_template
        return made

    @cached_property
    def config(self) -> Any:
        """What transformers knows of the text model without its weights."""
        with model_errors(self.settings):
            whole = transformers.AutoConfig.from_pretrained(self.source.folder)
        return whole.get_text_config()

    @cached_property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together.

        Raises:
            ConfigError: neither the model nor the configuration tells it.
        """
        own = getattr(self.config, "max_position_embeddings", None)
        sizes = [size for size in (own, self.settings.context) if size]
        if not sizes:
            raise ConfigError("model.context: this model does not tell it. Give model.context=…")
        return min(sizes)

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has, without any template."""
        whole = whole_characters(text)
        return len(self.tokenizer(whole, add_special_tokens=False)["input_ids"])

    def rows(self, requests: Sequence[Request], keys: Sequence[str]) -> list[Row]:
        """The requests as tokens, in their order.

        Raises:
            ConfigError: the chat template cannot render one, or labels cannot be told apart.
        """
        return [
            row_of(self.tokenizer, request, key, self.context, self.settings.reasoning)
            for request, key in zip(requests, keys, strict=True)
        ]
