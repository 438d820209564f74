"""Whether what a pushed model writes is still language: a label on gibberish is no behaviour."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trace import config
from trace.interp.activations.layers import LanguageModel
from trace.interp.activations.tokens import Row, UnreadableError, row_of
from trace.interp.labelled import Labelled
from trace.interp.steering.padded import Padded, opened, padded
from trace.records import Completion, Request

REPETITIVE = 0.5
"""An answer with a larger share of repeated trigrams goes round in circles."""
UNLIKELY = 10.0
"""Times the usual perplexity beyond which an answer is word salad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coherence:
    """How an answer reads.

    `repetition` is None for less than three words, which have no trigram, and `perplexity` for an
    empty answer or one that does not fit into the context.
    """

    repetition: float | None
    words: int
    perplexity: float | None


def coherence(
    settings: config.Model, requests: Sequence[Request], answers: Sequence[Completion]
) -> list[Coherence]:
    """How each answer reads, its perplexity by the unsteered model.

    Args:
        settings: the model that wrote the answers.
        requests: what was asked.
        answers: one a request.
    """
    texts = [answer.text for answer in answers]
    perplexities = _perplexities(settings, requests, answers)
    return [
        Coherence(repetition=repetition(text), words=len(text.split()), perplexity=perplexity)
        for text, perplexity in zip(texts, perplexities, strict=True)
    ]


def repetition(text: str) -> float | None:
    """The share of a text's word trigrams that repeat an earlier one (Welleck et al. 2020)."""
    words = text.split()
    trigrams = list(zip(words, words[1:], words[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else None


def incoherent(measured: Sequence[Coherence], unpushed: Sequence[Coherence]) -> list[bool]:
    """Which answers are no language any more.

    An answer is not if it is empty; if more than half of its trigrams repeat an earlier one; or if
    its perplexity is more than ten times the median of the unpushed answers: 2.3 nats a token less
    likely than what the model itself would say. There is no accepted limit. One drawn from the
    spread of the unpushed answers is far too strict, since greedy answers all lie close to the
    least perplexity that there is; ten times lets odd wording pass and stops word salad.

    Args:
        measured: the answers in question.
        unpushed: those at alpha = 0. Where none has a perplexity, perplexity is no sign.
    """
    usual = [one.perplexity for one in unpushed if one.perplexity is not None]
    limit = UNLIKELY * statistics.median(usual) if usual else math.inf
    return [
        one.words == 0
        or (one.repetition or 0) > REPETITIVE
        or (one.perplexity is not None and one.perplexity > limit)
        for one in measured
    ]


def _perplexities(
    settings: config.Model, requests: Sequence[Request], answers: Sequence[Completion]
) -> list[float | None]:
    model = opened(settings)
    out: list[float | None] = [None] * len(answers)
    rows: list[Row] = []
    places: list[int] = []
    for i, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        one = Labelled(id=str(i), group="", request=request, response=answer, positive=False)
        try:
            rows.append(row_of(model.text, one, "response_mean"))
        except UnreadableError:
            continue
        places.append(i)
    # A position's scores over the vocabulary take far more room than anything else in a forward.
    for batch in padded(rows, max(model.engine.prefill_tokens // 4, 1)):
        for number, value in zip(batch.numbers, _scored(model.model, batch), strict=True):
            out[places[number]] = value
    return out


@torch.inference_mode()
def _scored(model: LanguageModel, batch: Padded) -> list[float | None]:
    """The perplexity of each row's tokens from `start` on, given those before."""
    first = min(row.start for row in batch.rows) - 1
    ids = batch.ids.to(model.device)
    wanted = torch.arange(first, ids.shape[1] - 1, device=ids.device)
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=wanted).logits
    out: list[float | None] = []
    for i, row in enumerate(batch.rows):
        mine = logits[i, row.start - 1 - first : row.stop - 1 - first].float()
        targets = ids[i, row.start : row.stop].to(mine.device)
        loss = float(torch.nn.functional.cross_entropy(mine, targets))
        # Beyond the largest float64 (exp 709) it says no more than that the text is impossible.
        out.append(math.exp(loss) if loss < 700 else None)
    return out
