"""Pooled keys: windows of `length` tokens every `stride` tokens."""

from __future__ import annotations

import numpy as np


def pool(x: np.ndarray, length: int, stride: int | None = None, tail: str | None = None,
         by="mean") -> np.ndarray:
    """Pools [B, S, H, D] along S. `by`: "mean", "max", or weights [length] or [H, length]."""
    stride = length if stride is None else stride
    if tail is None:
        tail = "drop" if length > stride else "average"
    tokens = x.shape[1]
    if tail == "zeros_left":
        x = np.pad(x, ((0, 0), (length - stride, 0), (0, 0), (0, 0)))
    elif tail == "zeros_right":
        x = np.pad(x, ((0, 0), (0, missing(tokens, length, stride)), (0, 0), (0, 0)))

    pooled, start = [], 0
    while start + length <= x.shape[1]:
        pooled.append(reduce(x[:, start:start + length], by))
        start += stride
    # `start` begins the first incomplete window. It counts if it holds a token that no earlier
    # window has.
    if tail == "average" and start < tokens and uncovered(tokens, start, length, stride):
        pooled.append(reduce(x[:, start:], by))
    empty = np.zeros((x.shape[0], 0, *x.shape[2:]))
    return np.stack(pooled, axis=1) if pooled and tokens else empty


def missing(tokens: int, length: int, stride: int) -> int:
    """Number of zeros on the right that complete the windows, so that they cover every token."""
    end = length
    while end < tokens:
        end += stride
    return end - tokens


def uncovered(tokens: int, start: int, length: int, stride: int) -> bool:
    """Whether the window before `start` leaves some of the tokens out."""
    return start == 0 or start - stride + length < tokens


def reduce(window: np.ndarray, by) -> np.ndarray:
    """One value of a window [B, n, H, D]; `n` may be less than there are weights."""
    if isinstance(by, str):
        return window.mean(axis=1) if by == "mean" else window.max(axis=1)
    weights = np.asarray(by, dtype=np.float64)[..., :window.shape[1]]
    weights = np.broadcast_to(weights, (window.shape[2], window.shape[1]))
    return np.einsum("bnhd,hn->bhd", window, weights)
