"""Packed rows: each row equals the formula's result for it alone."""

from __future__ import annotations

import numpy as np
import pytest

from harness import EXAMPLES, close, doubles, normal, program, same
from reference.dense import attend, positions, scores
from reference.importance import choose, masked, over_group
from reference.masks import block_mask, block_sparse, causal
from reference.nsa import nsa
from reference.pooling import pool

OPTIONS = {"block": 16, "top": 4, "len": 8, "stride": 4, "window": 10}
# (queries, tokens) of each row: empty ones, decoding, around a block, more queries than tokens.
LENGTHS = ([], [(0, 0)], [(5, 5), (0, 40), (1, 70), (0, 0), (33, 33)],
           [(3, 1), (15, 15), (16, 17), (9, 0)])
LAST = [(37, 45), (0, 9), (1, 8), (12, 64)]


def packed_offsets(lengths, side):
    return np.concatenate([[0], np.cumsum([n[side] for n in lengths])]).astype(np.int32)


def rows(lengths, queries, tokens):
    """For each row: its slice of the queries, and its queries and keys as dense fp64 batches."""
    q_offsets, k_offsets = packed_offsets(lengths, 0), packed_offsets(lengths, 1)
    for b in range(len(lengths)):
        at = slice(q_offsets[b], q_offsets[b + 1])
        keys = slice(k_offsets[b], k_offsets[b + 1])
        yield (at, *(x[None] for x in doubles(*(x[at] for x in queries))),
               *(x[None] for x in doubles(*(x[keys] for x in tokens))))


def inputs(lengths, group=2, heads=2, seed=0):
    rng = np.random.default_rng(seed)
    offsets = packed_offsets(lengths, 0), packed_offsets(lengths, 1)
    queries, tokens = int(offsets[0][-1]), int(offsets[1][-1])
    return (rng, normal(rng, queries, heads * group, 8), normal(rng, tokens, heads, 8),
            normal(rng, tokens, heads, 12), offsets)


def packed(text: str) -> str:
    for name in "TS":
        text = text.replace(f"[B, {name},", f"[ragged {name},")
    return text


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("group", (1, 5))
def test_nsa(lengths, group):
    text = packed((EXAMPLES / "nsa.nsa").read_text())
    text = text.replace("-> [ragged T, HQ, DV]",
                        "-> (out: [ragged T, HQ, DV], idx: i32[ragged T, H, top])")
    compiled = program(text.replace(" * swa;", " * swa, indices(sel);"), **OPTIONS)
    rng, q, k, v, offsets = inputs(lengths, group)
    gates = [normal(rng, *q.shape[:2]) for _ in range(3)]
    out, idx = compiled(q, k, v, *gates, *offsets)
    for at, q1, g1, g2, g3, k1, v1 in rows(lengths, (q, *gates), (k, v)):
        options = {name: OPTIONS[name] for name in ("block", "top", "stride", "window")}
        expected = nsa(q1, k1, v1, g1, g2, g3, length=OPTIONS["len"], **options)
        same(idx[at], expected.indices[0])
        close(out[at], expected.out[0])


