"""Every configuration group as a typed object whose values are checked when it is built.

Nothing here imports torch, transformers or wandb: `--help`, `--cfg job` and a dry run stay quick.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, dataclass_transform, get_args

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, ListConfig, OmegaConf

from trace.errors import ConfigError

T = TypeVar("T")


def _set_once(self: object, name: str, value: Any) -> None:
    if name in self.__dict__:
        raise AttributeError(f"{type(self).__name__}.{name} is set once; use dataclasses.replace")
    object.__setattr__(self, name, value)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def config(cls: type[T]) -> type[T]:
    """A keyword-only dataclass whose fields are set once.

    `frozen=True` will not do: OmegaConf makes such nodes read-only, and Hydra cannot merge them.
    """
    made = dataclass(kw_only=True)(cls)
    made.__setattr__ = _set_once  # type: ignore[method-assign]
    return made


def check(ok: bool, key: str, problem: str, instead: str) -> None:
    """Raises the one kind of message that a wrong value gets."""
    if not ok:
        raise ConfigError(f"{key}: {problem}. {instead}")


def check_choice(key: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a value that is not one of `choices`, naming them."""
    check(
        value in choices, key, f"{value!r} is not a choice", f"Choose one of {', '.join(choices)}."
    )


View = Literal["clean", "released"]
Split = Literal["base", "long_context", "miss_func", "miss_param"]
Answer = Literal["generate", "score"]
Parser = Literal["strict", "released"]
Normalise = Literal["mean", "sum"]
Unscored = Literal["as_wrong", "exclude"]
TrackingMode = Literal["auto", "online", "offline", "disabled"]
Upload = Literal["all", "metrics"]


@config
class Task:
    """What is done."""

    name: str = MISSING


@config
class Condition:
    """What is done to a sample before anyone sees it."""

    name: str = "plain"


@config
class Protocol:
    """How a judge is asked."""

    name: str = MISSING
    definitions: bool = MISSING
    """Whether the taxonomy's definitions are shown."""
    answers: str = MISSING
    """binary (safe or unsafe), domain, or class."""
    answer: str = "generate"
    """generate: the reply is parsed. score: each label's likelihood is read, nothing is written."""
    tools: bool = True
    """Whether the tool list is shown (false gives the released binary prompts)."""
    normalise: str = "mean"
    """score: a label's log-likelihood as the mean over its tokens, or as their sum."""

    def __post_init__(self) -> None:
        check_choice("protocol.answers", self.answers, ("binary", "domain", "class"))
        check_choice("protocol.answer", self.answer, get_args(Answer))
        check_choice("protocol.normalise", self.normalise, get_args(Normalise))


@config
class Sampling:
    """How tokens are drawn."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 1024
    seed: int = 42

    def __post_init__(self) -> None:
        check(
            self.temperature >= 0,
            "sampling.temperature",
            f"{self.temperature} is negative",
            "0 is greedy.",
        )
        check(
            0 < self.top_p <= 1,
            "sampling.top_p",
            f"{self.top_p} is not in (0, 1]",
            "1 keeps the whole distribution.",
        )
        check(
            self.max_new_tokens >= 1,
            "sampling.max_new_tokens",
            f"{self.max_new_tokens} is below 1",
            "Give a positive number of tokens.",
        )


@config
class Scoring:
    """How verdicts become numbers."""

    unscored: str = "as_wrong"
    parser: str = "strict"
    """strict; or released, the substring rules that the published numbers were made with."""
    max_unscored: float = 0.2
    bootstrap_draws: int = 2000

    def __post_init__(self) -> None:
        check_choice("scoring.unscored", self.unscored, get_args(Unscored))
        check_choice("scoring.parser", self.parser, get_args(Parser))
        check(
            0 <= self.max_unscored <= 1,
            "scoring.max_unscored",
            f"{self.max_unscored} is not a share",
            "Give a number from 0 to 1.",
        )
        check(
            self.bootstrap_draws >= 100,
            "scoring.bootstrap_draws",
            f"{self.bootstrap_draws} is below 100",
            "2000 is the default.",
        )


@config
class Tracking:
    """Where metrics and artefacts are logged beside the run directory."""

    mode: str = "auto"
    upload: str = "all"
    project: str = "trace"
    entity: str | None = None

    def __post_init__(self) -> None:
        check_choice("tracking.mode", self.mode, get_args(TrackingMode))
        check_choice("tracking.upload", self.upload, get_args(Upload))


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
    template_args: dict[str, Any] = field(default_factory=dict)
    """Arguments of the chat template, such as enable_thinking."""
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
            "Give model.replies=FILE (a JSON string a line) or model.rates={default: 0.8}.",
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


@config
class Benchmark:
    """What is measured. The subclass picks the code."""

    name: str = MISSING


@config
class TraceSafe(Benchmark):
    """Guards on tool-calling trajectories."""

    name: str = "tracesafe"
    path: str | None = None
    """A file or folder in the released format; without one the set is built from BFCL."""
    view: str = "clean"
    """clean: the whitelist. released: the whole trace object, as the released code shows it."""
    per_class: int = 90
    """Own set: records a class."""
    distractors: str = "all"
    """Own set: tools shown beside those that are called, a number or all."""
    splits: list[str] = field(default_factory=lambda: ["base"])
    """Own set: BFCL's multi-turn splits whose ground truth is replayed as base trajectories."""
    base: str | None = None
    """Own set: a file of base trajectories in the released format, instead of BFCL's."""
    truncate: bool = True
    """Own set: whether a trajectory ends at its risky step."""
    decoys: float = 0.2
    """Own set: the share of benign records that only look risky."""

    def __post_init__(self) -> None:
        for split in self.splits:
            check_choice("benchmark.splits", split, get_args(Split))
        check(bool(self.splits), "benchmark.splits", "is empty", "[base] is the default.")
        check(
            0 <= self.decoys <= 1,
            "benchmark.decoys",
            f"{self.decoys} is not a share",
            "Give a number from 0 to 1.",
        )
        check_choice("benchmark.view", self.view, get_args(View))
        check(
            self.per_class >= 1,
            "benchmark.per_class",
            f"{self.per_class} is below 1",
            "Give a positive number; 90 is the paper's.",
        )
        check(
            self.distractors == "all" or self.distractors.isdecimal(),
            "benchmark.distractors",
            f"{self.distractors!r} is neither a number nor all",
            "Try benchmark.distractors=4.",
        )


