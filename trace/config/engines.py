"""The engines that run a model. The subclass picks the code."""

from __future__ import annotations

from omegaconf import MISSING

from trace.config.base import check, check_choice, config

DTYPES = ("bfloat16", "float16", "float32")
QUANTISATIONS = ("none", "int8", "nf4", "fp4")


@config
class Engine:
    """What runs a model."""

    name: str = MISSING


@config
class HfEngine(Engine):
    """transformers, in this process."""

    name: str = "hf"
    dtype: str = "bfloat16"
    device: str = "auto"
    """auto (cuda, then mps, then cpu), or a torch device."""
    device_map: str | None = None
    """How layers are spread over several GPUs, by accelerate: auto, balanced, sequential."""
    quantisation: str = "none"
    """none; or int8, nf4, fp4 by bitsandbytes, while loading."""
    attention: str = "auto"
    """auto is the fastest that the model supports."""
    prefill_tokens: int = 2048
    """Tokens of one forward pass over prompts, padding counted. Bounds memory."""
    decode_rows: int = 32
    """Rows decoded together."""
    random_weights: bool = False
    """Whether random numbers stand in the place of the weights: a control of task=probe."""

    def __post_init__(self) -> None:
        check_choice("model.engine.dtype", self.dtype, DTYPES)
        check_choice("model.engine.quantisation", self.quantisation, QUANTISATIONS)
        check_choice(
            "model.engine.attention", self.attention, ("auto", "sdpa", "eager", "flash_attention_2")
        )
        if self.device_map is not None:
            check_choice(
                "model.engine.device_map", self.device_map, ("auto", "balanced", "sequential")
            )
            check(
                self.device == "auto",
                "model.engine.device",
                f"{self.device} stands beside device_map={self.device_map}",
                "Give one of the two.",
            )
        _at_least_one("model.engine.prefill_tokens", self.prefill_tokens, "2048 suits a laptop.")
        _at_least_one("model.engine.decode_rows", self.decode_rows, "32 suits a laptop.")


@config
class VllmEngine(Engine):
    """vLLM, in this process: an optional extra."""

    name: str = "vllm"
    dtype: str = "bfloat16"
    quantisation: str | None = None
    """A method that vLLM knows (awq, gptq, fp8, bitsandbytes); None takes the weights' own."""
    tensor_parallel: int = 1
    """GPUs that share every layer."""
    pipeline_parallel: int = 1
    """GPUs, or groups of them, that hold different layers."""
    data_parallel: int = 1
    """Copies of the model: only 1, as vLLM keeps several behind its server only."""
    memory: float = 0.9
    """Share of a GPU's memory that vLLM may take."""
    cpu_cache_gib: int = 2
    """On a machine without GPU: memory for the keys and values, GiB."""
    max_rows: int = 256
    """Sequences that its scheduler runs together."""
    eager: bool = False
    """Whether CUDA graphs and compilation are left out: a quicker start, slower tokens."""

    def __post_init__(self) -> None:
        check_choice("model.engine.dtype", self.dtype, DTYPES)
        for key in ("tensor_parallel", "pipeline_parallel", "data_parallel"):
            _at_least_one(f"model.engine.{key}", getattr(self, key), "1 is one GPU.")
        copies = self.data_parallel
        check(
            copies == 1,
            "model.engine.data_parallel",
            f"vLLM keeps {copies} copies of a model behind its server only, not in one process",
            f"Start `vllm serve MODEL --data-parallel-size {copies}` and use "
            "model=openai_compatible model.base_url=http://127.0.0.1:8000/v1 model.id=MODEL.",
        )
        _at_least_one("model.engine.cpu_cache_gib", self.cpu_cache_gib, "2 suits a laptop.")
        _at_least_one("model.engine.max_rows", self.max_rows, "256 is vLLM's own choice.")
        check(
            0 < self.memory <= 1,
            "model.engine.memory",
            f"{self.memory} is not a share",
            "Give a number above 0 and at most 1.",
        )


@config
class RemoteEngine(Engine):
    """Whatever is asked over a network, many requests at a time."""

    concurrency: int = 64
    """The most requests under way at a time; it begins at 4 and adapts to what is answered."""
    timeout: float = 300.0
    """Seconds without an answer after which a request is tried again."""
    attempts: int = 8
    """How often one request is tried."""
    max_requests: int | None = None
    """Stops, keeping what was answered, before a run sends more; every attempt counts."""

    def __post_init__(self) -> None:
        usual = type(self)
        for key in ("concurrency", "attempts"):
            default = f"{getattr(usual, key)} is the default."
            _at_least_one(f"model.engine.{key}", getattr(self, key), default)
        check(
            self.timeout > 0,
            "model.engine.timeout",
            f"{self.timeout} is no time",
            f"Give seconds; {usual.timeout:g} is the default.",
        )
        if self.max_requests is not None:
            _at_least_one(
                "model.engine.max_requests", self.max_requests, "Leave it out for no limit."
            )


@config
class OpenAIEngine(RemoteEngine):
    """A server that speaks the OpenAI API: vLLM, llama.cpp, or a provider."""

    name: str = "openai_compatible"
    max_cost_usd: float | None = None
    """Stops, keeping what was answered, before a run costs more."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.max_cost_usd is None or self.max_cost_usd > 0,
            "model.engine.max_cost_usd",
            f"{self.max_cost_usd} buys nothing",
            "Give an amount above 0, or leave it out.",
        )


@config
class MockEngine(Engine):
    """No weights: replies from a file, or planted rates."""

    name: str = "mock"


@config
class RuleEngine(Engine):
    """No model: a rule of the benchmark, in code."""

    name: str = "rule"


def _at_least_one(key: str, value: int, instead: str) -> None:
    check(value >= 1, key, f"{value} is below 1", instead)
