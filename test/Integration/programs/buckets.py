"""T5's buckets of distances (arXiv:1910.10683): as formulas of a program, and as published."""

from __future__ import annotations

import math

import torch


def t5_buckets(relative: torch.Tensor, bidirectional: bool, buckets=32, most=128) -> torch.Tensor:
    """_relative_position_bucket of the published T5, in PyTorch's f32."""
    result = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        result += (relative > 0).long() * buckets
        relative = relative.abs()
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = exact + (torch.log(relative.float() / exact) / math.log(most / exact)
                     * (buckets - exact)).to(torch.long)
    large = torch.min(large, torch.full_like(large, buckets - 1))
    return result + torch.where(relative < exact, relative, large)


# Distances, and the buckets of formulas that divide by log(16) and log(8).
T5 = {
    True: "select(j > i, 16, 0) + select(abs(j - i) < 8, abs(j - i),"
          " min(8 + int(log(abs(j - i) / 8) / log(16) * 8), 15))",
    False: "select(max(i - j, 0) < 16, max(i - j, 0),"
           " min(16 + int(log(max(i - j, 0) / 16) / log(8) * 16), 31))",
}


def t5_program(bidirectional: bool) -> str:
    """With v the identity and equal scores, row i of the result has the bucket of (i, j) at j."""
    return f"""kernel buckets(q: [B, T, H, D], k: [B, S, H, D], v: [B, S, H, DV])
        -> f32[B, T, H, DV] {{ return attend(q, k, v) weight float({T5[bidirectional]}); }}"""


def t5_table(tokens: int, bidirectional: bool) -> torch.Tensor:
    position = torch.arange(tokens)
    return t5_buckets(position[None, :] - position[:, None], bidirectional)
