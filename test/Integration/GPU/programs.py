"""Examples compiled for the GPU, inputs for them, and the oracle's results."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import nsacc
from nsacc.errors import ArgumentError, CompileError

EXAMPLES = Path(os.environ.get("EXAMPLES_FOLDER") or Path(__file__).parents[3] / "examples")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.nsa"))
TARGET = os.environ.get("GPU_TARGET", "cuda")
HEADS = {"B": 2, "HQ": 4, "H": 2, "D": 64, "DV": 64}


@functools.cache
def compile_example(name: str, dtype: str = "bf16", target: str = TARGET) -> nsacc.Program:
    if name == "mla":
        return nsacc.compile(EXAMPLES / "mla.nsa", target=target, dtype=dtype, D=64, DV=64)
    return nsacc.compile(EXAMPLES / f"{name}.nsa", target=target, dtype=dtype)


def make_inputs(program: nsacc.Program, tokens: int, seed: int = 0) -> list[torch.Tensor]:
    """Random inputs on the host; packed rows are a third, none and the rest of the tokens."""
    generator = torch.Generator().manual_seed(seed)
    sizes = HEADS | {"T": tokens, "S": tokens}
    inputs = []
    for spec in program.signature.inputs:
        if spec.is_offsets:
            dtype = getattr(torch, {"i32": "int32", "i64": "int64"}[spec.dtype])
            inputs.append(torch.tensor([0, tokens // 3, tokens // 3, tokens], dtype=dtype))
            continue
        shape = [dim.size if dim.kind == "constant" else sizes[dim.name] for dim in spec.dims]
        if spec.dtype == "i32":
            # Document numbers, or indices of blocks, of which -1 pads.
            low, high = (-1, (tokens + 63) // 64) if spec.name == "idx" else (0, 3)
            inputs.append(torch.randint(low, high, shape, generator=generator, dtype=torch.int32))
        else:
            dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
            inputs.append(torch.randn(shape, generator=generator).to(dtype[spec.dtype]))
    return inputs


def to_device(inputs: list[torch.Tensor], device: str = "cuda:0") -> list[torch.Tensor]:
    return [each.to(device) for each in inputs]


def run(program: nsacc.Program, inputs: list[torch.Tensor]) -> torch.Tensor:
    """The first result; skips what nsacc can't compile yet, and says so."""
    try:
        result = program(*inputs)
    except (CompileError, ArgumentError) as error:
        if "isn't built yet" in str(error) or "isn't supported" in str(error):
            pytest.skip(str(error).splitlines()[0])
        raise
    return result[0] if isinstance(result, tuple) else result


def check(name: str, actual: torch.Tensor, inputs: list[torch.Tensor], dtype: str) -> None:
    """Against the oracle in fp64. A rounding may decide which block a few rows select."""
    expected = compile_example(name, dtype, "oracle").run(inputs, f64_results=True)
    expected = expected[0] if isinstance(expected, tuple) else expected
    error = np.abs(actual.double().cpu().numpy() - expected.double().numpy())
    assert np.isfinite(error).all()
    worst = error.reshape(-1, error.shape[-1]).max(axis=-1)
    bound = {"bf16": 2e-2, "f16": 4e-3, "f32": 5e-5}[dtype] * max(1.0, expected.abs().max().item())
    assert (worst > bound).mean() <= 0.02, f"{(worst > bound).mean():.1%} of rows beyond {bound}"
