"""Windows that neighbouring blocks share, scored once or for each block: the same bits
(docs/Schedules.md, `halo`).
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import nsacc

# A warning says so if no window can be carried.
pytestmark = pytest.mark.filterwarnings("ignore:.*'halo=carry'")
# Length and stride of windows, and the block: a window shared, several, and none; more than a block
# has strides; columns of a tile that aren't neighbours.
SHAPES = [(32, 16, 64), (64, 16, 64), (48, 24, 72), (8, 4, 4), (12, 4, 8), (16, 4, 8), (16, 16, 32),
          (8, 4, 10)]
IMPORTANCES = {
    "sum": "blocks(prob(a), {block}, map=sum)", "overlap": "blocks(prob(a), {block})",
    "mean": "blocks(score(a), {block}, map=mean)", "max": "blocks(activation(a), {block}, map=max)",
    "each head": "blocks(prob(a, heads=none), {block})",
    "arithmetic": "2 * blocks(prob(a), {block}) + blocks(score(a), {block}, map=max)"}


def select(shape: tuple[int, int, int], importance: str, halo: str, ragged: bool = False,
           share: str = "") -> nsacc.Program:
    length, stride, block = shape
    rows = ("ragged T", "ragged S") if ragged else ("B, T", "B, S")
    weight = " weight exp(s)" if "activation" in importance else ""
    heads = "HQ" if "heads=none" in importance else "H"
    source = (f"kernel f(q: [{rows[0]}, HQ, D], k: [{rows[1]}, H, D]) "
              f"-> i32[{rows[0]}, {heads}, N] {{ "
              f"a = attend(q, pool(k, {length}, {stride})) where end(j) <= i + 7{weight}; "
              f"return indices(topk({importance.format(block=block)}, 5) keep last 1{share}); }}")
    return nsacc.compile(source, dtype="f32", schedule=f"halo={halo},blocks=8,tokens=8")


def inputs(tokens: int, keys: int) -> list[np.ndarray]:
    rng = np.random.default_rng(tokens)
    return [rng.standard_normal((2, n, heads, 16), dtype=np.float32)
            for n, heads in ((tokens, 6), (keys, 2))]


@pytest.mark.parametrize("importance", IMPORTANCES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_select_alike(shape: tuple[int, int, int], importance: str) -> None:
    programs = [select(shape, IMPORTANCES[importance], halo) for halo in ("carry", "recompute")]
    for tokens, keys in ((1, shape[0]), (9, shape[2] * 9), (70, shape[2] * 21 + 5), (3, 1)):
        found = [np.asarray(program(*inputs(tokens, keys))) for program in programs]
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("share", [" share tokens 4", " share heads 2 by max"])
def test_rows_that_share(share: str) -> None:
    found = [np.asarray(select((32, 16, 64), IMPORTANCES["overlap"], halo, share=share)(
        *inputs(33, 1500))) for halo in ("carry", "recompute")]
    np.testing.assert_array_equal(*found)


def test_ragged_rows() -> None:
    query, key = (x[0] for x in inputs(200, 3000))
    offsets = [np.array(x, np.int32) for x in ((0, 3, 3, 190, 200), (0, 1, 700, 2999, 3000))]
    found = [np.asarray(select((32, 16, 64), IMPORTANCES["overlap"], halo, ragged=True)(
        query, key, *offsets)) for halo in ("carry", "recompute")]
    np.testing.assert_array_equal(*found)


def test_memory_tokens_belong_to_no_block() -> None:
    source = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D], kc: [B, P, H, D]) -> i32[B, T, H, N] {
      a = attend(q, pooled(kc, 32, 16, memory=3, of=S));
      return indices(topk(blocks(prob(a), 64), 4)); }"""
    query, key = inputs(20, 1100)
    pooled = np.random.default_rng(0).standard_normal((2, 3 + 68, 2, 16), dtype=np.float32)
    found = [np.asarray(nsacc.compile(source, dtype="f32", schedule=f"halo={halo},blocks=4")(
        query, key, pooled)) for halo in ("carry", "recompute")]
    np.testing.assert_array_equal(*found)
    expected = nsacc.compile(source, dtype="f32", target="oracle")(query, key, pooled)
    np.testing.assert_array_equal(found[0], np.asarray(expected))


# Windows that begin before token 0 belong to the first block, and to no block in front of it.
@pytest.mark.parametrize("schedule", ["", "halo=carry", "halo=recompute", "method=threshold"])
@pytest.mark.parametrize("keys", [
    "pool(k, 8, 4, tail=zeros_left)", "pooled(kc, 8, 4, offset=-4, of=S)",
    "pooled(kc, 8, 4, offset=-3, memory=2, of=S)", "pooled(kc, 8, 4, offset=5, of=S)"])
def test_windows_before_the_first_token(keys: str, schedule: str) -> None:
    declared = ", kc: [B, P, H, D]" if "kc" in keys else ""
    source = f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D]{declared})
        -> (idx: i32[B, T, H, N], p: f32[B, T, H, M]) {{
      p = blocks(score(attend(q, {keys})), 8);
      return indices(topk(p, 3)), p; }}"""
    compiled = nsacc.compile(source, dtype="f32", schedule=schedule)
    oracle = nsacc.compile(source, dtype="f32", target="oracle")
    for size in (1, 3, 4, 8, 9, 100):
        given = inputs(5, size)
        if declared:
            given.append(inputs(size // 4 + 3, size)[1][:, :size // 4 + 3])
        for found, expected in zip(compiled(*given), oracle(*given)):
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5,
                                       atol=1e-5)


@pytest.mark.parametrize("length", [64, 500, 1000])
def test_windows_of_many_strides_compile_soon(length: int) -> None:
    source = f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> i32[B, T, H, N] {{
      p = score(attend(q, pool(k, {length}, 1)));
      return indices(topk(blocks(p, {length}), 5)); }}"""
    start = time.process_time()
    nsacc.compile(source, dtype="f32")(*inputs(1, 2))
    assert time.process_time() - start < 5
