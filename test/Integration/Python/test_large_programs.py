"""Compile time grows with the text of a program, or an error names the limit at once."""

from __future__ import annotations

import time

import numpy as np
import pytest

import nsacc
from harness import normal, program

TARGETS = ("oracle", "cpu")
# Far above the time of these programs, far below the time with a doubling at each statement.
SECONDS = 60
RNG = np.random.default_rng(0)


def chain(before: str, statement: str, count: int) -> str:
    return before + "".join(statement.format(new=n + 2, last=n + 1, before=n) for n in range(count))


def run(source: str, target: str, *inputs: np.ndarray):
    start = time.process_time()
    results = program(source, target=target)(*inputs)
    assert time.process_time() - start < SECONDS
    return results


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("statement", ["x{new} = (x{last} + x{last}) * 0.5;",
                                       "x{new} = (x{last} + x{before}) * 0.5;",
                                       "x{new} = max(x{last}, x{before}) - (x{last} - x{before});"])
def test_shared_values_are_computed_once(statement: str, target: str) -> None:
    body = chain("x1 = x0 * 1;", statement, 60)
    x = normal(RNG, 5, 7)
    out = run(f"kernel f(x0: f32[N, M]) -> f32[N, M] {{ {body} return x61; }}", target, x)
    # The operands are equal from the first statement on.
    np.testing.assert_array_equal(np.asarray(out), x)


@pytest.mark.parametrize("target", TARGETS)
def test_shared_attentions_and_importances_are_computed_once(target: str) -> None:
    body = chain("x0 = attend(q, k, v); x1 = x0 * 1;", "x{new} = (x{last} + x{before}) * 0.5;", 60)
    body += chain("p0 = prob(attend(q, pool(k, 4))); p1 = p0 * 1;",
                  "p{new} = (p{last} + p{before}) * 0.5;", 60)
    head = "kernel f(q, k, v: f32[B, T, H, D]) -> (f32[B, T, H, D], i32[B, T, H, 2])"
    source = f"{head} {{ {body} return x61, indices(topk(p61, 2)); }}"
    inputs = [normal(RNG, 1, 9, 2, 8) for _ in range(3)]
    short = "return attend(q, k, v), indices(topk(prob(attend(q, pool(k, 4))), 2));"
    plain = program(f"{head} {{ {short} }}", target=target)(*inputs)
    for found, expected in zip(run(source, target, *inputs), plain, strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("arguments", ["tail=average", "tail=zeros_left", "tail=average, by=max",
                                       "tail=zeros_right, by=max"])
def test_windows_longer_than_the_sequence(arguments: str, target: str) -> None:
    head = "kernel f(k: f32[B, S, H, D]) -> f32[B, N, H, D]"
    source = f"{head} {{ return pool(k, 2147483647, {arguments}); }}"
    k = -np.abs(normal(RNG, 1, 5, 2, 4))
    out = np.asarray(run(source, target, k))
    if "zeros_left" in arguments:
        assert out.shape == (1, 0, 2, 4)
    elif "max" in arguments:
        expected = np.zeros_like(k[:, :1]) if "zeros" in arguments else k.max(1, keepdims=True)
        np.testing.assert_array_equal(out, expected)
    else:
        np.testing.assert_allclose(out, k.mean(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_longer_than_the_sequence(target: str) -> None:
    source = ("kernel f(q, k: f32[B, T, H, D]) -> f32[B, T, H, N] "
              "{ return blocks(prob(attend(q, pool(k, 2, 1))), 160000, map=sum); }")
    q, k = normal(RNG, 1, 9, 2, 4), normal(RNG, 1, 9, 2, 4)
    out = np.asarray(run(source, target, q, k))
    np.testing.assert_allclose(out, np.ones((1, 9, 2, 1)), rtol=1e-5)


def same_as_the_oracle(body: str, results: str, tokens: int, entries: int) -> None:
    head = "kernel f(q: f32[B, T, H, D], k: f32[B, N, H, D], v: f32[B, S, H, D])"
    inputs = [normal(RNG, 1, 4, 2, 4), normal(RNG, 1, entries, 2, 4), normal(RNG, 1, tokens, 2, 4)]
    found, expected = (run(f"{head} -> {results} {{ return {body}; }}", target, *inputs)
                       for target in ("cpu", "oracle"))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mapping", ["overlap", "max", "sum"])
@pytest.mark.parametrize("window, tokens, entries", [
    ("4194304, 1", 9, 3), ("4194303, 3", 9, 3), ("4194304, 4194304", 9, 1), ("1500, 1", 1700, 201),
    ("1500, 3", 1700, 67), ("1500, 1, offset=5", 1700, 190), ("1500, 1, memory=2", 1700, 203)])
def test_windows_that_start_long_before_a_block(window: str, tokens: int, entries: int,
                                                mapping: str) -> None:
    body = f"blocks(prob(attend(q, pooled(k, {window}, of=S))), 16, map={mapping})"
    same_as_the_oracle(body, "f32[B, T, H, C]", tokens, entries)
    same_as_the_oracle(f"indices(topk({body}, 4))", "i32[B, T, H, 4]", tokens, entries)


def test_many_results_are_an_error_that_names_the_limit() -> None:
    results = ", ".join(f"r{n}: f32[N]" for n in range(257))
    values = ", ".join(f"x * {n}" for n in range(257))
    with pytest.raises(nsacc.errors.CompileError, match="257 results, more than 256"):
        nsacc.compile(f"kernel f(x: f32[N]) -> ({results}) {{ return {values}; }}")
