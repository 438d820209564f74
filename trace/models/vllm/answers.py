"""From a row to what vLLM is asked, and from its outputs to a completion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from trace.models.hf.answers import NOT_FINITE, Row, completion_of
from trace.models.vllm.labels import Tokens, forks, summed
from trace.models.vllm.scheduler import Ask
from trace.records import Completion, LabelScore


def asks_of(row: Row, style: str) -> list[Ask]:
    """The sequences that answer a row: one, or one for every fork of its labels.

    A row's random stream is seeded by its key (which holds `sampling.seed` and the epoch).
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.FINAL_ONLY
    if row.branches:
        return [
            Ask(
                id=f"{row.key}/{number}",
                tokens=row.ids + beginning,
                params=SamplingParams(
                    temperature=0,
                    max_tokens=1,
                    logprob_token_ids=following,
                    detokenize=False,
                    output_kind=kind,
                ),
            )
            for number, (beginning, following) in enumerate(forks(row.branches).items())
        ]
    sampling = row.request.sampling
    # vLLM would also stop at a string inside the reasoning; there, the answer is cut afterwards.
    stops = list(sampling.stop) if style == "none" else []
    params = SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=int(row.key[:15], 16) if sampling.temperature > 0 else None,
        max_tokens=row.room,
        stop=stops,
        detokenize=bool(stops),
        output_kind=kind,
    )
    return [Ask(id=row.key, tokens=row.ids, params=params)]


def written(row: Row, output: Any, tokenizer: Any, style: str) -> Completion:
    """The completion of a row that was continued.

    Args:
        row: what was asked.
        output: vLLM's CompletionOutput.
        tokenizer: decodes it, as the other engines do.
        style: how reasoning is marked.
    """
    if output.finish_reason not in ("stop", "length"):
        error = f"vllm ended the request: {output.finish_reason}"
        return Completion(key=row.key, finish="error", error=error)
    ended = output.finish_reason == "stop"
    return completion_of(row, list(output.token_ids), tokenizer, style, ended=ended)


def fork_of(row: Row, number: int, output: Any) -> tuple[Tokens, dict[int, float]]:
    """The beginning of labels that an output followed, and the tokens' log-probabilities there."""
    beginning, following = list(forks(row.branches).items())[number]
    there = output.logprobs[0]
    return beginning, {token: there[token].logprob for token in following}


def scored(row: Row, logprobs: Mapping[Tokens, Mapping[int, float]]) -> Completion:
    """The completion of a row of which every fork is answered."""
    values = summed(row.branches, logprobs)
    if not all(map(math.isfinite, values)):
        return Completion(key=row.key, finish="error", error=NOT_FINITE)
    scores = {
        label: LabelScore(logprob=value, tokens=len(branch))
        for label, value, branch in zip(row.request.labels, values, row.branches, strict=True)
    }
    return Completion(key=row.key, scores=scores, prompt_tokens=len(row.ids))
