"""The forward computations of written answers: prefill and decode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache

from trace.models.hf import cache as kv

LanguageModel = Any
"""A transformers `…ForCausalLM` in eval mode."""


@dataclass(frozen=True, kw_only=True)
class Prefilled:
    """Right-padded rows after one forward: their cache, true lengths, and last logits.

    `lengths` count the shared prefix. `logits` is [rows, vocabulary], float32: the distribution
    of the token after each row.
    """

    cache: Cache
    lengths: list[int]
    logits: torch.Tensor


@torch.inference_mode()
def prefill(
    model: LanguageModel,
    rows: Sequence[Sequence[int]],
    *,
    prefix: Cache | None = None,
    spare: int = 0,
) -> Prefilled:
    """Computes the prompts `rows` in one forward, without a padding mask.

    The padding stands on the right, where a causal model cannot see it, so the fast causal
    kernel serves.

    Args:
        model: the language model.
        rows: token ids, without those of the prefix.
        prefix: the cache of a beginning that all rows share.
        spare: positions to set aside behind the longest row.
    """
    device = model.device
    done = prefix.get_seq_length() if prefix is not None else 0
    width = max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    capacity = done + width + spare
    cache = kv.continued(prefix, len(rows), capacity) if prefix is not None else kv.empty(capacity)
    last = torch.tensor([len(row) - 1 for row in rows], device=device)
    wanted, where = torch.unique(last, return_inverse=True)
    output = model(
        input_ids=ids.to(device),
        position_ids=torch.arange(done, done + width, device=device)[None],
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=wanted,
    )
    # With a device map the last layer may lie elsewhere than the first.
    logits = output.logits.to(device)[torch.arange(len(rows), device=device), where].float()
    return Prefilled(cache=cache, lengths=[done + len(row) for row in rows], logits=logits)


Pick = Callable[[int, torch.Tensor], int]
"""(row, logits [vocabulary]) -> the next token's id."""
Finished = Callable[[int, list[int]], bool]
"""(row, the tokens so far) -> whether the row ends here."""
Aim = Callable[[Sequence[int], Sequence[int] | None], None]
"""(the rows that the next forward holds, where in it the last token of each stands; None: last)"""


def unaimed(rows: Sequence[int], last: Sequence[int] | None) -> None:
    """For forwards that nobody steers."""


@torch.inference_mode()
def decode(
    model: LanguageModel,
    parts: Sequence[Prefilled],
    *,
    new_tokens: Sequence[int],
    pick: Pick | None,
    finished: Finished,
    aim: Aim = unaimed,
) -> list[list[int]]:
    """Continues the rows of all `parts` together, token by token, until each has ended.

    Args:
        model: the language model.
        parts: the prefilled batches; rows are numbered through them in order.
        new_tokens: for each row, how many tokens it may get.
        pick: how a row's token is drawn; None takes the likeliest (greedy).
        finished: asked after every token of a row.
        aim: told before every forward which rows are left in it.

    Returns:
        For each row its new tokens, the last one included; nothing for a row whose scores were
        not finite numbers at some step (an overflow of float16, say).
    """
    device = model.device
    lengths = [length for part in parts for length in part.lengths]
    width = max(lengths)
    room = width + max(new_tokens)
    cache = kv.joined([(part.cache, part.lengths) for part in parts], room)
    mask = torch.zeros(len(lengths), room, dtype=torch.long, device=device)
    for i, length in enumerate(lengths):
        mask[i, width - length :] = 1
    logits = torch.cat([part.logits for part in parts])
    out: list[list[int]] = [[] for _ in lengths]
    rows = list(range(len(lengths)))  # the row that each line of the cache holds
    live = set(rows)
    while True:
        best, likeliest = logits.max(-1)
        for row, finite in zip(rows, best.isfinite().tolist(), strict=True):
            if row in live and not finite:
                live.discard(row)
                out[row] = []
        if pick is None:
            tokens = likeliest.tolist()
        else:
            tokens = [pick(row, logits[i]) if row in live else 0 for i, row in enumerate(rows)]
        for row, token in zip(rows, tokens, strict=True):
            if row in live:
                out[row].append(token)
                if len(out[row]) >= new_tokens[row] or finished(row, out[row]):
                    live.discard(row)
        if not live:
            return out
        if 2 * len(live) <= len(rows):  # half of the work would be for nothing
            kept = [i for i, row in enumerate(rows) if row in live]
            index = torch.tensor(kept, device=device)
            kv.keep_rows(cache, index)
            mask, rows = mask[index], [rows[i] for i in kept]
            tokens = [tokens[i] for i in kept]
        filled = cache.get_seq_length()
        step = filled - width
        positions = [[lengths[row] + step] for row in rows]
        aim(rows, None)
        output = model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            attention_mask=mask[:, : filled + 1],
            position_ids=torch.tensor(positions, device=device),
            past_key_values=cache,
            use_cache=True,
        )
        logits = output.logits[:, -1].float().to(device)
