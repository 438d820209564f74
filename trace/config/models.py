"""Models and the engines that run them."""

from __future__ import annotations

from typing import Any

from omegaconf import MISSING

from trace.config.base import check, check_choice, config


@config
class Engine:
    """What runs a model. The subclass picks the code."""

    name: str = MISSING


@config
class HfEngine(Engine):
    """transformers, in this process."""

    name: str = "hf"
    dtype: str = "bfloat16"
    device: str = "auto"
    """auto (cuda, then mps, then cpu), or a torch device."""
    attention: str = "auto"
    """auto is the fastest that the model supports."""
    prefill_tokens: int = 2048
    """Tokens of one forward pass over prompts, padding counted. Bounds memory."""
    decode_rows: int = 32
    """Rows decoded together."""

    def __post_init__(self) -> None:
        check_choice("model.engine.dtype", self.dtype, ("bfloat16", "float16", "float32"))
        check_choice(
            "model.engine.attention", self.attention, ("auto", "sdpa", "eager", "flash_attention_2")
        )
        check(
            self.prefill_tokens >= 1,
            "model.engine.prefill_tokens",
            f"{self.prefill_tokens} is below 1",
            "2048 suits a laptop.",
        )
        check(
            self.decode_rows >= 1,
            "model.engine.decode_rows",
            f"{self.decode_rows} is below 1",
            "32 suits a laptop.",
        )


@config
class MockEngine(Engine):
    """No weights: replies from a file, or planted rates."""

    name: str = "mock"


@config
class Model:
    """A model and what is known about it."""

    name: str = MISSING
    """The name of its file in conf/model; stands in paths and tables."""
    id: str | None = None
    """A Hugging Face id, a local folder, or the served name."""
    revision: str | None = None
    asset: str | None = None
    """A pinned package that carries the weights (trace/assets.py); instead of `id`."""
    context: int | None = None
    """Context length in tokens, where the model's own config does not tell the usable one."""
    reasoning: str = "think"
    """How reasoning is marked in the output: think (<think> tags), harmony, or none."""
    template_args: Any = None  # as for MockModel.rates
    """A table of arguments of the chat template, such as enable_thinking."""
    kind: str = "general"
    """general or guard."""
    family: str | None = None
    parameters: float | None = None
    """Number of parameters, in billions."""
    licence: str | None = None
    gated: bool = False
    engine: Engine = MISSING

    def __post_init__(self) -> None:
        check(bool(self.name), "model.name", "is empty", "Give the model a name.")
        check_choice("model.reasoning", self.reasoning, ("think", "harmony", "none"))
        check_choice("model.kind", self.kind, ("general", "guard"))
        check(
            self.context is None or self.context >= 1,
            "model.context",
            f"{self.context} is below 1",
            "Leave it out to use the model's own.",
        )
        check(
            self.template_args is None or isinstance(self.template_args, dict),
            "model.template_args",
            f"{self.template_args!r} is no table",
            "Try 'model.template_args={enable_thinking: false}'.",
        )
        check(
            isinstance(self.engine, MockEngine) == isinstance(self, MockModel),
            "model/engine",
            f"{self.engine.name} does not run this model",
            "The mock is chosen whole: model=mock.",
        )
        if isinstance(self.engine, HfEngine):
            check(
                (self.id is None) != (self.asset is None),
                "model.id",
                "names no weights" if self.id is None else "stands beside model.asset",
                "Give a Hugging Face id or a folder: model.id=org/name.",
            )


@config
class MockModel(Model):
    """Replies from a file, dealt to the samples in order and cycled; or planted rates."""

    replies: str | None = None
    """A JSONL file with one JSON string a line."""
    rates: Any = None  # OmegaConf cannot merge a typed dictionary into one that is not there
    """Gold class -> share of its samples answered rightly; `default` for the others."""
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            bool(self.replies) != bool(self.rates),
            "model.replies",
            "and model.rates are both given" if self.replies else "is not given",
            "Give model.replies=FILE (a JSON string a line) or 'model.rates={default: 0.8}'.",
        )
        check(
            self.rates is None or isinstance(self.rates, dict),
            "model.rates",
            f"{self.rates!r} is no table of rates",
            "Try 'model.rates={default: 0.8}'.",
        )
        for name, rate in (self.rates or {}).items():
            check(
                isinstance(rate, int | float) and 0 <= rate <= 1,
                f"model.rates.{name}",
                f"{rate} is not a share",
                "Give a number from 0 to 1.",
            )
