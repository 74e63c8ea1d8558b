"""Block-sparse attention in an HSTU (arXiv:2402.17152): pointwise SiLU, packed rows."""

from __future__ import annotations

import numpy as np

from reference.dense import silu
from reference.selection import padded, topk


def hstu_bsa(q, k, v, u, g_cmp, g_slc, offsets, *, block=32,
             top=4) -> tuple[np.ndarray, np.ndarray]:
    """Output [ΣT, H, DV] and block indices [ΣT, H, top] of packed rows."""
    out = np.zeros(v.shape)
    indices = np.full((*g_cmp.shape, top), -1, dtype=np.int32)
    for begin, end in zip(offsets[:-1], offsets[1:]):
        row = slice(begin, end)
        for h in range(q.shape[1]):
            cmp, slc, chosen = one_sequence(q[row, h], k[row, h], v[row, h], block, top)
            gated = g_cmp[row, h, None] * cmp + g_slc[row, h, None] * slc
            out[row, h] = gated * u[row, h]
            indices[row, h] = chosen
    return out, indices


def one_sequence(q, k, v, block, top):
    """The compressed and the selected branch of one head, and its block indices."""
    tokens, width = q.shape
    starts = np.arange(0, tokens, block)
    kc = np.array([k[s:s + block].mean(axis=0) for s in starts]).reshape(-1, width)
    vc = np.array([v[s:s + block].mean(axis=0) for s in starts]).reshape(-1, v.shape[1])
    i = np.arange(tokens)[:, None]

    logits = q @ kc.T / np.sqrt(width)
    begun = starts[None, :] <= i
    cmp = np.where(begun, silu(logits) / width, 0.0) @ vc

    rows = [topk(logits[t], begun[t], t // block, top, last=1) for t in range(tokens)]
    chosen = padded(rows, top)
    selected = (chosen[:, :, None] == (np.arange(tokens) // block)).any(axis=1)
    visible = selected & (np.arange(tokens)[None, :] <= i)
    slc = np.where(visible, silu(q @ k.T / np.sqrt(width)) / width, 0.0) @ v
    return cmp, slc, chosen
