"""One group of rows, from prompts to completions: written answers, or likelihoods of labels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from trace.models.hf import forward, prompts
from trace.models.hf.likelihood import label_logprobs
from trace.models.hf.prefixes import Prefixes
from trace.models.hf.sampling import before_stop, ender, picker
from trace.reasoning import CONTROL_MARKED, split_reasoning
from trace.records import Completion, LabelScore, Request

CLOSE_THOUGHT = "\n</think>\n\n"
NOT_FINITE = "the model's scores are not finite numbers; another model.engine.dtype may help"
FINAL_CHANNEL = "<|channel|>final<|message|>"


Steer = Callable[[Sequence[Request]], AbstractContextManager[forward.Aim]]
"""Steers the model within, as the requests of one group say; yields what tells it their rows."""


@contextmanager
def unsteered(requests: Sequence[Request]) -> Iterator[forward.Aim]:
    """Leaves the model alone."""
    yield forward.unaimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request with its key and its tokens; `ids` hold what is prefilled, the prefix too."""

    request: Request
    key: str
    ids: tuple[int, ...]
    opened: bool
    branches: tuple[tuple[int, ...], ...] = ()
    room: int = 0
    """Tokens that may still be written."""
    stem: int = 0
    """The shared beginning that it leaves the tree at."""


def row_of(tokenizer: Any, request: Request, key: str, context: int, style: str) -> Row:
    """Tokenises a request. `room` below 1 means that it does not fit into the context.

    A forced answer stands where the model would write its answer: behind a thought that the
    template has opened, or in harmony's final channel.
    """
    prompt = prompts.encode(tokenizer, request)
    row = Row(request=request, key=key, ids=prompt.ids, opened=prompt.opened)
    if not request.labels:
        left = context - len(prompt.ids)
        return replace(row, room=min(left, request.sampling.max_new_tokens))
    begin = CLOSE_THOUGHT if prompt.opened else FINAL_CHANNEL if style == "harmony" else ""
    answer = prompts.answer_tokens(tokenizer, begin + request.prefix, request.labels)
    ids = prompt.ids + answer.forced
    longest = max(map(len, answer.branches))
    return replace(row, ids=ids, branches=answer.branches, room=context - len(ids) - longest + 1)


def completion_of(
    row: Row, ids: Sequence[int], tokenizer: Any, style: str, *, ended: bool
) -> Completion:
    """The completion of a row that was continued.

    Args:
        row: what was asked.
        ids: the tokens that were written.
        tokenizer: decodes them.
        style: how reasoning is marked.
        ended: whether the model ended its answer by itself, or at a stop.
    """
    # Where control tokens mark the reasoning, they are needed to split the text.
    text = tokenizer.decode(ids, skip_special_tokens=style not in CONTROL_MARKED)
    split = split_reasoning(text, style, opened=row.opened)
    cut = before_stop(split, row.request.sampling.stop)
    return Completion(
        key=row.key,
        text=split.answer if cut is None else cut,
        reasoning=split.reasoning,
        reasoning_closed=split.closed,
        finish="stop" if ended or cut is not None else "length",
        prompt_tokens=len(row.ids),
        completion_tokens=len(ids),
    )


@dataclass(frozen=True, kw_only=True)
class Runner:
    """The loaded model and what all its rows share."""

    model: Any
    tokenizer: Any
    ends: set[int]
    style: str
    version: str
    prefixes: Prefixes
    steer: Steer = unsteered

    def run(self, group: Sequence[Sequence[Row]]) -> list[Completion]:
        """Completes the rows of one group; each batch in it is prefilled by itself."""
        began = time.monotonic()
        scores = bool(group[0][0].branches)
        made = self._score(group) if scores else self._write(group)
        seconds = round((time.monotonic() - began) / len(made), 4)
        return [
            replace(c, engine=self.version, batch_rows=len(made), seconds=seconds) for c in made
        ]

    def _prefill(
        self,
        batch: Sequence[Row],
        spare: int = 0,
        first: int = 0,
        aim: forward.Aim = forward.unaimed,
    ) -> forward.Prefilled:
        stem = batch[0].stem
        rest = [row.ids[self.prefixes.length(stem) :] for row in batch]
        aim((), None)  # a shared beginning is nobody's alone
        prefix = self.prefixes.cache(stem)
        aim(range(first, first + len(batch)), [len(one) - 1 for one in rest])
        return forward.prefill(self.model, rest, prefix=prefix, spare=spare)

    def _score(self, group: Sequence[Sequence[Row]]) -> list[Completion]:
        out = []
        for batch in group:
            branches = batch[0].branches
            part = self._prefill(batch, spare=sum(len(branch) - 1 for branch in branches))
            likeliest = part.logits.argmax(-1).tolist()
            logprobs = label_logprobs(self.model, part, branches).tolist()
            for row, values, best in zip(batch, logprobs, likeliest, strict=True):
                if not all(map(math.isfinite, values)):
                    out.append(Completion(key=row.key, finish="error", error=NOT_FINITE))
                    continue
                scores = {
                    label: LabelScore(logprob=value, tokens=len(branch))
                    for label, value, branch in zip(
                        row.request.labels, values, branches, strict=True
                    )
                }
                top = self.tokenizer.decode([best])
                made = Completion(key=row.key, scores=scores, top=top, prompt_tokens=len(row.ids))
                out.append(made)
        return out

    def _write(self, group: Sequence[Sequence[Row]]) -> list[Completion]:
        rows = [row for batch in group for row in batch]
        requests = [row.request for row in rows]
        opened = [row.opened for row in rows]
        ends = accumulate(map(len, group))
        with self.steer(requests) as aim:
            answers = forward.decode(
                self.model,
                [
                    self._prefill(batch, first=end - len(batch), aim=aim)
                    for batch, end in zip(group, ends, strict=True)
                ],
                new_tokens=[row.room for row in rows],
                pick=picker(requests, [row.key for row in rows]),
                finished=ender(self.tokenizer, self.ends, requests, self.style, opened),
                aim=aim,
            )
        return [self._completion(row, ids) for row, ids in zip(rows, answers, strict=True)]

    def _completion(self, row: Row, ids: list[int]) -> Completion:
        if not ids:
            return Completion(key=row.key, finish="error", error=NOT_FINITE)
        return completion_of(row, ids, self.tokenizer, self.style, ended=ids[-1] in self.ends)
