"""The kernels of masks.nsa, and inputs for them: NumPy arrays in f32 that every size allows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".nsa")
NAMES = tuple(re.findall(r"^kernel (\w+)", FILE.read_text(), re.MULTILINE))
WIDTH = 16


def make_inputs(spec, queries: int, tokens: int, *, group: int = 1, batch: int = 2,
                heads: int = 2, width: int = WIDTH, seed: int = 0) -> list[np.ndarray]:
    """For a signature, where no index is out of range as long as there are no more queries."""
    rng = np.random.default_rng(seed)
    sizes = {"B": batch, "T": queries, "S": tokens, "HQ": heads * group, "H": heads,
             "D": width, "DV": width, "U": queries}
    return [_make_input(rng, each, sizes) for each in spec.inputs]


def _make_input(rng: np.random.Generator, spec, sizes: dict[str, int]) -> np.ndarray:
    shape = tuple(int(text) if (text := str(dim)).isdigit() else sizes[text]
                  for dim in spec.dims)
    tokens = sizes["S"]
    if spec.dtype == "bool":
        return rng.random(shape) < 0.5
    if spec.dtype not in ("i32", "i64"):
        return rng.standard_normal(shape).astype(np.float32)
    dtype = np.int32 if spec.dtype == "i32" else np.int64
    if spec.name in ("doc", "begins", "ends"):
        # Documents of 5 tokens; an end is behind the last of them.
        doc = np.broadcast_to(np.arange(tokens) // 5, shape)
        value = {"doc": doc, "begins": 5 * doc, "ends": 5 * doc + 5}[spec.name]
    elif spec.name in ("bucket", "image"):
        value = rng.integers(0, 3, shape)
    elif spec.name == "window":
        value = 3 + 5 * np.arange(shape[0])
    else:  # lengths and offsets, some of them beyond the ends
        value = rng.integers(-3, tokens + 4, shape)
    return np.asarray(value, dtype=dtype)
