"""Models, and what is known about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omegaconf import MISSING

from trace.config.base import check, check_choice, config
from trace.config.engines import Engine, HfEngine, MockEngine, OpenAIEngine, RuleEngine, VllmEngine


def is_folder(name: str) -> bool:
    """Whether an id is a place on the disk, and no name on the hub."""
    return name.startswith((".", "/", "~")) or name.count("/") > 1 or Path(name).exists()


@config
class Model:
    """A model and what is known about it."""

    name: str = MISSING
    """The name of its file in conf/model; stands in paths and tables."""
    id: str | None = None
    """A Hugging Face id, a local folder, or the served name."""
    revision: str | None = None
    """A commit, branch or tag of a repository on the Hugging Face hub; its newest without one."""
    asset: str | None = None
    """A pinned package that carries the weights (trace/assets.py); instead of `id`."""
    context: int | None = None
    """Context length in tokens, where the model's own config does not tell the usable one."""
    reasoning: str = "think"
    """How reasoning is marked in the output: think (<think> tags), harmony, gemma, or none."""
    template_args: Any = None  # as for MockModel.rates
    """A table of arguments of the chat template, such as enable_thinking."""
    chat_template: str | None = None
    """A chat template in Jinja, for a model whose tokenizer has none."""
    guard: str | None = None
    """A guard's family in trace/judging/guards: its own template and parser."""
    base: str | None = None
    """The model that a guard was trained from."""
    trained_on: str | None = None
    """How many instances a guard was trained on, as its authors say."""
    sources: str | None = None
    """Where what is said here was read."""
    kind: str = "general"
    """general or guard."""
    family: str | None = None
    parameters: float | None = None
    """Number of parameters, in billions."""
    bits: float | None = None
    """Bits a parameter, where the published weights are quantised (MXFP4: 4.25, FP8: 8)."""
    licence: str | None = None
    gated: bool = False
    abliterated: bool = False
    """Whether its refusals were removed: only task=build takes it, as a respondent."""
    allow_abliterated: bool = False
    """Takes it everywhere."""
    engine: Engine = MISSING

    def __post_init__(self) -> None:
        check(bool(self.name), "model.name", "is empty", "Give the model a name.")
        check_choice("model.reasoning", self.reasoning, ("think", "harmony", "gemma", "none"))
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
        check(
            isinstance(self.engine, RuleEngine) == isinstance(self, RuleModel),
            "model/engine",
            f"{self.engine.name} does not run this model",
            "A rule is chosen whole, as a member of a panel: judges=local.",
        )
        check(
            not isinstance(self.engine, OpenAIEngine) or isinstance(self, HostedModel),
            "model/engine",
            f"{self.engine.name} does not run this model",
            "A server is chosen as model=openai_compatible model.base_url=… model.id=….",
        )
        if not isinstance(self, MockModel | HostedModel | RuleModel):
            check(
                (self.id is None) != (self.asset is None),
                "model.id",
                "names no weights" if self.id is None else "stands beside model.asset",
                "Give a Hugging Face id or a folder: model.id=org/name.",
            )
        on_the_hub = isinstance(self.engine, HfEngine | VllmEngine) and self.asset is None
        check(
            self.revision is None or (on_the_hub and not is_folder(self.id or "")),
            "model.revision",
            f"{self.revision} is read of models on the Hugging Face hub only",
            "Leave it out: files are told apart by what they hold, served models by their names.",
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


_OURS = ("model", "messages", "stream", "n", "logprobs", "top_logprobs")
"""Fields of a request to a server that `extra_body` cannot change."""


@config
class HostedModel(Model):
    """A model behind a server. `id` is the name it is served under, dated where there is a date."""

    base_url: str | None = None
    """The address of the API, such as http://127.0.0.1:8000/v1."""
    api_key_env: str | None = None
    """The environment variable that holds the key; none is sent without one."""
    extra_body: Any = None  # as for MockModel.rates
    """A table of further fields of every request, such as reasoning_effort. A field set to null is
    not sent at all: {temperature: null} for servers that refuse it."""
    reasoning_field: str | None = None
    """The field of a reply's message that holds the reasoning, such as reasoning_content."""
    max_tokens_field: str = "max_tokens"
    """How the server calls the most tokens to be written."""
    logprobs: int = 0
    """How many alternatives a token the server reports (OpenAI, vLLM: 20); 0 where it reports none.
    protocol.answer=score reads the likelihood of the labels' first tokens from them."""
    price: Any = None  # as for MockModel.rates
    """A table, USD per million tokens: input, output, and cached where that has a price."""
    terms_confirmed: bool = False
    """Whether the provider's terms were read and allow what a safety benchmark sends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            isinstance(self.engine, OpenAIEngine),
            "model/engine",
            f"{self.engine.name} does not run this model",
            "Leave it out: this model stands behind a server.",
        )
        check(
            self.base_url is not None and self.base_url.startswith(("http://", "https://")),
            "model.base_url",
            f"{self.base_url or 'no value'} is no address",
            "Try model.base_url=http://127.0.0.1:8000/v1.",
        )
        check(self.id is not None, "model.id", "names no model", "Give the name it is served as.")
        check(
            self.api_key_env is None or self.api_key_env.isidentifier(),
            "model.api_key_env",
            "is not the name of a variable",  # it may be the key itself, so it is not repeated
            "Put the key into the environment and give its name: model.api_key_env=OPENAI_API_KEY.",
        )
        check(self.logprobs >= 0, "model.logprobs", f"{self.logprobs} is negative", "0 is none.")
        check(
            self.extra_body is None or isinstance(self.extra_body, dict),
            "model.extra_body",
            f"{self.extra_body!r} is no table",
            "Try 'model.extra_body={reasoning_effort: low}'.",
        )
        for name, value in (self.extra_body or {}).items():
            check(
                name not in (*_OURS, self.max_tokens_field)
                and (value is None or name not in ("temperature", "top_p", "seed", "stop")),
                f"model.extra_body.{name}",
                "is set elsewhere",
                "Use model.id and the keys of sampling; null leaves a field of sampling out.",
            )
        assert isinstance(self.engine, OpenAIEngine)
        check(
            self.engine.max_cost_usd is None or self.price is not None,
            "model.engine.max_cost_usd",
            "cannot be kept without model.price",
            "Give 'model.price={input: 0.15, output: 0.6}', in USD per million tokens.",
        )
        check(
            self.price is None
            or (isinstance(self.price, dict) and {"input", "output"} <= self.price.keys()),
            "model.price",
            f"{self.price!r} has no input and output",
            "Try 'model.price={input: 0.15, output: 0.6}', in USD per million tokens.",
        )
        for name, amount in (self.price or {}).items():
            check(
                name in ("input", "output", "cached")
                and isinstance(amount, int | float)
                and amount >= 0,
                f"model.price.{name}",
                f"{amount} is no price",
                "Give input, output, cached in USD per million tokens.",
            )


OWN_RULE = "own"


@config
class RuleModel(Model):
    """A judge without a model: a rule of the benchmark."""

    rule: str = MISSING
    """Its name among the benchmark's rule judges; `own` for the first that it has."""
