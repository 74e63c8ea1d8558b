"""Random combinations of the variants of selection against the formulas. Indices are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.ma as ma
import pytest

from harness import close, doubles, program, qkv, same
from reference.dense import attend, positions, scores, silu, softmax
from reference.importance import REDUCTIONS, masked, over_blocks, over_group
from reference.masks import block_mask, causal
from reference.pooling import pool
from reference.selection import padded, topk

TAILS = ("drop", "average", "zeros_left", "zeros_right")


@dataclass
class Variant:
    """One program and its sizes."""

    queries: int
    tokens: int
    group: int
    heads: int
    stride: int
    length: int
    tail: str
    predicate: str
    kind: str
    reduction: str
    block: int
    map: str
    top: int
    word: str
    first: int
    last: int
    count: bool
    near: bool
    share_tokens: int
    tokens_by: str
    share_heads: int
    heads_by: str

    @staticmethod
    def draw(rng: np.random.Generator) -> Variant:
        def pick(*choices):
            return choices[rng.integers(len(choices))]

        stride = pick(1, 2, 3, 4)
        first, last = pick(0, 1, 2), pick(0, 1, 3)
        word = pick("keep", "plus")
        top = pick(1, 2, 3, 7) + (first + last if word == "keep" else 0)
        reductions = tuple(REDUCTIONS)
        return Variant(
            queries=pick(1, 7, 20), tokens=pick(3, 16, 41), group=pick(1, 2, 3, 5),
            heads=pick(1, 2, 4), stride=stride, length=stride * pick(1, 2, 3), tail=pick(*TAILS),
            predicate=pick("end(j) <= i", "end(j) - 1 <= i", "start(j) <= i"),
            kind=pick("prob", "score", "activation"), reduction=pick("sum", "mean", "max", "none"),
            block=pick(2, 4, 7, 16), map=pick("overlap", "sum", "mean", "max"), top=top, word=word,
            first=first, last=last, count=pick(True, False), near=pick(True, False),
            share_tokens=pick(1, 1, 3, 8), tokens_by=pick(*reductions),
            share_heads=pick(1, 1, 2), heads_by=pick(*reductions))

    @property
    def per_query_head(self) -> bool:
        return self.reduction == "none"

    @property
    def selection_heads(self) -> int:
        return self.heads * (self.group if self.per_query_head else 1)

    @property
    def width(self) -> int:
        return self.top + (self.first + self.last if self.word == "plus" else 0)

    @property
    def source(self) -> str:
        heads = "HQ" if self.per_query_head else "H"
        weight = "weight silu(s)" if self.kind == "activation" else ""
        clauses = [f"{self.word} first {self.first}, last {self.last}",
                   f"share tokens {self.share_tokens} by {self.tokens_by}",
                   f"share heads {self.share_heads} by {self.heads_by}"]
        clauses += ["count n"] * self.count + ["where end(j) > i - 9"] * self.near
        return f"""
kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], n: i32[B, T, {heads}])
    -> (out: [B, T, HQ, DV], idx: i32[B, T, {heads}, {self.width}])
{{
  kc = pool(k, {self.length}, {self.stride}, tail={self.tail});
  gist = attend(q, kc) where {self.predicate} {weight};
  p = blocks({self.kind}(gist, heads={self.reduction}), {self.block}, map={self.map});
  sel = topk(p, {self.top}) {' '.join(clauses)};
  return attend(q, k, v) in sel where j <= i, indices(sel);
}}"""


def importance(variant: Variant, q, k) -> ma.MaskedArray:
    """[B, heads, T, blocks]"""
    kc = pool(k, variant.length, variant.stride, variant.tail)
    offset = variant.stride - variant.length if variant.tail == "zeros_left" else 0
    starts = offset + variant.stride * np.arange(kc.shape[1])
    ends = starts + variant.length
    i = positions(variant.tokens, variant.queries)
    visible = {"end(j) <= i": ends <= i, "end(j) - 1 <= i": ends - 1 <= i,
               "start(j) <= i": starts <= i}[variant.predicate]
    s = scores(q, kc)
    values = {"prob": lambda: softmax(s, visible)[0], "score": lambda: s,
              "activation": lambda: silu(s)}[variant.kind]()
    per_key = over_group(masked(values, visible), variant.heads, variant.reduction)
    extents = [(int(start), int(end)) for start, end in zip(starts, ends)]
    blocks = -(-variant.tokens // variant.block)
    return over_blocks(per_key, extents, variant.block, blocks, variant.stride, variant.map)


def select(variant: Variant, p: ma.MaskedArray, count: np.ndarray) -> np.ndarray:
    """Block indices [B, T, heads, width]."""
    batch, heads, queries, blocks = p.shape
    i = positions(variant.tokens, variant.queries)[:, 0]
    out = np.empty((batch, queries, heads, variant.width), dtype=np.int32)
    borders = 1 + np.flatnonzero(np.diff(i // variant.share_tokens))
    for rows in np.split(np.arange(queries), borders):
        row = rows[0] if variant.tokens_by == "first" else rows[-1]
        of_rows = REDUCTIONS[variant.tokens_by](p[:, :, rows], 2)
        for head in range(0, heads, variant.share_heads):
            members = np.arange(head, head + variant.share_heads)
            representative = members[-1] if variant.heads_by == "last" else head
            shared = REDUCTIONS[variant.heads_by](of_rows[:, members], 1)
            kept = None
            if variant.near:
                kept = variant.block * (np.arange(blocks) + 1) > i[row] - 9
            for b in range(batch):
                limit = int(count[b, row, representative]) if variant.count else variant.top
                values, absent = shared[b].filled(0.0), ma.getmaskarray(shared[b])
                chosen = topk(values, ~absent, i[row] // variant.block, limit, first=variant.first,
                              last=variant.last, plus=variant.word == "plus", kept=kept)
                out[b, rows[:, None], members] = padded([chosen], variant.width)
    return out


@pytest.mark.parametrize("seed", range(150))
def test_combination(seed):
    rng = np.random.default_rng(seed)
    variant = Variant.draw(rng)
    if variant.selection_heads % variant.share_heads:
        variant.share_heads = 1
    q, k, v = qkv(rng, variant.queries, variant.tokens, variant.group, heads=variant.heads)
    count = rng.integers(0, variant.top + 1, (2, variant.queries, variant.selection_heads))
    count = count.astype(np.int32)
    out, idx = program(variant.source)(q, k, v, count)

    q64, k64, v64 = doubles(q, k, v)
    expected = select(variant, importance(variant, q64, k64), count)
    same(idx, expected)
    chosen = block_mask(expected, variant.block, variant.tokens)
    chosen = chosen.repeat(q.shape[2] // chosen.shape[1], axis=1)
    close(out, attend(q64, k64, v64, chosen & causal(variant.tokens, variant.queries))[0])


def test_more_than_one_row_is_drawn_of_each_kind():
    drawn = [Variant.draw(np.random.default_rng(seed)) for seed in range(150)]
    assert {v.kind for v in drawn} == {"prob", "score", "activation"}
    assert {v.tail for v in drawn} == set(TAILS)
    assert any(v.queries > v.tokens for v in drawn)
