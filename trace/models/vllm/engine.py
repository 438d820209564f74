"""The vLLM engine: from requests to its scheduler, from its outputs to completions."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from trace import config
from trace.models.hf.answers import Row
from trace.models.local import TextSide
from trace.models.vllm import load, scheduler
from trace.models.vllm.answers import asks_of, fork_of, scored, written
from trace.models.vllm.labels import Tokens, forks
from trace.records import Completion, Json, Request


class VllmModel:
    """A causal language model run by vLLM. Weights are loaded at the first real request."""

    usage: Mapping[str, Json] = {}

    def __init__(self, settings: config.Model) -> None:
        engine = settings.engine
        assert isinstance(engine, config.VllmEngine)
        self.engine = engine
        self.style = settings.reasoning
        self.text = TextSide(settings)
        self.identity: Mapping[str, Json] = {
            "engine": engine.name,
            **self.text.identity(),
            "dtype": engine.dtype,
            "quantisation": engine.quantisation,
        }

    @cached_property
    def llm(self) -> Any:
        """The LLM of vLLM, with the weights loaded."""
        return load.load(self.engine, self.text.source, self.text.context)

    def close(self) -> None:
        """Frees the memory of the weights and the cache; the next request loads them again."""
        if llm := self.__dict__.pop("llm", None):
            load.release(llm)

    def prepare(self, request: Request) -> None:
        """Looks for vLLM, loads the tokenizer, and renders the request."""
        load.check_installed()
        self.text.rows([request], [""])

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
        """Yields what finished in one step of the scheduler.

        Which rows it computes together depends on when others finish, so a plan of the batches
        could not be kept: only what is not done is asked.
        """
        rows = self.text.rows(requests, [request.key(self.identity) for request in requests])
        yield [
            Completion(key=row.key, finish="too_long", prompt_tokens=len(row.ids))
            for row in rows
            if row.room < 1
        ]
        if asked := [row for row in rows if row.room >= 1 and row.key not in done]:
            yield from self._run(asked)

    def _run(self, rows: Sequence[Row]) -> Iterator[list[Completion]]:
        llm, version = self.llm.llm_engine, load.version(self.engine)
        # Neighbours share the longest beginnings: those are found before they are evicted.
        ordered = sorted(rows, key=lambda row: row.ids)
        asks = [ask for row in ordered for ask in asks_of(row, self.style)]
        answers = Answers(rows, self.text.tokenizer, self.style)
        began = time.monotonic()
        for outputs in scheduler.run(llm, asks):
            if made := [c for output in outputs if (c := answers.add(output))]:
                seconds = round((time.monotonic() - began) / len(made), 4)
                yield [replace(c, engine=version, seconds=seconds) for c in made]
                began = time.monotonic()


class Answers:
    """What has come of the rows so far."""

    def __init__(self, rows: Sequence[Row], tokenizer: Any, style: str) -> None:
        self.tokenizer = tokenizer
        self.style = style
        self._rows = {row.key: row for row in rows}
        self._forks: dict[str, dict[Tokens, dict[int, float]]] = defaultdict(dict)
        self._tops: dict[str, str] = {}

    def add(self, finished: Any) -> Completion | None:
        """The completion that a finished output of vLLM makes whole, if it does."""
        key, _, number = finished.request_id.partition("/")
        row, output = self._rows[key], finished.outputs[0]
        if not row.branches:
            return written(row, output, self.tokenizer, self.style)
        found = self._forks[key]
        beginning, logprobs = fork_of(row, int(number), output)
        found[beginning] = logprobs
        if not beginning:  # where the labels begin, greedy decoding takes the likeliest token
            self._tops[key] = self.tokenizer.decode(list(output.token_ids[:1]))
        if len(found) < len(forks(row.branches)):
            return None
        return replace(scored(row, self._forks.pop(key)), top=self._tops.pop(key))
