"""Native Sparse Attention (arXiv:2502.11089)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.dense import attend, positions, scores, softmax
from reference.masks import block_mask, causal
from reference.pooling import pool
from reference.selection import nsa_block_importance, padded, topk


@dataclass
class Nsa:
    out: np.ndarray
    indices: np.ndarray  # [B, T, H, top]
    compressed: np.ndarray
    selected: np.ndarray
    windowed: np.ndarray


def nsa(q, k, v, g_cmp, g_slc, g_swa, *, block=64, top=16, length=32, stride=16, window=512,
        w_k="mean", w_v="mean", own_token=False) -> Nsa:
    """Equations 5 to 12, with one block always first and two always last (section 3.3.2).

    The paper's queries see a window that ends with their token; published programs differ.
    `own_token` chooses this; without it a window has to end before the query.
    """
    tokens, queries = k.shape[1], q.shape[1]
    i = positions(tokens, queries)
    kc = pool(k, length, stride, by=w_k)
    vc = pool(v, length, stride, by=w_v)

    last_tokens = np.arange(kc.shape[1]) * stride + length - 1
    visible = last_tokens[None, :] <= (i if own_token else i - 1)
    compressed, _ = attend(q, kc, vc, visible)

    indices = select(q, kc, visible, tokens, block, top, length, stride)
    group = q.shape[2] // k.shape[2]
    chosen = block_mask(indices, block, tokens).repeat(group, axis=1)
    selected, _ = attend(q, k, v, chosen & causal(tokens, queries))

    distance = i - np.arange(tokens)[None, :]
    windowed, _ = attend(q, k, v, (distance >= 0) & (distance < window))

    out = (g_cmp[..., None] * compressed + g_slc[..., None] * selected
           + g_swa[..., None] * windowed)
    return Nsa(out, indices, compressed, selected, windowed)


def select(q, kc, visible, tokens, block, top, length, stride) -> np.ndarray:
    """Equations 8 to 12: block indices [B, T, H, top] shared by the heads of a group."""
    batch, queries, query_heads, _ = q.shape
    heads = kc.shape[2]
    blocks = -(-tokens // block)
    p, _ = softmax(scores(q, kc), visible)
    shared = p.reshape(batch, heads, query_heads // heads, queries, p.shape[-1])
    shared = shared.sum(axis=2)
    importance = nsa_block_importance(shared, block, length, stride, blocks)
    # A block is a candidate when a visible window reaches into it.
    seen = nsa_block_importance(visible.astype(float), block, length, stride, blocks) > 0

    out = np.full((batch, queries, heads, top), -1, dtype=np.int32)
    own = positions(tokens, queries)[:, 0] // block
    for b in range(batch):
        for h in range(heads):
            rows = [topk(importance[b, h, t], seen[t], own[t], top, first=1, last=2)
                    for t in range(queries)]
            out[b, :, h] = padded(rows, top)
    return out
