"""Methods that are one softmax under a mask."""

from __future__ import annotations

import numpy as np

from reference.dense import attend, positions


def causal(tokens: int, queries: int) -> np.ndarray:
    return np.arange(tokens)[None, :] <= positions(tokens, queries)


def flash(q, k, v):
    """arXiv:2205.14135: output and log-sum-exp of causal attention."""
    return attend(q, k, v, causal(k.shape[1], q.shape[1]))


def softcap_alibi(q, k, v, slope, cap=50.0):
    """arXiv:2408.00118 (soft-capping) and arXiv:2108.12409 (distance bias)."""
    tokens, queries = k.shape[1], q.shape[1]
    distance = np.arange(tokens)[None, :] - positions(tokens, queries)

    def bias(s):
        return cap * np.tanh(s / cap) + np.asarray(slope)[None, :, None, None] * distance

    return attend(q, k, v, causal(tokens, queries), bias=bias)[0]


def window_sink(q, k, v, logit, window=128, anchors=4):
    """arXiv:2309.17453, with a learned logit per head in the denominator."""
    tokens, queries = k.shape[1], q.shape[1]
    i, j = positions(tokens, queries), np.arange(tokens)[None, :]
    visible = (j <= i) & ((j > i - window) | (j < anchors))
    return attend(q, k, v, visible, sink=logit)[0]


def document_mask(q, k, v, doc):
    tokens, queries = k.shape[1], q.shape[1]
    same = doc[:, tokens - queries:, None] == doc[:, None, :]
    return attend(q, k, v, (same & causal(tokens, queries))[:, None])[0]


def block_sparse(q, k, v, idx, block=64):
    """`idx` [B, T, H, K]: the key blocks of each query and key head, -1 for none."""
    tokens, queries = k.shape[1], q.shape[1]
    group = q.shape[2] // k.shape[2]
    chosen = block_mask(idx, block, tokens).repeat(group, axis=1)
    return attend(q, k, v, chosen & causal(tokens, queries))[0]


def paged_decode(q, k, v, table, filled, page=16):
    """arXiv:2309.06180: the tokens in the filled places of each query's pages."""
    tokens, group = k.shape[1], q.shape[2] // k.shape[2]
    visible = np.zeros((q.shape[0], k.shape[2], q.shape[1], tokens), bool)
    for b, t, h in np.ndindex(table.shape[:3]):
        for number in table[b, t, h]:
            if number >= 0:
                begin = number * page
                visible[b, h, t, begin:begin + filled[b, number]] = True
    return attend(q, k, v, visible.repeat(group, axis=1))[0]


def draft_tree(q, k, v, tree):
    """arXiv:2305.09781: all committed tokens, and the drafted ones on the path from the root."""
    committed = k.shape[1] - q.shape[1]
    before = np.ones((*tree.shape[:2], committed), bool)
    return attend(q, k, v, np.concatenate([before, tree], axis=2)[:, None])[0]


def block_mask(idx: np.ndarray, block: int, tokens: int) -> np.ndarray:
    """The tokens that the block indices [B, T, H, K] name: [B, H, T, S]."""
    of_token = np.arange(tokens) // block
    return (idx[..., None] == of_token).any(axis=-2).transpose(0, 2, 1, 3)


def mla(q, k, v, mscale=1.0):
    """arXiv:2405.04434 after the up-projections; `mscale` as in arXiv:2309.00071."""
    scale = mscale ** 2 / np.sqrt(q.shape[-1])
    return attend(q, k, v, causal(k.shape[1], q.shape[1]), scale=scale)[0]