@config
class Root:
    """The whole configuration of one run."""

    task: Task = MISSING
    benchmark: Benchmark = MISSING
    condition: Condition = MISSING
    protocol: Protocol = MISSING
    model: Model = MISSING
    sampling: Sampling = MISSING
    scoring: Scoring = MISSING
    tracking: Tracking = MISSING
    limit: int | None = None
    """Samples a stratum (tracesafe: a class); all without it."""
    seed: int = 0
    """Subsets, builders and resampling."""
    epochs: int = 1
    """Repeats of every request."""
    output_dir: str = "outputs"
    runs: str | None = None
    """task=compare: a glob of run directories, or several separated by spaces."""
    stage: str = "all"
    """build and audit: which part of the work."""

    def __post_init__(self) -> None:
        check(
            self.limit is None or self.limit >= 1,
            "limit",
            f"{self.limit} is below 1",
            "Give a positive number, or leave it out for everything.",
        )
        check(self.epochs >= 1, "epochs", f"{self.epochs} is below 1", "1 asks every request once.")
        check(self.seed >= 0, "seed", f"{self.seed} is negative", "Give 0 or more.")


NO_EFFECT_ON_RESULT = (
    "tracking",
    "output_dir",
    "scoring.max_unscored",
    "benchmark.path",  # the data's own hash stands for it
    "model.replies",  # likewise
    "model.engine.device",
    "model.engine.prefill_tokens",
    "model.engine.decode_rows",
)
"""Keys that the hash of a run leaves out."""


def plain(settings: Any) -> dict[str, Any]:
    """A typed configuration as plain dictionaries and lists."""
    return dataclasses.asdict(settings)


def of_result(settings: Root) -> dict[str, Any]:
    """The part of a configuration that can change what a run finds."""
    tree = plain(settings)
    for key in NO_EFFECT_ON_RESULT:
        *groups, name = key.split(".")
        node = tree
        for group in groups:
            node = node[group]
        node.pop(name, None)
    return tree


def _unknown_keys(node: Any, typed: Any, at: str = "") -> Iterator[str]:
    if not isinstance(node, DictConfig) or not dataclasses.is_dataclass(typed):
        return
    names = {f.name for f in dataclasses.fields(typed)}
    for key in node:
        path = f"{at}.{key!s}" if at else str(key)
        if key not in names:
            yield path
        else:
            yield from _unknown_keys(node._get_node(key), getattr(typed, str(key)), path)


def to_typed(composed: DictConfig | ListConfig) -> Root:
    """Turns what Hydra composed into the checked `Root`.

    Raises:
        ConfigError: a value is missing, wrong, or stands under a key that nothing reads.
    """
    tree = OmegaConf.create(composed)  # a copy: the caller's tree keeps its hydra node
    assert isinstance(tree, DictConfig)
    OmegaConf.set_readonly(tree, False)
    OmegaConf.set_struct(tree, False)
    tree.pop("hydra", None)
    if missing := sorted(OmegaConf.missing_keys(tree)):
        first = missing[0]
        raise ConfigError(f"{first}: no value. Give one on the command line: {first}=…")
    typed = OmegaConf.to_object(tree)
    assert isinstance(typed, Root)
    for key in _unknown_keys(tree, typed):
        raise ConfigError(f"{key}: no such key{nearest(key, _keys(typed))}")
    return typed


def _keys(typed: Any, at: str = "") -> Iterator[str]:
    for f in dataclasses.fields(typed):
        path = f"{at}.{f.name}" if at else f.name
        yield path
        if dataclasses.is_dataclass(value := getattr(typed, f.name)):
            yield from _keys(value, path)


def nearest(word: str, choices: Iterator[str] | list[str]) -> str:
    """A sentence that offers the choices nearest to `word`; empty when none is near."""
    import difflib

    near = difflib.get_close_matches(word, list(choices), n=3, cutoff=0.6)
    return f". Did you mean {' or '.join(near)}?" if near else "."


def register() -> None:
    """Puts the schemas where the files in conf/ name them: `/schema/<group>@_here_: <name>`."""
    OmegaConf.register_new_resolver("or_else", lambda a, b: b if a is None else a, replace=True)
    store = ConfigStore.instance()
    store.store(name="root", group="schema", node=Root)
    groups: dict[str, dict[str, type]] = {
        "task": {"base": Task},
        "condition": {"base": Condition},
        "protocol": {"base": Protocol},
        "sampling": {"base": Sampling},
        "scoring": {"base": Scoring},
        "tracking": {"base": Tracking},
        "model": {"base": Model, "mock": MockModel},
        "engine": {"hf": HfEngine, "mock": MockEngine},
        "benchmark": {"tracesafe": TraceSafe},
    }
    for group, schemas in groups.items():
        for name, node in schemas.items():
            store.store(name=name, group=f"schema/{group}", node=node)
