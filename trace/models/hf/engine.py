"""The transformers engine: plans batches from the full list of requests, and runs them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
import transformers

from trace import config
from trace.errors import ConfigError
from trace.models.hf import batches, forward
from trace.models.hf.answers import Row, Runner, row_of
from trace.models.hf.load import Source, model_errors
from trace.records import Completion, Json, Request

log = logging.getLogger(__name__)

MIN_SHARED = 16
"""A shared beginning of fewer tokens is not worth a forward of its own."""

RowGroup = list[list[Row]]


class HfModel:
    """A causal language model in this process. Weights are loaded at the first real request."""

    def __init__(self, settings: config.Model) -> None:
        engine = settings.engine
        assert isinstance(engine, config.HfEngine)
        self.settings = settings
        self.engine = engine
        self.source = Source(settings)
        self.identity: Mapping[str, Json] = {
            "engine": engine.name,
            **self.source.identity(),
            "dtype": engine.dtype,
            "quantisation": None,
            "context": settings.context,
            "reasoning": settings.reasoning,
        }

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer with the chat template."""
        with model_errors(self.settings):
            return transformers.AutoTokenizer.from_pretrained(self.source.folder)

    @cached_property
    def model(self) -> Any:
        """The weights, in eval mode on the device."""
        transformers.utils.logging.disable_progress_bar()
        attention = self.engine.attention
        model = self.source.load_weights(
            dtype=getattr(torch, self.engine.dtype),
            attn_implementation=None if attention == "auto" else attention,
        )
        return model.to(device(self.engine.device)).eval()

    @cached_property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        with model_errors(self.settings):
            whole = transformers.AutoConfig.from_pretrained(self.source.folder)
        settings = whole.get_text_config()
        own = getattr(settings, "max_position_embeddings", None)
        sizes = [size for size in (own, self.settings.context) if size]
        if not sizes:
            raise ConfigError("model.context: this model does not tell it. Give model.context=…")
        return min(sizes)

    @cached_property
    def ends(self) -> set[int]:
        """The tokens that end an answer."""
        ids = self.model.generation_config.eos_token_id
        own = ids if isinstance(ids, list) else [ids]
        return {i for i in [*own, self.tokenizer.eos_token_id] if i is not None}

    def prepare(self, request: Request) -> None:
        """Loads the tokenizer, renders the request, and looks for the device."""
        row_of(self.tokenizer, request, "", self.context, self.settings.reasoning)
        device(self.engine.device)

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has, without any template."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        """Yields the completions of one group of rows after the other.

        Args:
            requests: the full list: the plan is made from all of it.
            done: key -> completion. A group of which all is done is left out; of others every
                row is computed again, in the shape an undisturbed run would give it.
        """
        rows = [
            row_of(
                self.tokenizer,
                request,
                request.key(self.identity),
                self.context,
                self.settings.reasoning,
            )
            for request in requests
        ]
        too_long = [row for row in rows if row.room < 1]
        yield [
            Completion(key=row.key, finish="too_long", prompt_tokens=len(row.ids))
            for row in too_long
        ]
        fitting = [row for row in rows if row.room >= 1]
        for branches in dict.fromkeys(row.branches for row in fitting):
            yield from self._run([row for row in fitting if row.branches == branches], done)

    def _run(self, rows: list[Row], done: Mapping[str, Completion]) -> Iterator[list[Completion]]:
        shared = batches.shared_prefix([row.ids for row in rows])
        shared = shared if shared >= MIN_SHARED else 0
        groups = [
            group
            for group in self._plan(rows, shared)
            if any(row.key not in done for batch in group for row in batch)
        ]
        if not groups:
            return
        prefix = forward.prefill(self.model, [rows[0].ids[:shared]]).cache if shared else None
        runner = Runner(
            model=self.model,
            tokenizer=self.tokenizer,
            ends=self.ends,
            style=self.settings.reasoning,
            version=f"transformers {transformers.__version__}, torch {torch.__version__}",
            prefix=prefix,
            shared=shared,
        )
        for group in groups:
            yield from halving_when_full(runner, group)

    def _plan(self, rows: list[Row], shared: int) -> list[RowGroup]:
        lengths = [len(row.ids) - shared for row in rows]
        planned = batches.prefill_batches(lengths, self.engine.prefill_tokens)
        if rows[0].branches:  # nothing is decoded: every batch can be logged by itself
            groups = [[batch] for batch in planned]
        else:
            groups = batches.decode_groups(planned, self.engine.decode_rows)
        ordered = batches.from_both_ends(groups)
        return [[[rows[i] for i in batch] for batch in group] for group in ordered]


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


def device(name: str) -> torch.device:
    """The device of that name; `auto` is the best there is.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name != "auto":
        try:
            return torch.zeros(0, device=name).device
        except (RuntimeError, AssertionError) as error:  # torch raises either for what is missing
            what = str(error).strip().splitlines()[0]
            raise ConfigError(
                f"model.engine.device={name}: cannot be used here ({what}). "
                "Leave it out, or give cpu."
            ) from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
