"""Masks and biases of papers and mask libraries, compiled for the CPU, against the oracle."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np
import pytest

import nsacc

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
import masks  # noqa: E402

SIZES = [(0, 5), (1, 1), (1, 65), (7, 31), (33, 33), (49, 67)]


@functools.cache
def compiled(name: str, target: str) -> nsacc.Program:
    return nsacc.compile(masks.FILE, kernel=name, target=target, dtype="f32",
                         schedule="tokens=16,keys=16" if target == "cpu" else "")


def agrees(name: str, inputs: list[np.ndarray]) -> None:
    expected = np.asarray(compiled(name, "oracle")(*inputs))
    actual = np.asarray(compiled(name, "cpu")(*inputs))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("group", (1, 3))
@pytest.mark.parametrize("name", masks.NAMES)
def test_agrees_with_the_oracle(name, group):
    for queries, tokens in SIZES:
        agrees(name, masks.make_inputs(compiled(name, "oracle").signature, queries, tokens,
                                       group=group))


LIMITS = [-2**31, -2**31 + 1, -2**29 - 1, -1, 0, 2**29 - 1, 2**29, 2**31 - 1]
WIDE_LIMITS = [-2**63, -2**32, -2**31 - 1, 2**31, 2**32 + 3, 2**63 - 1]


@pytest.mark.parametrize("name", [
    "causal_offset", "causal_offsets", "prefix_lm_rows", "prefix_lm_scalar", "key_padding",
    "key_padding_scalar", "key_padding_long", "left_padding", "query_padding", "causal_padding",
    "lambda_shape", "both_padding", "per_head_window"])
def test_lengths_beyond_all_sizes(name):
    """Numbers with a difference from a position that needs more bits than they have."""
    signature = compiled(name, "oracle").signature
    wide = signature.inputs[-1].dtype == "i64"
    for limit in LIMITS + (WIDE_LIMITS if wide else []):
        inputs = masks.make_inputs(signature, 19, 23)
        for spec, value in zip(signature.inputs, inputs):
            if spec.dtype in ("i32", "i64"):
                value.fill(limit)
        agrees(name, inputs)


# Integers have 64 bits and wrap around (docs/spec.md, 2.2).
WRAPPED = [
    "where (i - j) * 1152921504606846976 > 0",
    "where not ((i - j) * 1152921504606846976 <= 0)",
    "where i + 9223372036854775807 >= j",
    "where j - 9223372036854775807 <= i + 9223372036854775807",
    "where i - 9223372036854775807 - 9 < j",
    "where (i * 2654435761 + j * 40503) mod 7 == 0",
    "where (i * 7046029254386353131 floordiv 3 - j) mod 5 != 2",
    "where (i * i * i * i * i * i * i * i * i * i * i * i * i + j) mod 3 != 1",
    "where j floordiv 4611686018427387904 <= i floordiv 4611686018427387904",
    "where j * 1000000 * 1000000 * 1000000 * 10 <= i * 1000000 * 1000000 * 1000000 * 10",
    "where (i - i) * 9223372036854775807 + j <= i",
    "where j < n[i] or n[j] - n[i] == 4294967296",
    "where n[j] * n[i] > 0",
    "where m[j] < m[i] or m[i] - m[j] > 3000000000",
    "where j <= i score s + float(i * j * 1000003) / 5.0e9",
    "where j <= i score s + float(i * 9223372036854775807) / 1.0e19",
    "where j <= i weight s * float((i * 3000000019 + j) mod 5)",
    "where j <= i sink float(i * 9223372036854775807 mod 5)",
]


def wrapped_inputs(queries: int, tokens: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    spread = np.arange(tokens, dtype=np.int64) % 5 - 2
    return [rng.standard_normal((1, count, heads, 16)).astype(np.float32)
            for count, heads in ((queries, 6), (tokens, 2), (tokens, 2))] + [
        spread * 2**32 + 1, np.minimum(spread * 2**30, 2**31 - 1).astype(np.int32)]


def check_wrapped(text: str, inputs: list[np.ndarray], schedule: str = "") -> None:
    expected = nsacc.compile(text, target="oracle", dtype="f32")(*inputs)
    actual = nsacc.compile(text, target="cpu", dtype="f32", schedule=schedule)(*inputs)
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-4, atol=2e-5)


HEAD = "q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], n: i64[S], m: i32[S]"


@pytest.mark.parametrize("schedule", ["", "tokens=16,keys=16",
                                      "order=key_major,splits=3,tokens=8,keys=16"])
@pytest.mark.parametrize("clauses", WRAPPED)
def test_integers_wrap_around(clauses, schedule):
    text = f"kernel f({HEAD}) -> [B, T, HQ, DV] {{ return attend(q, k, v) {clauses}; }}"
    for queries, tokens in [(1, 65), (33, 33), (49, 67)]:
        check_wrapped(text, wrapped_inputs(queries, tokens), schedule)


@pytest.mark.parametrize("schedule", ["", "order=union,tokens=16,keys=16",
                                      "order=key_major,splits=3,tokens=8,keys=16"])
@pytest.mark.parametrize("clauses", WRAPPED)
def test_integers_wrap_around_under_a_selection(clauses, schedule):
    text = (f"kernel f({HEAD}, idx: i32[B, T, H, 3]) -> [B, T, HQ, DV] "
            f"{{ return attend(q, k, v) in selection(idx, 8) {clauses}; }}")
    for queries, tokens in [(33, 33), (49, 67)]:
        idx = np.random.default_rng(1).integers(-1, -(-tokens // 8), (1, queries, 2, 3))
        check_wrapped(text, [*wrapped_inputs(queries, tokens), idx.astype(np.int32)], schedule)


def test_arithmetic_on_tensors_wraps_around():
    text = ("kernel f(x: i64[N], y: i32[N]) -> (a: i64[N], b: i64[N], c: i32[N], d: f32[N]) "
            "{ return x * x * 3, y * y * y, y * 2 - y, x * 3 + y; }")
    x = np.array([0, 1, -2**63, 2**62, 2**33, -3, 2**63 - 1])
    y = np.array([0, -1, 2**31 - 1, -2**31, 7, 2**30, -2**30], dtype=np.int32)
    expected = nsacc.compile(text, target="oracle")(x, y)
    for one, other in zip(nsacc.compile(text, target="cpu")(x, y), expected):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
