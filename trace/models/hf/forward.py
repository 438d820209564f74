"""The three forward computations: prefill, decode, and the likelihood of label strings."""

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


@torch.inference_mode()
def decode(
    model: LanguageModel,
    parts: Sequence[Prefilled],
    *,
    new_tokens: Sequence[int],
    pick: Pick | None,
    finished: Finished,
) -> list[list[int]]:
    """Continues the rows of all `parts` together, token by token, until each has ended.

    Args:
        model: the language model.
        parts: the prefilled batches; rows are numbered through them in order.
        new_tokens: for each row, how many tokens it may get.
        pick: how a row's token is drawn; None takes the likeliest (greedy).
        finished: asked after every token of a row.

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
        output = model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            attention_mask=mask[:, : filled + 1],
            position_ids=torch.tensor(positions, device=device),
            past_key_values=cache,
            use_cache=True,
        )
        logits = output.logits[:, -1].float().to(device)


@torch.inference_mode()
def label_logprobs(
    model: LanguageModel, part: Prefilled, branches: Sequence[Sequence[int]]
) -> torch.Tensor:
    """The summed log-likelihood of each branch of tokens after each prefilled row.

    All branches of all rows go through one forward: a tree mask lets a token see its row's
    prompt and its own branch only, and positions start again in every branch.

    Args:
        model: the language model.
        part: the rows, prefilled with room for all branch tokens.
        branches: token ids, none empty; the same for every row.

    Returns:
        [rows, branches], float32, in nats.
    """
    device = model.device
    first = torch.log_softmax(part.logits, -1)
    out = torch.stack([first[:, branch[0]] for branch in branches], dim=1)
    if all(len(branch) == 1 for branch in branches):
        return out
    flat = [token for branch in branches for token in branch[:-1]]
    owner = [b for b, branch in enumerate(branches) for _ in branch[:-1]]
    depth = [d for branch in branches for d in range(len(branch) - 1)]
    lengths = torch.tensor(part.lengths, device=device)
    positions = lengths[:, None] + torch.tensor(depth, device=device)
    masks = tree_mask(part, torch.tensor(owner, device=device), positions)
    output = model(
        input_ids=torch.tensor([flat] * len(part.lengths), device=device),
        attention_mask=_for_layers(model.config, masks),
        position_ids=positions,
        past_key_values=part.cache,
        use_cache=True,
    )
    at = 0
    for b, branch in enumerate(branches):
        logits = output.logits[:, at : at + len(branch) - 1].float().to(device)
        logprobs = torch.log_softmax(logits, -1)
        next_tokens = torch.tensor(branch[1:], device=device).expand(len(part.lengths), -1)
        out[:, b] += logprobs.gather(-1, next_tokens[..., None]).sum((1, 2))
        at += len(branch) - 1
    return out


def tree_mask(
    part: Prefilled, owner: torch.Tensor, positions: torch.Tensor
) -> Callable[..., torch.Tensor]:
    """The mask of branch tokens over the cache and themselves.

    Args:
        part: the prefilled rows, padded to the cache's filled length.
        owner: [tokens], the branch of each branch token.
        positions: [rows, tokens], the position of each.

    Returns:
        A function of the sliding window, or of the size of the chunks that attention stays in
        (None: no limit), that gives a boolean mask [rows, 1, tokens, filled + tokens], true where
        a token may look.
    """
    device = positions.device
    filled = part.cache.get_seq_length()
    slot = torch.arange(filled, device=device)
    lengths = torch.tensor(part.lengths, device=device)
    count = len(owner)
    order = torch.arange(count, device=device)
    own = (owner[:, None] == owner[None, :]) & (order[None, :] <= order[:, None])
    prompt = (slot < lengths[:, None])[:, None, :].expand(-1, count, -1)
    visible = torch.cat([prompt, own.expand(len(lengths), -1, -1)], dim=2)
    where = torch.cat([slot.expand(len(lengths), -1), positions], dim=1)

    def of(window: int | None, chunk: int | None = None) -> torch.Tensor:
        if chunk is not None:
            near = positions[:, :, None] // chunk == where[:, None, :] // chunk
        elif window is not None:
            near = positions[:, :, None] - where[:, None, :] < window
        else:
            return visible[:, None]
        return (visible & near)[:, None]

    return of


def _for_layers(
    config: Any, mask: Callable[..., torch.Tensor]
) -> torch.Tensor | dict[str, torch.Tensor]:
    """The mask in the form the model wants: one, or one for each kind of layer."""
    text = config.get_text_config()
    if text._attn_implementation == "eager":  # adds its mask to the scores
        visible = mask
        lowest = torch.finfo(torch.float32).min

        def mask(*limits: int | None) -> torch.Tensor:
            seen = visible(*limits)
            return torch.zeros_like(seen, dtype=torch.float32).masked_fill(~seen, lowest)

    window = getattr(text, "sliding_window", None)
    kinds = set(getattr(text, "layer_types", None) or ())
    if len(kinds) > 1:
        chunk = getattr(text, "attention_chunk_size", None)
        limits = {"sliding_attention": (window,), "chunked_attention": (None, chunk)}
        return {kind: mask(*limits.get(kind, (None,))) for kind in kinds}
    if kinds == {"full_attention"} or not getattr(text, "use_sliding_window", True):
        return mask(None)
    return mask(window)
