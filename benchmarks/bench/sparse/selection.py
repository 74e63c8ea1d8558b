"""Selections by importance, as docs/spec.md defines them, in whole tensors of torch."""
from __future__ import annotations

import torch

# The least distance of the last chosen block and the next one, relative to the greater of them, at
# which rounding doesn't decide between them. Scores come from pooled keys that are rounded as in a
# compiled program; the remaining difference is the f32 of sums and exponentials.
SEPARATION = 2.0**-10
ABSENT = -float("inf")


def make_windows(tokens: int, length: int, stride: int,
                 device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """First token and token behind the last, of each whole window."""
    start = torch.arange(max(0, (tokens - length) // stride + 1), device=device) * stride
    return start, start + length


def pool(x: torch.Tensor, length: int, stride: int) -> torch.Tensor:
    """Means of whole windows of [tokens, size], rounded to x's type as a compiled program stores
    them: [windows, size]."""
    if x.shape[0] < length:
        return x.new_zeros(0, x.shape[1])
    return x.double().unfold(0, length, stride).mean(-1).to(x.dtype)


def share_tokens(tokens: int, length: int, stride: int, block: int,
                 device: torch.device) -> torch.Tensor:
    """Tokens that window and block share, divided by the stride: f64 [windows, blocks]."""
    start, end = (each[:, None] for each in make_windows(tokens, length, stride, device))
    first = torch.arange(-(-tokens // block), device=device) * block
    shared = torch.minimum(end, first + block) - torch.maximum(start, first)
    return shared.clamp(min=0).double() / stride


def select(importance: torch.Tensor, own: torch.Tensor, top: int, first: int,
           last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The blocks that a row takes, bool [rows, blocks], and whether rounding can't change them,
    bool [rows].

    `importance` is [rows, blocks], -inf where absent; `own` [rows] is each row's block. The first
    blocks and the last ones, up to the row's block, are forced; they count among the `top`.
    """
    block = torch.arange(importance.shape[-1], device=importance.device)
    behind = own[:, None] - block
    forced = (block < first) | ((behind >= 0) & (behind < last))
    ranked = importance.masked_fill(forced, float("inf"))
    values, order = ranked.sort(dim=-1, descending=True, stable=True)
    values, order = values[:, :top + 1], order[:, :top]
    chosen = torch.zeros_like(forced).scatter_(1, order, values[:, :top] > ABSENT)
    if values.shape[-1] <= top:
        return chosen, torch.ones_like(own, dtype=torch.bool)
    inside, outside = values[:, top - 1], values[:, top]
    scale = torch.maximum(inside.abs(), outside.abs())
    apart = (outside == ABSENT) | inside.isinf() | (inside - outside > SEPARATION * scale)
    return chosen, apart


def spread(chosen: torch.Tensor, block: int, tokens: int) -> torch.Tensor:
    """Converts bool [rows, blocks] to bool [rows, tokens]."""
    return chosen.repeat_interleave(block, -1)[:, :tokens]
