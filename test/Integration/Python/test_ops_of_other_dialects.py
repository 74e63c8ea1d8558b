"""An op that only a test's dialect has, computed in tiles, against its formula in NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from dense_benchmarks import ROOT

SOURCE = ROOT / "test" / "Conversion" / "NSAToNSATile" / "op-of-another-dialect.mlir"


def sum_visible(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Sums the scores of the keys that a causal mask shows."""
    tokens, keys, group = q.shape[1], k.shape[1], q.shape[2] // k.shape[2]
    scores = np.einsum("bthd,bshd->bths", q, np.repeat(k, group, axis=2)) / np.sqrt(q.shape[3])
    position = np.arange(tokens)[:, None] + keys - tokens
    visible = np.arange(keys)[None, :] <= position
    return np.where(visible[None, :, None, :], scores, 0).sum(-1)


@pytest.mark.parametrize("tiles", ["tokens = 4, keys = 16", "tokens = 1, keys = 5",
                                   "tokens = 7, keys = 64"])
@pytest.mark.parametrize("tokens, keys", [(1, 1), (4, 16), (5, 17), (13, 29), (3, 40), (40, 3)])
def test_sums(tmp_path: Path, tiles: str, tokens: int, keys: int) -> None:
    rng = np.random.default_rng(tokens * keys)
    q, k = (rng.standard_normal((2, length, heads, 8))
            for length, heads in ((tokens, 6), (keys, 2)))
    module = subprocess.run(
        ["nsacc-opt", "-", "--convert-nsa-to-nsatile", "--nsatile-online-softmax"],
        input=SOURCE.read_text().replace("tokens = 4, keys = 16>}", f"{tiles}>}}"),
        check=True, capture_output=True, text=True).stdout
    (tmp_path / "plan.mlir").write_text(module)
    for name, values in (("q", q), ("k", k)):
        np.save(tmp_path / f"{name}.npy", values.astype(np.float32))
    shapes = ["x".join(map(str, shape)) for shape in (q.shape, k.shape, q.shape[:3])]
    subprocess.run(["nsacc-tile-run", tmp_path / "plan.mlir", *shapes,
                    "--input", f"q={tmp_path / 'q.npy'}", f"k={tmp_path / 'k.npy'}",
                    "--output", f"out={tmp_path / 'out.npy'}"], check=True, capture_output=True)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), sum_visible(q, k),
                               rtol=1e-4, atol=1e-4)
