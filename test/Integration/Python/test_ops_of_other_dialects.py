"""Ops that only a test's dialect has, computed in tiles, against their formulas in NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from dense_benchmarks import ROOT

TESTS = ROOT / "test" / "Conversion" / "NSAToNSATile"


def get_scores(q: np.ndarray, k: np.ndarray, window: int | None = None) -> np.ndarray:
    """Scores [B, T, HQ, S] of the pairs that a causal mask or window shows; others are 0."""
    tokens, keys, group = q.shape[1], k.shape[1], q.shape[2] // k.shape[2]
    scores = np.einsum("bthd,bshd->bths", q, np.repeat(k, group, axis=2)) / np.sqrt(q.shape[3])
    distance = np.arange(tokens)[:, None] + keys - tokens - np.arange(keys)[None, :]
    visible = (distance >= 0) & (distance < (window or keys + 1))
    return np.where(visible[None, :, None, :], scores, 0)


def run(folder: Path, source: str, tiles: str, q: np.ndarray, k: np.ndarray,
        shape: tuple[int, ...]) -> np.ndarray:
    """Runs a kernel of q and k whose schedule is `tiles` on the CPU."""
    module = subprocess.run(
        ["nsacc-opt", "-", "--convert-nsa-to-nsatile", "--nsatile-online-softmax"],
        input=(TESTS / source).read_text().replace("tokens = 4, keys = 16>}", f"{tiles}>}}"),
        check=True, capture_output=True, text=True).stdout
    (folder / "plan.mlir").write_text(module)
    for name, values in (("q", q), ("k", k)):
        np.save(folder / f"{name}.npy", values.astype(np.float32))
    shapes = ["x".join(map(str, each)) for each in (q.shape, k.shape, shape)]
    subprocess.run(["nsacc-tile-run", folder / "plan.mlir", *shapes,
                    "--input", f"q={folder / 'q.npy'}", f"k={folder / 'k.npy'}",
                    "--output", f"out={folder / 'out.npy'}"], check=True, capture_output=True)
    return np.load(folder / "out.npy")


TILES = pytest.mark.parametrize("tiles", ["tokens = 4, keys = 16", "tokens = 1, keys = 5",
                                          "tokens = 7, keys = 64"])
SIZES = pytest.mark.parametrize(
    "tokens, keys", [(1, 1), (4, 16), (5, 17), (13, 29), (3, 40), (40, 3), (50, 50)])


def make_inputs(tokens: int, keys: int) -> list[np.ndarray]:
    rng = np.random.default_rng(tokens * keys)
    return [rng.standard_normal((2, length, heads, 8))
            for length, heads in ((tokens, 6), (keys, 2))]


@TILES
@SIZES
def test_sums_over_keys(tmp_path: Path, tiles: str, tokens: int, keys: int) -> None:
    q, k = make_inputs(tokens, keys)
    found = run(tmp_path, "op-of-another-dialect.mlir", tiles, q, k, q.shape[:3])
    np.testing.assert_allclose(found, get_scores(q, k).sum(-1), rtol=1e-4, atol=1e-4)


@TILES
@SIZES
def test_sums_over_queries(tmp_path: Path, tiles: str, tokens: int, keys: int) -> None:
    """Keys are the rows of the program, and walk the queries that see them."""
    q, k = make_inputs(tokens, keys)
    found = run(tmp_path, "keys-as-rows.mlir", tiles, q, k, k.shape[:3])
    scores = get_scores(q, k, window=8)
    expected = scores.reshape(2, tokens, 2, 3, keys).sum((1, 3)).swapaxes(1, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
