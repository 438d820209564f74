"""Looking inside a model: probes of its activations, vectors that push them, and their trainer."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any, Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.models import Model

Position = Literal["prompt_end", "response_last", "response_end", "response_mean"]
Optimizer = Literal["newton", "adamw"]
Unit = Literal["raw", "median_norm"]
Pushed = Literal["all", "generated"]
Way = Literal["difference", "probe"]
SPREADS = ("every_4th", "all")


@config
class Probe:
    """What is read from the residual stream, and how well a linear probe tells its label."""

    run: str | None = None
    """The directory of a judged run: its answers and labels, instead of those of `benchmark`."""
    positive: Any = None  # OmegaConf cannot merge a typed list into one that is not there
    """The labels that make an answer positive, a list."""
    negative: Any = None
    """The labels that make an answer negative; answers with any other label are left out."""
    activations: str | None = None
    """A safetensors file of activations made elsewhere: x [samples, layers, d], y, group."""
    layers: Any = "every_4th"
    """every_4th, all, or a list of layer numbers; the last layer is always read too."""
    position: str = "response_last"
    """prompt_end (last token before the answer), response_last (last of the answer's own),
    response_end (the token that ends the answer), or response_mean."""
    folds: int = 5
    inner_folds: int = 4
    """Folds inside each training fold, on which the strength of the penalty is chosen."""
    strengths: list[float] = field(default_factory=lambda: [1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
    """C of the L2 penalty, as scikit-learn counts it, to choose from."""
    permutations: int = 200
    """Shuffles of the labels, for each of which everything is done again."""
    split_seeds: int = 10
    """Ways to split into folds, to see how much hangs on the split."""
    optimizer: str = "newton"
    """newton solves exactly; adamw goes through minibatches, for what does not fit into memory."""
    control: Model | None = None
    """A model that never wrote the answers: what it too can tell is no choice of the first."""
    memory_gib: float = 0.5
    """Memory that the solver may take at a time, GiB."""

    def __post_init__(self) -> None:
        for name in ("positive", "negative"):
            labels = getattr(self, name)
            check(
                labels is None or (isinstance(labels, list) and bool(labels)),
                f"probe.{name}",
                f"{labels!r} is no list of labels",
                f"Try 'probe.{name}=[LABEL]'.",
            )
        check(
            (self.positive is None) == (self.negative is None),
            "probe.positive",
            "and probe.negative: only one of them is given",
            "Give both, such as 'probe.positive=[Unsafe]' 'probe.negative=[Safe]'.",
        )
        both = set(self.positive or ()) & set(self.negative or ())
        check(
            not both,
            "probe.positive",
            f"and probe.negative both name {', '.join(map(str, sorted(both, key=str)))}",
            "Let every label stand on one side.",
        )
        check(
            self.run is None or self.activations is None,
            "probe.activations",
            "stands beside probe.run",
            "Leave one of them out.",
        )
        check(
            self.layers in SPREADS
            or (
                isinstance(self.layers, list)
                and bool(self.layers)
                and all(type(one) is int for one in self.layers)
            ),
            "probe.layers",
            f"{self.layers!r} names no layers",
            "Use every_4th, all, or a list such as [8,16,24].",
        )
        check_choice("probe.position", self.position, get_args(Position))
        check_choice("probe.optimizer", self.optimizer, get_args(Optimizer))
        check(self.folds >= 2, "probe.folds", f"{self.folds} is below 2", "5 is the default.")
        check(
            self.inner_folds >= 2,
            "probe.inner_folds",
            f"{self.inner_folds} is below 2",
            "4 is the default.",
        )
        check(
            bool(self.strengths) and all(0 < c < math.inf for c in self.strengths),
            "probe.strengths",
            f"{self.strengths} holds no or other than positive numbers",
            "Try [0.0001,0.01].",
        )
        check(
            self.permutations >= 0,
            "probe.permutations",
            f"{self.permutations} is negative",
            "200 is the default; 0 leaves the shuffles out.",
        )
        check(
            self.split_seeds >= 1,
            "probe.split_seeds",
            f"{self.split_seeds} is below 1",
            "10 is the default.",
        )
        check(
            0 < self.memory_gib < math.inf,
            "probe.memory_gib",
            f"{self.memory_gib} is no size",
            "Try 0.5.",
        )


@config
class Steering:
    """A vector in the residual stream, and how hard it is pushed."""

    vector: str | None = None
    """A vector that was stored before (vector.safetensors); without one it is made."""
    direction: str = "difference"
    """difference (of the classes' means) or probe (its weights, in the length of the former)."""
    layer: int | None = None
    """The decoder layer behind which it is added; half of the depth without a number."""
    alpha: float | None = None
    """How hard it is pushed, beside 0, which is always measured: one of a sweep."""
    alphas: list[float] = field(default_factory=lambda: [-1.0, -0.5, 0.0, 0.5, 1.0])
    """How hard it is pushed, all in one batch; read where `alpha` is not given."""
    unit: str = "raw"
    """raw: alpha times the vector. median_norm: alpha times the median length of the stream."""
    tokens: str = "all"
    """all: prompt and answer are pushed. generated: only where an answer's tokens are chosen."""

    def __post_init__(self) -> None:
        check_choice("steering.direction", self.direction, get_args(Way))
        check_choice("steering.unit", self.unit, get_args(Unit))
        check_choice("steering.tokens", self.tokens, get_args(Pushed))
        check(
            self.alpha is None or math.isfinite(self.alpha),
            "steering.alpha",
            f"{self.alpha} is no strength",
            "Try 3.",
        )
        check(
            bool(self.alphas) and all(map(math.isfinite, self.alphas)),
            "steering.alphas",
            f"{self.alphas} holds no or other than finite numbers",
            "Try [-3,0,3].",
        )
        check(
            self.layer is None or self.layer >= 0,
            "steering.layer",
            f"{self.layer} is negative",
            "Layers are counted from 0.",
        )

    @property
    def grid(self) -> list[float]:
        """The strengths that are measured, 0 among them, in order."""
        given = self.alphas if self.alpha is None else [self.alpha]
        return sorted({0.0, *map(float, given)})


@config
class Trainer:
    """Where Lightning runs what goes through a model or fits a probe."""

    accelerator: str = "auto"
    """auto, cpu, gpu, …"""
    devices: int = 1
    """Processes, one a device; each holds its share of the samples."""
    strategy: str = "auto"
    """auto; ddp_spawn starts one process a device."""
    num_nodes: int = 1

    def __post_init__(self) -> None:
        check(self.devices >= 1, "trainer.devices", f"{self.devices} is below 1", "Try 1.")
        check(self.num_nodes >= 1, "trainer.num_nodes", f"{self.num_nodes} is below 1", "Try 1.")
