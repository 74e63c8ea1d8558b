"""Importance, blocks, top-k and selections handed in. Indices are compared exactly."""

from __future__ import annotations

import numpy as np
import pytest

from harness import close, doubles, normal, program, qkv, same
from reference.dense import attend, positions, scores, silu, softmax
from reference.importance import REDUCTIONS, choose, masked, over_blocks, over_group
from reference.masks import block_mask, causal
from reference.pooling import pool

HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]"
BLOCK, TOKENS, QUERIES, GROUP = 8, 45, 37, 3
BLOCKS = -(-TOKENS // BLOCK)
QUERY = positions(TOKENS, QUERIES)
OWN = QUERY[:, 0] // BLOCK
STARTS = BLOCK * np.arange(BLOCKS)
PAST = STARTS + BLOCK <= QUERY


def arguments(seed=0, group=GROUP):
    return qkv(np.random.default_rng(seed), QUERIES, TOKENS, group)


def selecting(statements: str, heads="H", width="top", inputs="", parameters="top = 3"):
    return program(f"""
kernel f<{parameters}>({HEAD}{inputs}) -> (out: [B, T, HQ, DV], idx: i32[B, T, {heads}, {width}]) {{
  gist = attend(q, pool(k, {BLOCK})) where end(j) <= i;
  {statements}
  return attend(q, k, v) in sel where j <= i, indices(sel);
}}""")


def gist_scores(args, group=GROUP):
    q, k, _ = doubles(*args)
    return scores(q, pool(k, BLOCK))


def check(compiled, args, expected_idx, extra=()):
    out, idx = compiled(*args, *extra)
    same(idx, expected_idx)
    q, k, v = doubles(*args)
    chosen = block_mask(expected_idx, BLOCK, TOKENS)
    chosen = chosen.repeat(q.shape[2] // chosen.shape[1], axis=1)
    close(out, attend(q, k, v, chosen & causal(TOKENS, QUERIES))[0])


@pytest.mark.parametrize("heads", ("sum", "mean", "max", "none"))
@pytest.mark.parametrize("kind", ("prob", "score"))
def test_selection_score_and_reduction_over_the_group(kind, heads):
    args = arguments()
    s = gist_scores(args)
    p = softmax(s, PAST)[0] if kind == "prob" else s
    expected = choose(over_group(masked(p, PAST), 2, heads), OWN, 3)
    compiled = selecting(f"sel = topk({kind}(gist, heads={heads}), top);",
                         heads="HQ" if heads == "none" else "H")
    check(compiled, args, expected)


@pytest.mark.parametrize("heads", ("sum", "max", "none"))
def test_selection_by_activation(heads):
    args = arguments()
    s = gist_scores(args)
    compiled = selecting(f"""
  pointwise = attend(q, pool(k, {BLOCK})) where end(j) <= i weight silu(s);
  sel = topk(activation(pointwise, heads={heads}), top);""", heads="HQ" if heads == "none" else "H")
    expected = choose(over_group(masked(silu(s), PAST), 2, heads), OWN, 3)
    check(compiled, args, expected)


@pytest.mark.parametrize("how", ("overlap", "sum", "mean", "max"))
@pytest.mark.parametrize("kind, absent", [("prob", 0.0), ("score", -np.inf)])
@pytest.mark.parametrize("length, stride, block, tail", [
    (8, 4, 16, "drop"), (8, 4, 8, "zeros_left"), (6, 3, 4, "average"), (12, 3, 7, "zeros_right"),
    (8, 8, 8, "average"), (8, 8, 16, "average")])
def test_block_maps(how, kind, absent, length, stride, block, tail):
    compiled = program(f"""
kernel f({HEAD}) -> (p: f32[B, T, H, N], pb: f32[B, T, H, M]) {{
  gist = attend(q, pool(k, {length}, {stride}, tail={tail})) where start(j) <= i;
  p = {kind}(gist, heads=mean);
  return p, blocks(p, {block}, map={how});
}}""")
    args = arguments()
    q, k, _ = doubles(*args)
    kc = pool(k, length, stride, tail)
    starts = np.arange(kc.shape[1]) * stride - (length - stride if tail == "zeros_left" else 0)
    visible = starts <= QUERY
    s = scores(q, kc)
    values = softmax(s, visible)[0] if kind == "prob" else s
    p = over_group(masked(values, visible), 2, "mean")
    extents = [(int(start), int(start) + length) for start in starts]
    pb = over_blocks(p, extents, block, -(-TOKENS // block), stride, how)
    shown_p, shown_pb = compiled(*args)
    close(shown_p, p.filled(absent).transpose(0, 2, 1, 3))
    close(shown_pb, pb.filled(absent).transpose(0, 2, 1, 3))


def test_arithmetic_with_importances():
    args = arguments()
    compiled = program(f"""
kernel f<top = 3>({HEAD}, g: f32[B, T, H]) -> (p: f32[B, T, H, N], idx: i32[B, T, H, top]) {{
  early = attend(q, pool(k, {BLOCK})) where end(j) <= i - 8;
  gist = attend(q, pool(k, {BLOCK})) where end(j) <= i;
  p = g * score(gist, heads=max) + 2 * score(early, heads=mean);
  return p, indices(topk(p, top));
}}""")
    g = normal(np.random.default_rng(6), 2, QUERIES, 2)
    s = gist_scores(args)
    early = masked(s, STARTS + BLOCK <= QUERY - 8)
    p = (g.astype(np.float64).transpose(0, 2, 1)[..., None] * over_group(masked(s, PAST), 2, "max")
         + 2 * over_group(early, 2, "mean"))
    shown, idx = compiled(*args, g)
    close(shown, p.filled(-np.inf).transpose(0, 2, 1, 3))
    same(idx, choose(p, OWN, 3))


FORCED = ({"first": 1}, {"last": 2}, {"first": 2, "last": 1}, {"last": 3})


@pytest.mark.parametrize("word", ("keep", "plus"))
@pytest.mark.parametrize("forced", FORCED)
def test_forced_blocks(word, forced):
    listed = ", ".join(f"{name} {n}" for name, n in forced.items())
    width = 3 + (sum(forced.values()) if word == "plus" else 0)
    compiled = selecting(f"sel = topk(prob(gist), top) {word} {listed};", width=str(width))
    args = arguments()
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    check(compiled, args, choose(p, OWN, 3, width=width, plus=word == "plus", **forced))


def test_ties_go_to_the_lower_block():
    args = arguments()
    args[0][:] = 0
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    expected = choose(p, OWN, 3)
    assert expected[0, -1, 0].tolist() == [0, 1, 2]
    check(selecting("sel = topk(prob(gist), top);"), args, expected)


def test_ties_of_raw_scores():
    args = arguments(group=1)
    rng = np.random.default_rng(1)
    args = [rng.integers(-1, 2, x.shape).astype(np.float32) for x in args]
    q, k, _ = doubles(*args)
    s = scores(q, pool(k, BLOCK), scale=1.0)  # sums of small multiples of 1/8: exact
    expected = choose(over_group(masked(s, PAST), 2, "sum"), OWN, 3)
    compiled = program(f"""
kernel f<top = 3>({HEAD}) -> i32[B, T, H, top] {{
  gist = attend(q, pool(k, {BLOCK})) where end(j) <= i scale 1;
  return indices(topk(score(gist), top));
}}""")
    same(compiled(*args), expected)


def test_nan_is_chosen_last():
    args = arguments(group=1)
    args[1][:, 2 * BLOCK, :, :] = np.nan  # one token of block 2
    expected = choose(masked(gist_scores(args), PAST), OWN, 3)
    _, idx = selecting("sel = topk(score(gist), top);")(*args)
    same(idx, expected)
    assert 2 in expected[0, 3 * BLOCK - (TOKENS - QUERIES), 0] and 2 not in expected[0, -1, 0]


@pytest.mark.parametrize("top", (1, 2, 3, 5, 6, 7, 30))
def test_any_number(top):
    args = arguments()
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    check(selecting("sel = topk(prob(gist), top);", parameters=f"top = {top}"), args,
          choose(p, OWN, top))


@pytest.mark.parametrize("forced, options", [
    ("", {}), ("keep first 1, last 2", {"first": 1, "last": 2})])
def test_a_number_for_each_query(forced, options):
    args = arguments()
    count = np.random.default_rng(2).integers(0, 5, (2, QUERIES, 2)).astype(np.int32)
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    expected = choose(p, OWN, 4, count=count, **options)
    compiled = selecting(f"sel = topk(prob(gist), top) {forced} count n;", parameters="top = 4",
                         inputs=", n: i32[B, T, H]")
    check(compiled, args, expected, extra=(count,))


def test_blocks_that_may_be_chosen_at_all():
    args = arguments()
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    allowed = (STARTS + BLOCK > QUERY - 20) & (np.arange(BLOCKS) != 1)
    compiled = selecting(
        "sel = topk(prob(gist), top) keep first 2 where end(j) > i - 20 and j != 1;")
    check(compiled, args, choose(p, OWN, 3, allowed=allowed, first=2))


SHARED = ("sum", "mean", "max", "first", "last")


@pytest.mark.parametrize("by", (None, *SHARED))
@pytest.mark.parametrize("n", (2, 4, 100))
def test_neighbours_share_a_selection(n, by):
    args = arguments()
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    how = by or "sum"
    expected = np.empty((2, QUERIES, 2, 3), dtype=np.int32)
    groups = QUERY[:, 0] // n
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        position = rows[0] if how == "first" else rows[-1]
        shared = REDUCTIONS[how](p[:, :, rows], 2)[:, :, None]
        expected[:, rows] = choose(shared, OWN[[position]], 3, last=1)
    compiled = selecting(f"sel = topk(prob(gist), top) keep last 1 share tokens {n}"
                         f"{f' by {by}' if by else ''};")
    # Rows that share a selection see only earlier keys of its blocks, as any row does.
    check(compiled, args, expected)


@pytest.mark.parametrize("by", (None, *SHARED))
@pytest.mark.parametrize("heads", ("sum", "none"))
def test_heads_share_a_selection(by, heads):
    args = arguments()
    s = softmax(gist_scores(args), PAST)[0]
    p = over_group(masked(s, PAST), 2, heads)
    shared = REDUCTIONS[by or "sum"](p.reshape(2, p.shape[1] // 2, 2, QUERIES, BLOCKS), 2)
    expected = choose(shared, OWN, 3).repeat(2, axis=2)
    compiled = selecting(f"sel = topk(prob(gist, heads={heads}), top) share heads 2"
                         f"{f' by {by}' if by else ''};", heads="HQ" if heads == "none" else "H")
    check(compiled, args, expected)


@pytest.mark.parametrize("dtype", (np.int32, np.int64))
@pytest.mark.parametrize("heads, count", [("H", 2), ("HQ", 6)])
def test_selections_handed_in(dtype, heads, count):
    args = arguments()
    kind = "i32" if dtype is np.int32 else "i64"
    compiled = program(f"""
kernel f<top = 4>({HEAD}, idx: {kind}[B, T, {heads}, top])
    -> (out: [B, T, HQ, DV], back: i32[B, T, {heads}, top]) {{
  sel = selection(idx, {BLOCK});
  return attend(q, k, v) in sel where j <= i, indices(sel);
}}""")
    idx = np.random.default_rng(3).integers(-1, BLOCKS, (2, QUERIES, count, 4)).astype(dtype)
    expected = np.full(idx.shape, -1, dtype=np.int32)
    for row in np.ndindex(idx.shape[:-1]):
        distinct = sorted(set(idx[row].tolist()) - {-1})
        expected[row][:len(distinct)] = distinct
    check(compiled, args, expected, extra=(idx,))


@pytest.mark.parametrize("heads, count", [("H", 2), ("HQ", 6)])
def test_scores_handed_in(heads, count):
    args = arguments()
    compiled = selecting(f"sel = topk(blocks(x, {BLOCK}, map=identity), top) keep last 1;",
                         heads=heads, inputs=f", x: f32[B, T, {heads}, N]")
    x = normal(np.random.default_rng(4), 2, QUERIES, count, BLOCKS)
    x[np.random.default_rng(5).random(x.shape) < 0.4] = -np.inf
    p = masked(x.transpose(0, 2, 1, 3), x.transpose(0, 2, 1, 3) > -np.inf)
    check(compiled, args, choose(p, OWN, 3, last=1), extra=(x,))


def test_one_selection_for_two_attentions():
    args = arguments()
    compiled = program(f"""
kernel f<top = 2>({HEAD}) -> (past: [B, T, HQ, DV], lse: f32[B, T, HQ]) {{
  sel = topk(prob(attend(q, pool(k, {BLOCK})) where end(j) <= i), top) keep last 1;
  near = attend(q, k, v) in sel where 0 <= i - j < 4;
  return attend(q, k, v) in sel where i - j >= 4, lse(near);
}}""")
    p = over_group(masked(softmax(gist_scores(args), PAST)[0], PAST), 2, "sum")
    chosen = block_mask(choose(p, OWN, 2, last=1), BLOCK, TOKENS).repeat(GROUP, axis=1)
    distance = QUERY - np.arange(TOKENS)[None, :]
    past, lse = compiled(*args)
    close(past, attend(*doubles(*args), chosen & (distance >= 4))[0])
    close(lse, attend(*doubles(*args), chosen & (distance >= 0) & (distance < 4))[1])


def test_importance_of_single_tokens():
    args = arguments()
    compiled = program(f"""
kernel f({HEAD}) -> f32[B, T, H, N] {{
  return prob(attend(q, pool(k, 1)) where start(j) <= i);
}}""")
    q, k, _ = doubles(*args)
    visible = causal(TOKENS, QUERIES)
    p = over_group(masked(softmax(scores(q, k), visible)[0], visible), 2, "sum")
    close(compiled(*args), p.filled(0.0).transpose(0, 2, 1, 3))


@pytest.mark.parametrize("block, schedule", [
    (80, "keys=16"), (81, "keys=17"), (97, "order=key_major,splits=3,keys=16"), (1024, ""),
    (250, "order=union,tokens=5,keys=48"), (1024, "order=union"), (330, "order=union,keys=17")])
def test_blocks_of_many_tiles(block, schedule):
    """Tiles beyond the last key, beyond the causal bound, and at the end of a block."""
    source = (f"kernel f({HEAD}, idx: i32[B, T, H, 2]) -> [B, T, HQ, DV] "
              f"{{ return attend(q, k, v) in selection(idx, {block}) where j <= i; }}")
    rng = np.random.default_rng(0)
    queries, tokens = 11, 331
    args = qkv(rng, queries, tokens, GROUP)
    order = rng.permuted(np.tile(np.arange(-1, -(-tokens // block)), (2, queries, 2, 1)), axis=-1)
    idx = order[..., :2].astype(np.int32)
    expected = program(source)(*args, idx)
    found = program(source, target="cpu", schedule=schedule)(*args, idx)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("heads, axis", [("sum", "H"), ("none", "HQ")])
@pytest.mark.parametrize("length, stride, block", [(16, 16, 8), (8, 4, 3), (9, 9, 5), (16, 16, 1)])
def test_an_importance_of_blocks_shorter_than_the_stride(length, stride, block, heads, axis):
    source = (f"kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> f32[B, T, {axis}, N] {{ return "
              f"blocks(prob(attend(q, pool(k, {length}, {stride})) where end(j) <= i,"
              f" heads={heads}), {block}); }}")
    q, k, _ = arguments()
    expected = program(source)(q, k)
    assert expected.shape[-1] == -(-TOKENS // block)
    np.testing.assert_allclose(program(source, target="cpu")(q, k), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("heads", ("sum", "mean", "max"))
@pytest.mark.parametrize("weight", ("select(s > 0.5, s, -inf)", "log(relu(s))",
                                    "select(h == 1, -inf, 1.0)", "select(s > 0.5, 1.0, -inf)"))
def test_weights_of_minus_infinity_are_absent(heads, weight):
    """Heads reduce over the present entries, for any cause of absence."""
    args = arguments(seed=5)
    compiled = {target: program(f"""
kernel f<top = 3>({HEAD}) -> (importance: f32[B, T, H, N], idx: i32[B, T, H, top]) {{
  gist = attend(q, pool(k, {BLOCK})) where end(j) <= i weight {weight};
  p = activation(gist, heads={heads});
  return p * 1.0, indices(topk(p, top));
}}""", target=target) for target in ("oracle", "cpu")}
    expected, found = (compiled[target](*args) for target in ("oracle", "cpu"))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    same(found[1], expected[1])
    assert np.isneginf(expected[0]).any() and np.isfinite(expected[0]).any()
