"""Selections that are handed in for groups of tokens and for all heads, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from harness import compile_for, normal, program

BLOCK, TOP = 16, 4


def attend(q, k, v, idx, group):
    """One batch row: [T, HQ, D], [S, H, D], [S, H, DV], [M, heads of a selection, TOP]."""
    tokens, heads, width = q.shape
    keys = np.arange(len(k))
    out = np.zeros((tokens, heads, v.shape[-1]))
    for t, h in np.ndindex(tokens, heads):
        key_head = h * k.shape[1] // heads
        chosen = idx[t // group, h * idx.shape[1] // heads]
        seen = np.isin(keys // BLOCK, chosen) & (keys <= t + len(k) - tokens)
        if not seen.any():
            continue
        scores = k[seen, key_head] @ q[t, h] / width**0.5
        weights = np.exp(scores - scores.max())
        out[t, h] = weights / weights.sum() @ v[seen, key_head]
    return out


def make_source(group, heads, ragged):
    """Without a group, the indices are for each token, and have its dimension."""
    rows = "ragged T" if ragged else "B, T"
    lists = rows.replace("T", "M") if group else rows
    keys = rows.replace("T", "S")
    tokens = f", tokens={group}" if group else ""
    return f"""kernel f(q: [{rows}, HQ, D], k, v: [{keys}, H, D], idx: i32[{lists}, {heads}, {TOP}])
    -> [{rows}, HQ, D]
{{
  return attend(q, k, v) in selection(idx, {BLOCK}{tokens}) where j <= i;
}}"""


def draw(rng, tokens, keys, heads, group, kind):
    count = {"H": heads, "HQ": heads * 3, "1": 1}[kind]
    blocks = -(-keys // BLOCK)
    return (normal(rng, tokens, heads * 3, 8), normal(rng, keys, heads, 8),
            normal(rng, keys, heads, 8),
            rng.integers(-1, blocks, (-(-tokens // (group or 1)), count, TOP)).astype(np.int32))


# Schedules for the CPU; None stands for the oracle.
SCHEDULES = [None, "", "order=union,tokens=3", "order=union,tokens=16", "order=query_major",
             "order=block_major", "order=key_major"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("heads", ["H", "HQ", "1"])
@pytest.mark.parametrize("group", [0, 1, 2, 7, 8, 64])
def test_dense_rows(group, heads, schedule):
    rng = np.random.default_rng(group)
    run = compile_for(schedule, make_source(group, heads, ragged=False))
    for tokens, keys in [(1, 50), (0, 5), (17, 40), (33, 33), (64, 64), (65, 65)]:
        inputs = draw(rng, tokens, keys, 2, group, heads)
        found = run(*(each[None] for each in inputs))[0]
        np.testing.assert_allclose(found, attend(*inputs, group or 1), atol=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("heads", ["H", "HQ", "1"])
@pytest.mark.parametrize("group", [0, 1, 7, 8])
def test_ragged_rows(group, heads, schedule):
    rng = np.random.default_rng(group)
    run = compile_for(schedule, make_source(group, heads, ragged=True))
    rows = [draw(rng, tokens, keys, 2, group, heads)
            for tokens, keys in [(5, 5), (0, 4), (8, 20), (33, 40), (9, 65)]]
    packed = dict(zip(("q", "k", "v", "idx"), map(np.concatenate, zip(*rows))))
    names = {"T": 0, "S": 1} | ({"M": 3} if group else {})
    offsets = {f"{name}_offsets": np.cumsum([0, *(len(row[n]) for row in rows)], dtype=np.int32)
               for name, n in names.items()}
    found = run(**packed, **offsets)
    expected = np.concatenate([attend(*row, group or 1) for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("schedule", ["", "keys=64", "keys=17", "order=block_major, keys=64"])
def test_many_indices_of_few_channels(schedule):
    """Accumulators in the cache would allow more tokens than there is room for their lists."""
    source = """kernel f(q: [B, T, H, D], k, v: [B, S, H, D], idx: i32[B, T, H, 256])
    -> [B, T, H, D] { return attend(q, k, v) in selection(idx, 16); }"""
    rng = np.random.default_rng(1)
    idx = rng.integers(-1, 2, (1, 70, 1, 256)).astype(np.int32)
    inputs = [normal(rng, 1, 70, 1, 4), normal(rng, 1, 20, 1, 4), normal(rng, 1, 20, 1, 4), idx]
    np.testing.assert_allclose(program(source, target="cpu", schedule=schedule)(*inputs),
                               program(source)(*inputs), atol=1e-5)
