"""Dimensions that only tables have are sizes of a run, and change without another compilation."""

from __future__ import annotations

import numpy as np
import pytest

from harness import normal, program, qkv

SOURCE = """
kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D], seen: bool[B, T, U], bias: f32[B, T, HQ, R])
    -> [B, T, HQ, D] {
  return attend(q, k, v) where j < U and seen[b, t, j mod U] score s + bias[b, t, h, j mod R];
}"""


def make_inputs(width: int, period: int) -> list[np.ndarray]:
    rng = np.random.default_rng(width)
    shapes = [(1, 20, 4, 8), (1, 30, 2, 8), (1, 30, 2, 8)]
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    seen = rng.integers(0, 2, (1, 20, width)).astype(bool)
    return [q, k, v, seen, rng.standard_normal((1, 20, 4, period), dtype=np.float32)]


def test_one_compilation_serves_all_sizes():
    compiled = program(SOURCE, target="cpu")
    compiled(*make_inputs(30, 7))
    for width, period in ((1, 1), (29, 5), (31, 64)):
        inputs = make_inputs(width, period)
        found, timing = compiled.run_timed(inputs)
        assert timing.compile_seconds == 0
        np.testing.assert_allclose(found, program(SOURCE)(*inputs), rtol=1e-5, atol=1e-5)


def test_tiles_need_no_sizes_of_tables():
    assert "nsatile.plan @f" in program(SOURCE, target="cpu").ir("tile", HQ=4, H=2, D=8)


@pytest.mark.parametrize("missing", ["HQ", "D"])
def test_tiles_need_all_others(missing):
    sizes = {"HQ": 4, "H": 2, "D": 8}
    del sizes[missing]
    with pytest.raises(ValueError, match=f"'{missing}'"):
        program(SOURCE, target="cpu").ir("tile", **sizes)


@pytest.mark.parametrize("queries, keys", [("1", "S"), ("T", "60"), ("17", "60")])
def test_constant_numbers_of_tokens(queries, keys):
    """The heads behind them have names; tensors give their sizes."""
    source = (f"kernel f(q: [B, {queries}, HQ, D], k: [B, {keys}, H, D], v: [B, {keys}, H, DV],"
              f" g: f32[B, {queries}, HQ]) -> [B, {queries}, HQ, DV]"
              " { return g * attend(q, k, v) where j <= i; }")
    tokens = 1 if queries == "1" else 17
    q, k, v = qkv(np.random.default_rng(0), tokens, 60, 3)
    gates = normal(np.random.default_rng(1), *q.shape[:3])
    expected = program(source)(q, k, v, gates)
    found = program(source, target="cpu")(q, k, v, gates)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("scores", ["x", "x * 2.0 - 1.0", "max(x, y)", "x * g"])
def test_scores_of_blocks_have_as_many_as_keys_ask_for(scores):
    """Sizes computed from inputs, too: a cache grows, and nothing is compiled again."""
    source = ("kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D], x, y: f32[B, T, H, N],"
              " g: f32[B, T, H]) -> [B, T, HQ, D] {"
              f" sel = topk(blocks({scores}, 8, map=identity, of=S), 3)"
              " keep first 1, last 1 where start(j) <= i;"
              " return attend(q, k, v) in sel where j <= i; }")
    compiled = program(source, target="cpu")
    rng = np.random.default_rng(3)
    for turn, (queries, keys) in enumerate([(20, 61), (1, 8), (1, 9), (17, 300), (9, 7)]):
        q, k, v = qkv(rng, queries, keys, 3, value_width=8)
        blocks = -(-keys // 8)
        inputs = [q, k, v, normal(rng, 2, queries, 2, blocks), normal(rng, 2, queries, 2, blocks),
                  normal(rng, 2, queries, 2)]
        found, timing = compiled.run_timed(inputs)
        assert turn == 0 or timing.compile_seconds == 0
        np.testing.assert_allclose(found, program(source)(*inputs), rtol=1e-4, atol=1e-5)
    for target in ("sm_90a", "sm_80"):
        assert "nsatile.plan @f" in program(source, target=target).ir("tile", HQ=6, H=2, D=8)


def test_a_number_of_blocks_may_be_that_of_channels():
    """Code depends on the channels, also if their dimension counts something else, too."""
    source = ("kernel f(q: [B, T, H, D], k, v: [B, S, H, D], x: f32[B, T, H, D]) -> [B, T, H, D] "
              "{ sel = topk(blocks(x * 2.0, 8, map=identity, of=S), 3) keep last 1;"
              " return attend(q, k, v) in sel where j <= i; }")
    rng = np.random.default_rng(4)
    q, k, v = qkv(rng, 9, 60, value_width=8)
    inputs = [q, k, v, normal(rng, 2, 9, 2, 8)]
    np.testing.assert_allclose(program(source, target="cpu")(*inputs), program(source)(*inputs),
                               rtol=1e-4, atol=1e-5)
