"""Runs examples/nsa.nsa from Python and compares it with the paper's formulas in NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import nsacc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/Integration/Python"))
from reference.nsa import nsa  # noqa: E402

TOKENS, QUERY_HEADS, HEADS, WIDTH = 512, 16, 4, 64
BOUND = 1e-5


def main() -> int:
    random = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32)

    q = normal(1, TOKENS, QUERY_HEADS, WIDTH)
    k, v = normal(1, TOKENS, HEADS, WIDTH), normal(1, TOKENS, HEADS, WIDTH)
    gates = [normal(1, TOKENS, QUERY_HEADS) for _ in range(3)]

    program = nsacc.compile(ROOT / "examples/nsa.nsa", target="cpu", dtype="f32")
    print(program)
    compile_seconds = program.run_timed([q, k, v, *gates])[1].compile_seconds
    out, timing = program.run_timed([q, k, v, *gates])

    expected = nsa(*(x.astype(np.float64) for x in (q, k, v, *gates))).out
    error = np.abs(out - expected).max() / np.abs(expected).max()
    passed = bool(error <= BOUND)
    print(f"result {out.shape} {out.dtype} in {timing.run_seconds * 1e3:.1f} ms, compiled in "
          f"{compile_seconds:.2f} s")
    print(f"check: the paper's formulas in NumPy differ by {error:.1e} of the largest value "
          f"(bound {BOUND:.0e}): {'ok' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
