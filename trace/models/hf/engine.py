"""The transformers engine: plans batches from the full list of requests, and runs them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
import transformers

from trace import config
from trace.errors import ConfigError
from trace.models.hf import memory
from trace.models.hf.answers import Runner, Steer, unsteered
from trace.models.hf.architecture import check_architecture
from trace.models.hf.placement import device, quantisation
from trace.models.hf.plan import Plan, RowGroup, alike, plan_of
from trace.models.hf.prefixes import Prefixes
from trace.models.local import TextSide
from trace.records import Completion, Json, Request

log = logging.getLogger(__name__)

MIN_SAVED = 256
"""Tokens that a shared beginning has to save to be worth a forward of its own."""


class HfModel:
    """A causal language model in this process. Weights are loaded at the first real request."""

    usage: Mapping[str, Json] = {}

    def __init__(self, settings: config.Model) -> None:
        engine = settings.engine
        assert isinstance(engine, config.HfEngine)
        self.settings = settings
        self.engine = engine
        self.text = TextSide(settings)
        self.identity: Mapping[str, Json] = {
            "engine": engine.name,
            **self.text.identity(),
            "dtype": engine.dtype,
            "quantisation": None if engine.quantisation == "none" else engine.quantisation,
            **({"random_weights": True} if engine.random_weights else {}),
        }

    @cached_property
    def model(self) -> Any:
        """The weights, in eval mode on the device, or spread over several."""
        transformers.utils.logging.disable_progress_bar()
        engine, attention = self.engine, self.engine.attention
        if engine.random_weights:
            dtype = getattr(torch, engine.dtype)
            return self.text.source.random_weights(dtype=dtype).to(self.device).eval()
        spread = engine.device_map or (None if engine.quantisation == "none" else self.device)
        model = self.text.source.load_weights(
            dtype=getattr(torch, engine.dtype),
            attn_implementation=None if attention == "auto" else attention,
            device_map=spread,  # quantised weights are made where they stay
            quantization_config=quantisation(engine),
        )
        return (model if spread else model.to(self.device)).eval()

    @property
    def device(self) -> torch.device:
        """Where the model lies; with a device map, where its first layer does."""
        return device(self.engine.device)

    @cached_property
    def ends(self) -> set[int]:
        """The tokens that end an answer."""
        ids = self.model.generation_config.eos_token_id
        own = ids if isinstance(ids, list) else [ids]
        return {i for i in [*own, self.text.tokenizer.eos_token_id] if i is not None}

    def prepare(self, request: Request) -> None:
        """Looks at the architecture and for the device, and renders the request."""
        check_architecture(self.text.config, scores=bool(request.labels))
        self.text.rows([request], [""])
        assert self.device
        quantisation(self.engine)

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        return self.text.context

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has, without any template."""
        return self.text.count_tokens(text)

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields the completions of one group of rows after the other.

        Args:
            requests: the full list: the plan is made from all of it.
            done: key -> completion. A group of which all is done is left out; of others every
                row is computed again, in the shape an undisturbed run would give it.

        Raises:
            ValueError: a request is to be pushed; trace.interp.steering.generate does that.
        """
        if any(request.push for request in requests):
            raise ValueError("a request with a push is answered by trace.interp.steering only")
        too_long, plans = self.plans(requests)
        yield too_long
        self.warn_of_shortage(group for plan in plans for group in plan.undone(done))
        for plan in plans:
            yield from self._run(plan, done)

    def _run(self, plan: Plan, done: Mapping[str, Completion]) -> Iterator[list[Completion]]:
        groups = plan.undone(done)
        if not groups:  # then no weights are loaded
            return
        runner = self.runner(plan)
        for group in groups:
            yield from halving_when_full(runner, group)

    def plans(self, requests: Sequence[Request]) -> tuple[list[Completion], list[Plan]]:
        """What does not fit into the context, and all else as plans, without loading weights.

        Rows of one plan have the same labels, and are pushed at the same layer and tokens.
        """
        rows = self.text.rows(requests, [request.key(self.identity) for request in requests])
        too_long = [
            Completion(key=row.key, finish="too_long", prompt_tokens=len(row.ids))
            for row in rows
            if row.room < 1
        ]
        fitting = [row for row in rows if row.room >= 1]
        return too_long, [plan_of(some, self.engine, MIN_SAVED) for some in alike(fitting)]

    def warn_of_shortage(self, groups: Iterable[RowGroup]) -> None:
        """Logs a warning if the longest of the rows may not fit into memory."""
        rows = [row for group in groups for batch in group for row in batch]
        if not rows:
            return
        longest = max(len(row.ids) + row.room for row in rows)
        needed = memory.cache_bytes(self.text.config, longest, self.engine.dtype)
        if "model" not in self.__dict__:
            needed += memory.weight_bytes(self.text.source.folder)
        if said := memory.shortage(needed, memory.free_bytes(self.device)):
            log.warning("%s: %s", self.settings.name, said)

    def runner(self, plan: Plan, steer: Steer = unsteered) -> Runner:
        """What runs the groups of a plan, one after the other; loads the weights."""
        return Runner(
            model=self.model,
            tokenizer=self.text.tokenizer,
            ends=self.ends,
            style=self.settings.reasoning,
            version=f"transformers {transformers.__version__}, torch {torch.__version__}",
            prefixes=Prefixes(self.model, plan.stems, plan.prompts),
            steer=steer,
        )


def halving_when_full(runner: Runner, group: RowGroup) -> Iterator[list[Completion]]:
    """Runs a group; when memory runs out, its halves one after the other.

    Raises:
        ConfigError: not even one row fits.
    """
    try:
        yield runner.run(group)
        return
    except RuntimeError as error:  # torch.OutOfMemoryError is one; CPUs have no type for it
        if not is_out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    rows = [row for batch in group for row in batch]
    if len(rows) == 1:
        raise ConfigError(
            f"model.engine: out of memory with a single prompt of {len(rows[0].ids)} tokens. "
            "Use a smaller model, quantisation, or model.context=… to leave long prompts out."
        )
    log.warning("out of memory: %d rows are run in two halves", len(rows))
    whole = group if len(group) > 1 else [group[0][: len(rows) // 2], group[0][len(rows) // 2 :]]
    middle = (len(whole) + 1) // 2
    yield from halving_when_full(runner, whole[:middle])
    yield from halving_when_full(runner, whole[middle:])


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch says that memory ran out, on a GPU or a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
