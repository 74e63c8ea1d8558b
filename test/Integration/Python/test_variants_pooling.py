"""Pooling: windows, tails, functions, and pooled keys handed in."""

from __future__ import annotations

import numpy as np
import pytest

from harness import close, doubles, normal, program, qkv
from reference.dense import attend, positions
from reference.pooling import pool

TAILS = ("drop", "average", "zeros_left", "zeros_right")
WINDOWS = [(1, 1), (3, 3), (8, 8), (8, 4), (6, 2), (9, 3), (5, 1), (64, 16)]

# Query t sees pooled key t alone, so its output is pooled value t.
POOLED = """
kernel pooled<len = 1, stride = 1>(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]{inputs})
    -> [B, T, HQ, DV]
{{
  return attend(q, pool(k, len, stride{options}), pool(v, len, stride{options})) where j == t;
}}
"""


def check(length, stride, options, *, inputs="", extra=(), tail=None, by="mean"):
    compiled = program(POOLED.format(options=options, inputs=inputs), len=length, stride=stride)
    around = (length - 1, length, length + 1, 2 * length, 2 * length + stride - 1)
    for tokens in {0, 1, 2, 29, *around}:
        q, k, v = qkv(np.random.default_rng(1), 40, tokens, heads=3)
        expected = pool(*doubles(v), length, stride, tail, by)
        shown = np.zeros((2, 40, 3, v.shape[-1]))
        shown[:, :expected.shape[1]] = expected  # and no window behind the last
        close(compiled(q, k, v, *extra), shown)


@pytest.mark.parametrize("length, stride", WINDOWS)
@pytest.mark.parametrize("tail", TAILS)
def test_mean(length, stride, tail):
    check(length, stride, f", tail={tail}", tail=tail)


@pytest.mark.parametrize("length, stride", WINDOWS)
@pytest.mark.parametrize("tail", TAILS)
def test_max(length, stride, tail):
    check(length, stride, f", tail={tail}, by=max", tail=tail, by="max")


@pytest.mark.parametrize("length, stride", WINDOWS)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("per_head", (False, True))
def test_learned_weights(length, stride, tail, per_head):
    rng = np.random.default_rng(2)
    weights = normal(rng, 3, length) if per_head else normal(rng, length)
    inputs = ", w: f32[H, len]" if per_head else ", w: f32[len]"
    check(length, stride, f", tail={tail}, by=w", inputs=inputs, extra=(weights,), tail=tail,
          by=weights.astype(np.float64))


@pytest.mark.parametrize("length, stride", WINDOWS)
def test_default_tail_drops_overlapping_and_averages_disjoint_windows(length, stride):
    check(length, stride, "", tail="drop" if length > stride else "average")


@pytest.mark.parametrize("predicate, last_seen", [("end(j) - 1 <= i", 0), ("end(j) <= i", -1),
                                                  ("end(j) - 1 < i", -1)])
@pytest.mark.parametrize("tail", TAILS)
def test_visible_from_the_last_token_on(predicate, last_seen, tail):
    visibility(f"{predicate}", tail, lambda starts, ends, i: ends - 1 <= i + last_seen)


@pytest.mark.parametrize("tail", TAILS)
def test_visible_from_the_first_token_on(tail):
    visibility("start(j) <= i", tail, lambda starts, ends, i: starts <= i)


def visibility(predicate, tail, visible):
    compiled = program(f"""
kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {{
  return attend(q, pool(k, 6, 3, tail={tail}), pool(v, 6, 3, tail={tail})) where {predicate};
}}""")
    args = qkv(np.random.default_rng(3), 20, 23, group=2)
    q, k, v = doubles(*args)
    kc, vc = pool(k, 6, 3, tail), pool(v, 6, 3, tail)
    starts = np.arange(kc.shape[1]) * 3 - (3 if tail == "zeros_left" else 0)
    seen = visible(starts[None, :], starts[None, :] + 6, positions(23, 20))
    close(compiled(*args), attend(q, kc, vc, seen)[0])


@pytest.mark.parametrize("offset, memory", [(0, 0), (5, 0), (0, 2), (3, 1)])
def test_pooled_keys_handed_in(offset, memory):
    compiled = program(f"""
kernel f(q: [B, T, HQ, D], kc: [B, N, H, D], vc: [B, N, H, DV], k: [B, S, H, D])
    -> [B, T, HQ, DV] {{
  kp = pooled(kc, 8, 4, offset={offset}, memory={memory}, of=S);
  vp = pooled(vc, 8, 4, offset={offset}, memory={memory}, of=S);
  return attend(q, kp, vp) where end(j) <= i and start(j) != 4;
}}""")
    rng = np.random.default_rng(4)
    q, kc, vc = qkv(rng, 10, 6, group=3)
    k = normal(rng, 2, 30, 2, 8)
    starts = np.concatenate([np.zeros(memory), offset + 4 * np.arange(6 - memory)])
    ends = np.concatenate([np.zeros(memory), starts[memory:] + 8])
    seen = (ends[None, :] <= positions(30, 10)) & (starts[None, :] != 4)
    close(compiled(q, kc, vc, k), attend(*doubles(q, kc, vc), seen)[0])
