"""Runs examples/nsa.nsa from Python; compares it with the oracle and with the paper's formulas."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import nsacc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/Integration/Python"))
from reference.nsa import nsa  # noqa: E402

QUERY_HEADS, HEADS, WIDTH = 16, 4, 64
BOUND = 1e-5


def make_inputs(tokens: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    shapes = [(QUERY_HEADS, WIDTH), (HEADS, WIDTH), (HEADS, WIDTH), *[(QUERY_HEADS,)] * 3]
    return [random.standard_normal((1, tokens, *shape), dtype=np.float32) for shape in shapes]


def check(out: np.ndarray, expected: np.ndarray, what: str) -> bool:
    """Rows in which rounding selects another block differ as a whole: there may be a few."""
    error = np.abs(out - expected).max(axis=(2, 3)) / np.abs(expected).max()
    apart = error > BOUND
    passed = bool(apart.mean() <= 1e-3)
    print(f"check: {what} differs by {error[~apart].max():.1e} of the largest value "
          f"(bound {BOUND:.0e}), {apart.sum()} of {apart.size} tokens by more: "
          f"{'ok' if passed else 'FAILED'}")
    return passed


def main(tokens: int = 4096, fewer: int = 512) -> int:
    program = nsacc.compile(ROOT / "examples/nsa.nsa", dtype="f32")
    oracle = nsacc.compile(ROOT / "examples/nsa.nsa", dtype="f32", target="oracle")
    print(program)
    inputs = make_inputs(tokens)
    compile_seconds = program.run_timed(inputs)[1].compile_seconds
    out, timing = program.run_timed(inputs)
    print(f"result {out.shape} {out.dtype} in {timing.run_seconds * 1e3:.1f} ms, compiled in "
          f"{compile_seconds:.2f} s")
    passed = check(out, oracle.run(inputs, f64_results=True), "the oracle in fp64")

    inputs = make_inputs(fewer)
    expected = nsa(*(x.astype(np.float64) for x in inputs)).out
    passed &= check(program(*inputs), expected, f"the formula in NumPy ({fewer} tokens)")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
