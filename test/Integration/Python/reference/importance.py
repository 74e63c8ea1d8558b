"""Importances [B, heads, T, entries] as NumPy's masked arrays: absent entries are masked."""

from __future__ import annotations

import numpy as np
import numpy.ma as ma

from reference.selection import padded, topk

REDUCTIONS = {
    "sum": lambda x, axis: x.sum(axis=axis),
    "mean": lambda x, axis: x.mean(axis=axis),
    "max": lambda x, axis: x.max(axis=axis),
    "first": lambda x, axis: x.take(0, axis=axis),
    "last": lambda x, axis: x.take(-1, axis=axis),
}


def masked(values: np.ndarray, visible: np.ndarray) -> ma.MaskedArray:
    return ma.array(values, mask=~np.broadcast_to(visible, values.shape))


def over_group(p: ma.MaskedArray, heads: int, how: str) -> ma.MaskedArray:
    """Reduces query heads [B, HQ, …] to key heads [B, H, …]."""
    if how == "none":
        return p
    batch, query_heads, *rest = p.shape
    return REDUCTIONS[how](p.reshape(batch, heads, query_heads // heads, *rest), 2)


def over_blocks(p: ma.MaskedArray, extents: list[tuple[int, int]], block: int, blocks: int,
                stride: int, how: str) -> ma.MaskedArray:
    """Reduces pooled keys with token extents [start, end) to blocks of `block` tokens."""
    out = ma.masked_all((*p.shape[:-1], blocks))
    for n in range(blocks):
        shared = [len(range(max(start, n * block), min(end, (n + 1) * block)))
                  for start, end in extents]
        touching = [j for j, tokens in enumerate(shared) if tokens]
        if not touching:
            continue
        entries = p[..., touching]
        if how == "overlap":
            entries = entries * (np.array(shared)[touching] / stride)
        out[..., n] = REDUCTIONS["sum" if how == "overlap" else how](entries, -1)
    return out


def choose(p: ma.MaskedArray, own: np.ndarray, top: int, *, allowed=None, count=None,
           width: int | None = None, **forced) -> np.ndarray:
    """Block indices [B, T, heads, width] of an importance [B, heads, T, blocks].

    `own` [T] are the queries' blocks, `allowed` [T, blocks] the blocks that `where` allows, `count`
    [B, T, heads] the number that each row may have.
    """
    batch, heads, queries, blocks = p.shape
    values, present = p.filled(-np.inf), ~ma.getmaskarray(p)
    out = np.empty((batch, queries, heads, width or top), dtype=np.int32)
    for b in range(batch):
        for h in range(heads):
            rows = []
            for t in range(queries):
                limit = top if count is None else min(top, count[b, t, h])
                kept = None if allowed is None else allowed[t]
                rows.append(topk(values[b, h, t], present[b, h, t], own[t], limit, kept=kept,
                                 **forced))
            out[b, :, h] = padded(rows, width or top)
    return out
