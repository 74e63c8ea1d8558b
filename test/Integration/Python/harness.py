"""Shared parts of the numeric tests: compiled programs, inputs and comparisons."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

import nsacc

EXAMPLES = Path(__file__).parents[3] / "examples"

# Sizes around a block `b`, and pairs (T, S) with and without tokens before the queries.
GROUPS = (1, 3, 5, 7, 16)


def sizes(b: int) -> list[int]:
    return [0, 1, 2, b - 1, b, b + 1, 127]


def prefill_and_decode(b: int) -> list[tuple[int, int]]:
    square = [(n, n) for n in sizes(b)]
    return [*square, (1, 2), (1, b), (1, 127), (2, b + 1), (b, 127), (0, b), (3, 0), (b + 1, b - 1)]


@functools.cache
def example(name: str, **options) -> nsacc.Program:
    """A program of examples/ for the oracle, its tensors stored in f32."""
    return nsacc.compile(EXAMPLES / f"{name}.nsa", **with_defaults(options))


@functools.cache
def program(source: str, **options) -> nsacc.Program:
    return nsacc.compile(source, **with_defaults(options))


def compile_for(schedule: str | None, source: str) -> nsacc.Program:
    """Compiles for the CPU with a schedule; without one (None), for the oracle."""
    return program(source) if schedule is None else \
        program(source, target="cpu", schedule=schedule)


def with_defaults(options: dict) -> dict:
    return {"target": "oracle", "dtype": "f32", **options}


def example_returning(name: str, result: str, expression: str, **options) -> nsacc.Program:
    """An example with one more result, for an intermediate value."""
    text = (EXAMPLES / f"{name}.nsa").read_text()
    head, arrow, tail = text.partition("-> [")
    shape, bracket, body = tail.partition("]")
    before, keyword, returned = body.rpartition("return ")
    value, end, rest = returned.partition(";")
    assert arrow and keyword and end, f"{name}.nsa has no single result"
    results = f"(out: [{shape}], {result})"
    return program(f"{head}-> {results}{before}return {value}, {expression};{rest}", **options)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def qkv(rng: np.random.Generator, queries: int, tokens: int, group: int = 1, *, batch: int = 2,
        heads: int = 2, width: int = 8, value_width: int = 12) -> tuple[np.ndarray, ...]:
    return (normal(rng, batch, queries, heads * group, width),
            normal(rng, batch, tokens, heads, width),
            normal(rng, batch, tokens, heads, value_width))


def doubles(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(a, dtype=np.float64) for a in arrays]


def close(actual, expected: np.ndarray) -> None:
    """The fp64 result rounded once to f32 (docs/Numerics.md), NaNs and infinities in place."""
    actual = np.asarray(actual)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=2.0**-23, atol=1e-12)


def same(actual, expected: np.ndarray) -> None:
    """Exact equality, for indices."""
    np.testing.assert_array_equal(np.asarray(actual), expected)
