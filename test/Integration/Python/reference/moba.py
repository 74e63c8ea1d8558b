"""Mixture of Block Attention (arXiv:2502.13189)."""

from __future__ import annotations

import numpy as np

from reference.dense import attend, per_query_head
from reference.masks import block_mask, causal


def moba(q, k, v, *, block=64, top=3) -> tuple[np.ndarray, np.ndarray]:
    """Output and block indices [B, T, HQ, top]: equations 3 to 6, one query and head at a time."""
    batch, queries, query_heads, _ = q.shape
    tokens = k.shape[1]
    keys = per_query_head(k, query_heads)
    indices = np.full((batch, queries, query_heads, top), -1, dtype=np.int32)
    for b in range(batch):
        for t in range(queries):
            position = t + tokens - queries
            for h in range(query_heads):
                chosen = gate(q[b, t, h], keys[b, :, h], position, block, top)
                indices[b, t, h, :len(chosen)] = chosen
    chosen = block_mask(indices, block, tokens)
    return attend(q, k, v, chosen & causal(tokens, queries))[0], indices


def gate(query, keys, position: int, block: int, top: int) -> list[int]:
    """The query's block, and the past blocks with the mean keys that agree best with it."""
    if position < 0:
        return []
    own = position // block
    affinity = {n: query @ keys[n * block:(n + 1) * block].mean(axis=0) for n in range(own)}
    affinity[own] = np.inf
    best = sorted(affinity, key=lambda n: (-affinity[n], n))
    return sorted(best[:top])
