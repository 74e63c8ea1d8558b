"""Importances of blocks that windows don't divide, at scores of any size (docs/spec.md, 3.3-3.5).

A program computes the scores of such blocks one column at a time, and their log-sum-exp in tiles:
the weights add up to 1 if both are the same bits.
"""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import with_defaults

SHAPES = [(2, 2, 3), (4, 2, 3), (4, 2, 5), (3, 3, 5), (8, 4, 2), (8, 4, 6), (8, 8, 3), (2, 2, 1),
          (4, 4, 2), (2, 2, 4), (1, 1, 3)]
SCORES = {"plain": "", "curved": "score s * 1.5 + 0.25 * j", "scaled": "scale 0.3",
          "capped": "score 1e6 * tanh(s / 3e6)"}
SIZES = (1e1, 1e4, 1e9)


def weights(length: int, stride: int, block: int, score: str, value: str) -> nsacc.Program:
    source = ("kernel f(q: [B, T, H, D], k: [B, S, H, D]) -> f32[B, T, H, N] { "
              f"p = prob(attend(q, pool(k, {length}, {stride}, tail=drop)) {score}); "
              f"return blocks({value}, {block}); }}")
    return nsacc.compile(source, **with_defaults({"target": "cpu"}))


def inputs(size: float, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return tuple((rng.standard_normal((1, n, 2, 16)) * size**0.5).astype(np.float32)
                 for n in (5, tokens))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_add_up_to_one(shape: tuple[int, int, int], score: str, size: float) -> None:
    length, stride, block = shape
    found = weights(*shape, SCORES[score], "p")(*inputs(size, 6 * length))
    # Each window has a share of length / stride over all blocks.
    np.testing.assert_allclose(np.asarray(found).sum(axis=-1), length / stride, rtol=1e-5)


@pytest.mark.parametrize("value", ["p", "p * 2"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_key_has_all_weight(shape: tuple[int, int, int], value: str) -> None:
    length, stride, block = shape
    found = weights(*shape, "", value)(*inputs(1e9, length))
    ends = np.arange(1, found.shape[-1] + 1) * block
    shared = (np.minimum(ends, length) - (ends - block)) / stride
    expected = shared * (2 if "2" in value else 1)
    np.testing.assert_allclose(np.asarray(found), np.broadcast_to(expected, found.shape), rtol=1e-6)
