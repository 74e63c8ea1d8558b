"""Works of the suite: shapes, inputs, useful operations."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCK, TOP, WINDOW = 64, 16, 512


@dataclass(frozen=True)
class Work:
    """One program at one shape; S is T, DV is D, B is 1. NSA pools `len` tokens every `stride`."""

    work: str
    T: int
    HQ: int
    H: int
    D: int
    dtype: str
    len: int = 32
    stride: int = 16

    @property
    def shape(self) -> str:
        shape = f"B=1 T={self.T} S={self.T} HQ={self.HQ} H={self.H} D={self.D} DV={self.D}"
        return f"{shape} len={self.len} stride={self.stride}" if self.work == "nsa" else shape

    def __str__(self) -> str:
        return f"{self.work} {self.dtype} {self.shape}"

    def draw_inputs(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Normal numbers, rounded to the program's storage type, as f32."""
        shapes = {"q": (1, self.T, self.HQ, self.D), "k": (1, self.T, self.H, self.D),
                  "v": (1, self.T, self.H, self.D)}
        inputs = {name: rng.standard_normal(shape, dtype=np.float32)
                  for name, shape in shapes.items()}
        if self.dtype == "bf16":
            inputs = {name: _round_to_bf16(value) for name, value in inputs.items()}
        if self.work == "nsa":
            for name in ("g_cmp", "g_slc", "g_swa"):
                inputs[name] = rng.random((1, self.T, self.HQ), dtype=np.float32)
        return inputs

    def result_shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {"out": (1, self.T, self.HQ, self.D)}
        if self.work == "flash":
            shapes["lse"] = (1, self.T, self.HQ)
        return shapes

    def useful_operations(self) -> int:
        """Both products of each visible pair; finding the selection isn't counted."""
        i = np.arange(self.T, dtype=np.int64)
        if self.work == "flash":
            pairs = i + 1
        else:
            pooled = np.maximum((i - self.len) // self.stride + 1, 0)
            selected = np.minimum(TOP - 1, i // BLOCK) * BLOCK + i % BLOCK + 1
            pairs = pooled + selected + np.minimum(i + 1, WINDOW)
        return int(pairs.sum()) * self.HQ * self.D * 4


def _round_to_bf16(value: np.ndarray) -> np.ndarray:
    import ml_dtypes

    return value.astype(ml_dtypes.bfloat16).astype(np.float32)
