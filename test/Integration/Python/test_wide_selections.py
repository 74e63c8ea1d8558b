"""Selections of hundreds to 2048 blocks a row, found by a threshold.

Scores are small integers, or handed in: each target computes the same, and ties are exact. The
compiled code is the CPU's, with the tile programs of GPUs.
"""

from __future__ import annotations

import numpy as np
import pytest

import nsacc
from harness import GROUPS, normal, program, qkv, same

THRESHOLD = {"target": "cpu", "schedule": "method=threshold"}
GIVEN = """
kernel f<top, block = 1>(x: f32[B, T, H, N], k: [B, S, H, D]) -> (idx: i32[B, T, H, top]) {
  return indices(topk(blocks(x, block, map=identity, of=S), top));
}"""


def choose(scores: np.ndarray, top: int) -> np.ndarray:
    """Entries by score descending, NaN behind numbers, ties to the lower one; -inf is absent."""
    rows = scores.reshape(int(np.prod(scores.shape[:-1])), scores.shape[-1])
    out = np.full((len(rows), top), -1, dtype=np.int32)
    for row, listed in zip(rows, out):
        present = np.flatnonzero(~np.isneginf(row))
        values = row[present]
        order = np.lexsort((present, -values, np.isnan(values)))
        chosen = np.sort(present[order[:top]])
        listed[:len(chosen)] = chosen
    return out.reshape(*scores.shape[:-1], top)


def handed(entries: int, tokens: int, how: str) -> np.ndarray:
    rng = np.random.default_rng(entries + tokens)
    x = normal(rng, 2, tokens, 1, entries)
    if how == "equal":
        x[:] = 1
    elif how == "rising":
        x[:] = np.arange(entries)
    elif how == "falling":
        x[:] = -np.arange(entries)
    elif how == "strange":
        x = np.round(x * 2) / 2
        x[..., ::7], x[..., 1::5], x[..., 3::11] = np.nan, -np.inf, np.inf
        x[..., 4::13], x[..., 5::13] = -0.0, 0.0
        x[..., 6::17], x[..., 8::17] = 1e-42, -1e-42
    elif how == "absent":
        x[:] = -np.inf
        x[..., 1::2] = np.nan
    return x


@pytest.mark.parametrize("how", ("random", "equal", "rising", "falling", "strange", "absent"))
@pytest.mark.parametrize("top", (1, 2, 100, 513, 2048))
def test_scores_handed_in(top, how):
    compiled = program(GIVEN, top=top, **THRESHOLD)
    for entries in (0, 1, 2047, 2048, 2049, 5000):
        x = handed(entries, 3, how)
        same(compiled(x, np.zeros((2, entries, 1, 4), np.float32)), choose(x, top))


@pytest.mark.parametrize("splits", (2, 7, 64))
def test_parts_of_entries(splits):
    compiled = program(GIVEN, top=300, target="cpu", schedule=f"method=threshold, splits={splits}")
    for entries in (0, 1, 63, 2049, 5000):
        for how in ("random", "equal", "strange", "rising"):
            x = handed(entries, 3, how)
            same(compiled(x, np.zeros((2, entries, 1, 4), np.float32)), choose(x, 300))


@pytest.mark.parametrize("tokens", (0, 1, 63, 65, 67))
def test_numbers_of_tokens(tokens):
    compiled = program(GIVEN, top=300, **THRESHOLD)
    x = handed(700, tokens, "strange")
    same(compiled(x, np.zeros((2, 700, 1, 4), np.float32)), choose(x, 300))


def integers(queries: int, tokens: int, group: int, **sizes) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(queries + group)
    return tuple(np.round(x) for x in qkv(rng, queries, tokens, group, **sizes))


def agrees(body: str, args, extra=(), inputs="", heads="H", width="top", head=None, **options):
    """Indices of the threshold, of sorted lists and of the oracle."""
    head = head or "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
    rows = "ragged T" if "ragged T" in head else "B, T"
    text = f"kernel f<top>({head}{inputs}) -> (idx: i32[{rows}, {heads}, {width}]) {{ {body} }}"
    expected = np.asarray(program(text, **options)(*args, *extra))
    for schedule in ("method=threshold", "method=sort", "method=threshold, tokens=3, blocks=5",
                     "method=threshold, splits=3"):
        found = program(text, **{**options, "target": "cpu", "schedule": schedule})
        same(found(*args, *extra), expected)
    return expected


SCORES = "a = attend(q, pool(k, 2)) where end(j) <= i scale 1;"


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("heads", ("sum", "max", "none"))
def test_heads_of_groups(group, heads):
    agrees(f"{SCORES} return indices(topk(score(a, heads={heads}), top));",
           integers(37, 150, group), heads="HQ" if heads == "none" else "H", top=20)


