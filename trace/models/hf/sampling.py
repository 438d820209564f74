"""Drawing the next token, and knowing when an answer has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import TemperatureLogitsWarper, TopPLogitsWarper

from trace.models.hf.forward import Finished, Pick
from trace.reasoning import Split, split_reasoning
from trace.records import Request


def picker(requests: Sequence[Request], keys: Sequence[str]) -> Pick | None:
    """How each row draws its tokens; None when all are greedy.

    A row's random stream is seeded by its key (which holds `sampling.seed` and the epoch), so it
    does not depend on the rows beside it.
    """
    if all(request.sampling.temperature == 0 for request in requests):
        return None
    streams = [torch.Generator().manual_seed(int(key[:15], 16)) for key in keys]

    def pick(row: int, logits: torch.Tensor) -> int:
        sampling = requests[row].sampling
        if sampling.temperature == 0:
            return int(logits.argmax())
        scores = TemperatureLogitsWarper(float(sampling.temperature))(None, logits[None])
        if sampling.top_p < 1:
            scores = TopPLogitsWarper(sampling.top_p)(None, scores)
        chances = torch.softmax(scores[0], -1).cpu()
        return int(torch.multinomial(chances, 1, generator=streams[row]))

    return pick


def before_stop(split: Split, stops: Sequence[str]) -> str | None:
    """The answer up to its first stop string; None when there is none.

    A stop string inside the reasoning does not count.
    """
    at = [split.answer.find(stop) for stop in stops if split.closed and stop in split.answer]
    return split.answer[: min(at)] if at else None


def ender(
    tokenizer: Any, ends: set[int], requests: Sequence[Request], style: str, opened: Sequence[bool]
) -> Finished:
    """Whether a row's last token ends it: an end token, or a stop string in its answer."""

    def finished(row: int, tokens: list[int]) -> bool:
        if tokens[-1] in ends:
            return True
        stops = requests[row].sampling.stop
        if not stops:
            return False
        split = split_reasoning(tokenizer.decode(tokens), style, opened=opened[row])
        return before_stop(split, stops) is not None

    return finished