def test_selections_handed_in():
    compiled = program(packed((EXAMPLES / "block_sparse.nsa").read_text()), block=8, top=3)
    rng, q, k, v, offsets = inputs(LAST)
    blocks = np.concatenate([np.full(n, -(-tokens // 8)) for n, tokens in LAST])
    idx = np.floor(rng.random((len(q), 2, 3)) * (blocks[:, None, None] + 1)).astype(np.int32) - 1
    out = compiled(q, k, v, idx, *offsets)
    for at, q1, k1, v1 in rows(LAST, (q,), (k, v)):
        close(out[at], block_sparse(q1, k1, v1, idx[at][None], block=8)[0])


@pytest.mark.parametrize("clauses, share, last", [
    ("share tokens 4 by last", 4, True), ("share tokens 4 by first", 4, False),
    ("keep last 1", 1, True)])
def test_sharing_starts_anew_in_each_row(clauses, share, last):
    compiled = program(f"""
kernel f<top = 2>(q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV])
    -> (out: [ragged T, HQ, DV], idx: i32[ragged T, H, top]) {{
  sel = topk(score(attend(q, pool(k, 8)) where start(j) <= i), top) {clauses};
  return attend(q, k, v) in sel where j <= i, indices(sel);
}}""")
    _, q, k, v, offsets = inputs(LAST)
    out, idx = compiled(q, k, v, *offsets)
    for at, q1, k1, v1 in rows(LAST, (q,), (k, v)):
        tokens, queries = k1.shape[1], q1.shape[1]
        kc = pool(k1, 8)
        i = positions(tokens, queries)
        begun = 8 * np.arange(kc.shape[1]) <= i
        p = over_group(masked(scores(q1, kc), begun), 2, "sum")
        representatives = np.arange(queries)
        for t in range(queries):
            mates = np.flatnonzero(i[:, 0] // share == i[t, 0] // share)
            representatives[t] = mates[-1] if last else mates[0]
        forced = {"last": 1} if "keep" in clauses else {}
        expected = choose(p[:, :, representatives], i[representatives, 0] // 8, 2, **forced)
        same(idx[at], expected[0])
        chosen = block_mask(expected, 8, tokens).repeat(2, axis=1)
        close(out[at], attend(q1, k1, v1, chosen & causal(tokens, queries))[0][0])


def test_importance_has_the_width_of_the_longest_row():
    compiled = program("""
kernel f(q: [ragged T, HQ, D], k: [ragged S, H, D]) -> f32[ragged T, H, N] {
  return score(attend(q, pool(k, 8)) where end(j) <= i, heads=max);
}""")
    _, q, k, _, offsets = inputs(LAST)
    shown = np.asarray(compiled(q, k, *offsets))
    assert shown.shape == (len(q), 2, 8)
    for at, q1, k1 in rows(LAST, (q,), (k,)):
        tokens, queries = k1.shape[1], q1.shape[1]
        kc = pool(k1, 8)
        past = 8 * np.arange(1, kc.shape[1] + 1) <= positions(tokens, queries)
        p = over_group(masked(scores(q1, kc), past), 2, "max").filled(-np.inf)
        expected = np.full((queries, 2, 8), -np.inf)
        expected[:, :, :p.shape[-1]] = p[0].transpose(1, 0, 2)
        close(shown[at], expected)


def test_tables_count_from_the_start_of_the_row():
    compiled = program("""
kernel f(q: [ragged T, H, D], k: [ragged S, H, D], v: [ragged S, H, DV], doc: i32[ragged S],
         shift: f32[ragged T, H]) -> [ragged T, H, DV] {
  return attend(q, k, v) where j <= i and doc[i] == doc[j] score s + shift[t, h] * (j - b);
}""")
    lengths = [(5, 5), (0, 3), (4, 20)]
    rng, q, k, v, offsets = inputs(lengths, group=1)
    doc = rng.integers(0, 2, len(k)).astype(np.int32)
    shift = normal(rng, len(q), 2)
    out = compiled(q, k, v, doc, shift, *offsets)
    for b, (at, q1, s1, k1, v1, doc1) in enumerate(rows(lengths, (q, shift), (k, v, doc))):
        tokens, queries = k1.shape[1], q1.shape[1]
        same_doc = doc1[0][tokens - queries:, None] == doc1[0][None, :]
        bias = s1.transpose(0, 2, 1)[..., None] * (np.arange(tokens) - b)
        expected, _ = attend(q1, k1, v1, same_doc & causal(tokens, queries),
                             bias=lambda s, bias=bias: s + bias)
        close(out[at], expected[0])


@pytest.mark.parametrize("tail", ("average", "zeros_right", "drop"))
@pytest.mark.parametrize("how", ("overlap", "sum", "mean", "max"))
@pytest.mark.parametrize("length, stride, block", [(4, 4, 3), (4, 2, 3), (16, 16, 4), (64, 64, 16)])
def test_blocks_end_with_the_row(tail, how, length, stride, block):
    """The last window of a row reaches behind its last block; another row has blocks there."""
    head = "kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> f32[B, T, H, N]"
    body = f"""{{
  p = prob(attend(q, pool(k, {length}, {stride}, tail={tail})));
  return blocks(p, {block}, map={how}) + 1.0;
}}"""
    lengths = [(2, 37), (0, 9), (3, 78), (1, 1), (2, 70), (2, 0)]
    _, q, k, _, offsets = inputs(lengths)
    shown = np.asarray(program(head.replace("B, ", "ragged ") + body)(q, k, *offsets))
    alone = program(head + body)
    for at, q1, k1 in rows(lengths, (q,), (k,)):
        if not q1.size:
            continue
        # Arithmetic with absent entries gives -inf.
        expected = np.full((1, *shown[at].shape), -np.inf)
        one = np.asarray(alone(q1.astype(np.float32), k1.astype(np.float32)))
        expected[..., :one.shape[-1]] = one
        close(shown[at], expected[0])
