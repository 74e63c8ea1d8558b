"""Constant widths above common heads' widths: absorbed latent attention, 576 and 512."""

from __future__ import annotations

import numpy as np
import pytest

from harness import close, doubles, normal, program

SOURCE = """
kernel absorbed(q: [B, T, HQ, 576], k: [B, S, H, 576], v: [B, S, H, 512]) -> f32[B, T, HQ, 512] {
  return attend(q, k, v) where j <= i;
}
"""


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    queries, tokens = q.shape[1], k.shape[1]
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    visible = np.arange(tokens) <= np.arange(queries)[:, None] + tokens - queries
    weights = np.exp(np.where(visible, scores, -np.inf))
    return np.einsum("bhts,bshd->bthd", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("queries, tokens, group", [(1, 1, 1), (5, 5, 3), (1, 70, 5), (17, 67, 7)])
def test_absorbed_latent_attention(queries: int, tokens: int, group: int) -> None:
    rng = np.random.default_rng(tokens)
    inputs = (normal(rng, 1, queries, group, 576), normal(rng, 1, tokens, 1, 576),
              normal(rng, 1, tokens, 1, 512))
    expected = attention(*doubles(*inputs))
    close(program(SOURCE)(*inputs), expected)
    compiled = np.asarray(program(SOURCE, target="cpu")(*inputs), dtype=np.float64)
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-5)