@pytest.mark.parametrize("clauses, forced", [
    ("keep first 1, last 2", 0), ("keep last 9", 0), ("plus first 3, last 2", 5),
    ("plus last 4", 4), ("where end(j) mod 3 != 0", 0),
    ("plus first 2, last 2 where end(j) mod 3 != 0", 4), ("share tokens 4", 0),
    ("share tokens 3 by max", 0), ("share tokens 5 by last keep last 2", 0)])
@pytest.mark.parametrize("top", (9, 100))
def test_clauses(clauses, forced, top):
    agrees(f"{SCORES} return indices(topk(score(a), top) {clauses});", integers(67, 150, 3),
           width=str(top + forced), top=top)


@pytest.mark.parametrize("share", (1, 2, 3, 6, 12))
@pytest.mark.parametrize("by", ("sum", "first", "max"))
def test_heads_that_share(share, by):
    agrees(f"{SCORES} return indices(topk(score(a, heads=none), top) share heads {share} by {by});",
           integers(13, 90, 6), heads="HQ", top=11)


@pytest.mark.parametrize("clauses", ("", "plus first 1, last 2", "share tokens 4"))
def test_counts(clauses):
    counts = np.random.default_rng(1).integers(0, 21, (2, 37, 2)).astype(np.int32)
    if "share" in clauses:
        counts[:] = counts[:, :1]
    agrees(f"{SCORES} return indices(topk(score(a), top) {clauses} count c);",
           integers(37, 150, 2), (counts,), inputs=", c: i32[B, T, H]",
           width="23" if "plus" in clauses else "top", top=20)


@pytest.mark.parametrize("top", (5, 64))
def test_blocks_that_windows_do_not_divide(top):
    agrees("a = attend(q, pool(k, 8, 4)) where start(j) <= i scale 1;"
           "return indices(topk(blocks(score(a), 6, map=max), top) keep last 1);",
           integers(37, 301, 2), top=top)


@pytest.mark.parametrize("top", (3, 100))
def test_ragged_rows(top):
    rng = np.random.default_rng(3)
    lengths = [0, 5, 0, 301, 64, 1, 0]
    offsets = np.cumsum([0, *lengths]).astype(np.int32)
    total = int(offsets[-1])
    q, k, v = (np.round(normal(rng, total, n, 8)) for n in (6, 2, 2))
    agrees(f"{SCORES} return indices(topk(score(a), top) keep first 1);", (q, k, v),
           (offsets, offsets), top=top,
           head="q: [ragged T, HQ, D], k: [ragged S, H, D], v: [ragged S, H, DV]")


@pytest.mark.parametrize("order", ("block_major", "query_major", "union"))
@pytest.mark.parametrize("top", (512, 1024, 2048))
def test_attention_in_wide_selections(order, top):
    """Handed in, and chosen; a union's list has no room for many tokens."""
    rng = np.random.default_rng(5)
    q, k, v = qkv(rng, 9, 2300, 3, batch=1, heads=1)
    idx = rng.integers(-1, 2300, (1, 9, 1, top)).astype(np.int32)
    text = """
kernel f<top>(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], idx: i32[B, T, H, top])
    -> (o: [B, T, HQ, DV], p: [B, T, HQ, DV], i: i32[B, T, H, top]) {
  sel = selection(idx, 1);
  best = topk(blocks(score(attend(q, pool(k, 1))), 1, map=max), top);
  return attend(q, k, v) in sel where j <= i, attend(q, k, v) in best where j <= i, indices(sel);
}"""
    expected = program(text, top=top)(q, k, v, idx)
    found = program(text, top=top, target="cpu", schedule=f"order={order}, tokens=1")(q, k, v, idx)
    same(found[2], np.asarray(expected[2]))
    for mine, exact in zip(found[:2], expected[:2]):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(exact), rtol=2e-5, atol=2e-5)


def test_the_same_bits_each_time(monkeypatch):
    x = handed(5000, 65, "strange")
    keys = np.zeros((2, 5000, 1, 4), np.float32)
    runs = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("NSACC_THREADS", threads)
        compiled = nsacc.compile(GIVEN, dtype="f32", top=700, **THRESHOLD)
        runs += [np.asarray(compiled(x, keys)) for _ in range(2)]
    for run in runs[1:]:
        same(run, runs[0])


@pytest.mark.parametrize("heads", ("sum", "none"))
def test_methods_choose_the_same_of_rounded_probabilities(heads):
    selecting = "HQ" if heads == "none" else "H"
    text = f"""
kernel f<top>(q: [B, T, HQ, D], k: [B, S, H, D]) -> (idx: i32[B, T, {selecting}, K]) {{
  a = attend(q, pool(k, 4, 2)) where start(j) <= i;
  return indices(topk(blocks(prob(a, heads={heads}), 8), top) plus first 1, last 1);
}}"""
    args = qkv(np.random.default_rng(8), 65, 900, 4)[:2]
    for top in (7, 50, 300):
        sort, threshold = (program(text, top=top, target="cpu", schedule=f"method={method}")(*args)
                           for method in ("sort", "threshold"))
        same(threshold, np.asarray(sort))
