"""Decoding over pages that lists name: of any width and in any order, with repetitions."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import nsacc

PAGED = pathlib.Path(__file__).resolve().parents[3] / "examples/paged_decode.nsa"
SIZES = {"B": 8, "T": 1, "S": 32768, "HQ": 64, "H": 4, "D": 128, "DV": 128}


def draw(page: int, listed: int, keys: int, tokens: int = 2, group: int = 3):
    """The first batch row has no page, the second one, the others some twice."""
    rng = np.random.default_rng(page * listed)
    pages, heads, batch = -(-keys // page), 2, 3
    q, k, v = (rng.standard_normal((batch, length, number, 8), dtype=np.float32)
               for length, number in ((tokens, heads * group), (keys, heads), (keys, heads)))
    table = rng.integers(-1, pages, (batch, tokens, heads, listed)).astype(np.int32)
    table[0] = -1
    table[1, ..., 1:] = -1
    filled = rng.integers(0, page + 1, (batch, pages)).astype(np.int32)
    return q, k, v, table, filled


def attend(q, k, v, table, filled, page):
    out = np.zeros(q.shape)
    keys = np.arange(k.shape[1])
    for b, t, h in np.ndindex(*q.shape[:3]):
        head = h * k.shape[2] // q.shape[2]
        seen = np.isin(keys // page, table[b, t, head]) & (keys % page < filled[b, keys // page])
        if not seen.any():
            continue
        scores = k[b, seen, head] @ q[b, t, h] / q.shape[3] ** 0.5
        weights = np.exp(scores - scores.max())
        out[b, t, h] = weights / weights.sum() @ v[b, seen, head]
    return out


@pytest.mark.parametrize("schedule", ["", "order=union", "order=union, keys=16",
                                      "order=query_major"])
@pytest.mark.parametrize(("page", "listed"), [(1, 40), (8, 5), (16, 4), (48, 3), (64, 1), (256, 2)])
def test_pages(page, listed, schedule):
    inputs = draw(page, listed, keys=203)
    program = nsacc.compile(PAGED, dtype="f32", page=page, pages=listed, schedule=schedule)
    assert np.allclose(program(*inputs), attend(*inputs, page), atol=1e-5)


def test_lists_of_any_width():
    """Lists wider than sorted ones, so that only unions take them."""
    inputs = draw(16, 5000, keys=300)
    program = nsacc.compile(PAGED, dtype="f32", page=16, pages=5000)
    assert np.allclose(program(*inputs), attend(*inputs, 16), atol=1e-5)
    inputs[3][1, 0, 1, 4321] = 19
    with pytest.raises(nsacc.errors.ArgumentError, match=r"at \[1, 0, 1, 4321\] is 19"):
        program(*inputs)


@pytest.mark.parametrize("schedule", ["", "order=union", "order=query_major"])
@pytest.mark.parametrize(("size", "read"), [(6, 7), (0, 0)])
def test_tables_of_pages_end(size, read, schedule):
    """Values that a tile reads once are needed by the first pair that uses them."""
    q, k, v, table, filled = draw(8, 3, keys=64)
    table[:] = [0, 5, 7]
    filled = np.full((3, size), 8, np.int32)
    program = nsacc.compile(PAGED, dtype="f32", page=8, pages=3, schedule=schedule)
    with pytest.raises(nsacc.errors.ArgumentError, match=(
            rf"table 'filled' is read at \[0, {read}\], but dimension P has size {size} in "
            rf"'where' at b = 0, h = 0, t = 0, i = 62, j = {8 * read}")):
        program(q, k, v, table, filled)


@pytest.mark.parametrize("block", [32, 64, 96, 128])
def test_tables_of_blocks_of_keys(block):
    """Tiles of keys that lie within a block read its element once, for any number of keys."""
    source = f"""kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D], n: i32[B, P], w: f32[P])
        -> [B, T, HQ, D] {{
      return attend(q, k, v) score s + w[j floordiv {block}]
        where j mod {block} < n[b, j floordiv {block}] and j <= i;
    }}"""
    rng = np.random.default_rng(block)
    q, k, v = (rng.standard_normal((2, length, heads, 16), dtype=np.float32)
               for length, heads in ((70, 4), (300, 2), (300, 2)))
    count = -(-300 // block)
    inputs = [q, k, v, rng.integers(0, block + 1, (2, count)).astype(np.int32),
              rng.standard_normal(count).astype(np.float32)]
    expected = nsacc.compile(source, dtype="f32", target="oracle")(*inputs)
    for schedule in ("", "keys=48", "order=key_major", "splits=3"):
        out = nsacc.compile(source, dtype="f32", schedule=schedule)(*inputs)
        assert np.allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("group", [1, 3, 4, 8, 16])
@pytest.mark.parametrize(("page", "count"), [(1, 32768), (8, 4096), (16, 8192), (64, 512),
                                             (256, 128)])
def test_few_queries_fill_a_product(page, count, group):
    """For all pages and heads, 64 rows or nearly as many walk lists that are cut into parts."""
    program = nsacc.compile(PAGED, target="sm_90a", page=page, pages=count)
    text = program.ir("schedule", **{**SIZES, "S": page * count, "HQ": 4 * group, "P": count})
    # ptxas has no registers for 64 keys if the heads of a token don't divide 64 rows.
    keys = "64" if 64 % group == 0 else "(48|64)"
    assert re.search(f"order=union, tokens={64 // group}, keys={keys}, splits=auto", text)
    assert "warps=4, blocks_per_sm=2" in text
    assert f"stages={min(8, 128 // min(64, max(page, 16)))}," in text


@pytest.mark.parametrize("page", [8, 64, 256])
def test_memory_is_what_they_wait_for(page):
    """The model has few queries over pages near the floor: they have the whole GPU."""
    program = nsacc.compile(PAGED, target="sm_90a", page=page, pages=32768 // page)
    main = max(program.explain({**SIZES, "P": 32768 // page}).data["programs"],
               key=lambda each: each.get("predicted_ms") or 0)
    assert main["predicted_ms"] < 1.5 * max(main["floors_ms"].values())
    assert main["spill_store_bytes"] == 0
