"""The likelihood of label strings behind prefilled prompts, in one forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from trace.models.hf.forward import LanguageModel, Prefilled


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
