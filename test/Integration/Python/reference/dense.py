"""Attention over a dense matrix of pairs [B, HQ, T, S]."""

from __future__ import annotations

import numpy as np


def positions(tokens: int, queries: int) -> np.ndarray:
    """The absolute positions of the queries, as a column [T, 1]."""
    return (np.arange(queries) + tokens - queries)[:, None]


def per_query_head(x: np.ndarray, query_heads: int) -> np.ndarray:
    """Repeats key heads: query head h reads key head h // (HQ / H)."""
    return np.repeat(x, query_heads // x.shape[2], axis=2)


def scores(q: np.ndarray, k: np.ndarray, scale: float | None = None) -> np.ndarray:
    """scale * q·k of every pair, [B, HQ, T, S]."""
    if scale is None:
        scale = q.shape[-1] ** -0.5
    return scale * np.einsum("bthd,bshd->bhts", q, per_query_head(k, q.shape[2]))


def softmax(s: np.ndarray, visible: np.ndarray,
            sink: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [B, HQ, T, S] and log-sum-exps [B, HQ, T] of the visible scores."""
    s = np.where(visible, s, -np.inf)
    largest = s.max(axis=-1, initial=-np.inf)
    if sink is not None:
        largest = np.maximum(largest, sink)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        total = np.exp(s - shift[..., None]).sum(axis=-1)
        if sink is not None:
            total = total + np.exp(sink - shift)
        lse = shift + np.log(total)
        p = np.where(s == -np.inf, 0.0, np.exp(s - lse[..., None]))
    return p, lse


def weigh(w: np.ndarray, present: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The sum of w v over the present pairs, [B, T, HQ, DV].

    A pair that is not present adds nothing at all: a product with a zero weight would let the NaNs
    of unseen values through.
    """
    v = per_query_head(v, w.shape[1])
    present = np.broadcast_to(present, w.shape)
    out = np.zeros((w.shape[0], w.shape[2], w.shape[1], v.shape[-1]))
    for h in range(w.shape[1]):
        with np.errstate(invalid="ignore"):
            terms = w[:, h, :, :, None] * v[:, None, :, h, :]
        out[:, :, h] = np.where(present[:, h, :, :, None], terms, 0.0).sum(axis=2)
    return out


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, visible: np.ndarray, *,
           scale: float | None = None, bias=None,
           sink: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Softmax attention: output [B, T, HQ, DV] and log-sum-exp [B, T, HQ].

    `bias` maps the scaled scores to the scores of the softmax; `sink` is one logit per query head.
    """
    s = scores(q, k, scale)
    if bias is not None:
        s = bias(s)
    if sink is not None:
        sink = np.asarray(sink)[None, :, None]
    p, lse = softmax(s, visible, sink)
    present = visible & (s != -np.inf)
    return weigh(p, present, v), lse.transpose(0, 2, 1)


def silu(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x / (1.0 + np.exp(-x))
