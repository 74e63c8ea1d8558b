"""Choosing blocks by importance."""

from __future__ import annotations

import math

import numpy as np


def nsa_block_importance(p: np.ndarray, block: int, length: int, stride: int,
                         blocks: int) -> np.ndarray:
    """Equation 9 of arXiv:2502.11089 to the letter, its blocks and windows counted from 1.

    p_slc[j] is the sum over m < block/stride and n < length/stride of
    p_cmp[(block/stride) j - m - n]; windows that don't exist count 0. `p` is [..., windows].
    """
    ratio, overlaps = block // stride, length // stride
    importance = np.zeros((*p.shape[:-1], blocks))
    for j in range(1, blocks + 1):
        for m in range(ratio):
            for n in range(overlaps):
                window = ratio * j - m - n
                if 1 <= window <= p.shape[-1]:
                    importance[..., j - 1] += p[..., window - 1]
    return importance


def topk(importance, present, own: int, top: int, *, first: int = 0, last: int = 0,
         plus: bool = False, kept=None) -> list[int]:
    """The chosen blocks of one row, ascending: forced ones, then by importance.

    `own` is the query's block; `last` counts it as 1. `kept` marks the blocks that may be chosen at
    all, forced or not.
    """
    blocks = len(importance)
    wanted = [*range(first), *(own - n for n in range(last))]
    may = range(blocks) if kept is None else [b for b in range(blocks) if kept[b]]
    forced = list(dict.fromkeys(b for b in wanted if b in may))
    others = [b for b in may if present[b] and b not in forced]
    others.sort(key=lambda b: (math.isnan(importance[b]),
                               0.0 if math.isnan(importance[b]) else -importance[b], b))
    chosen = forced + others[:top] if plus else (forced + others)[:top]
    return sorted(chosen)


def padded(rows: list[list[int]], width: int) -> np.ndarray:
    """Rows of indices as an array, -1 behind each."""
    out = np.full((len(rows), width), -1, dtype=np.int32)
    for n, row in enumerate(rows):
        out[n, :len(row)] = row
    return out
