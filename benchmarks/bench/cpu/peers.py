"""Other ways to compute the same results, in PyTorch."""
from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from . import formulas
from .works import Work

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
# Pooled keys are stored in the type, so its rounding may decide between blocks.
CLEAR = {"f32": 1e-4, "bf16": 5e-2}
Run = Callable[[], object]


def to_torch(inputs: dict[str, np.ndarray], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(value[0]).to(dtype) for name, value in inputs.items()}


def make_peers(work: Work, inputs: dict[str, np.ndarray], flex: bool) -> dict[str, Run]:
    """Callables by name. Dense causal attention stands beside NSA, which is meant to replace it."""
    t = to_torch(inputs, DTYPES[work.dtype])
    dense = "" if work.work == "flash" else " dense causal"
    peers: dict[str, Run] = {"torch eager": lambda: _eager(work, t)}
    q, k, v = (t[name].transpose(0, 1)[None] for name in "qkv")
    peers["torch sdpa" + dense] = lambda: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=True, enable_gqa=True)
    if flex and work.work == "flash":
        peers["torch flex"] = _make_flex(work, q, k, v)
    return peers


def _eager(work: Work, t: dict[str, torch.Tensor]) -> None:
    t = formulas.prepare(t, work)
    step = 256 if work.work == "nsa" else 1024
    for first in range(0, work.T, step):
        getattr(formulas, work.work)(t, first, min(first + step, work.T), work)


def _make_flex(work: Work, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Run:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, i, j: j <= i, None, None, work.T, work.T, device="cpu")
    compiled = torch.compile(flex_attention)

    def run() -> object:
        with torch.no_grad():
            return compiled(q, k, v, block_mask=mask, enable_gqa=True)

    run()
    return run


def measure(run: Run, repeats: int) -> list[float]:
    """Seconds of processor time."""
    times = []
    with torch.no_grad():
        for _ in range(repeats):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
    return times


def check(work: Work, inputs: dict[str, np.ndarray], out: np.ndarray,
          rng: np.random.Generator) -> float:
    """The greatest error in some ranges of queries against the formula in fp64; selections that
    rounding may change are left out."""
    t = formulas.prepare(to_torch(inputs, torch.float64), work)
    found = torch.from_numpy(out[0])
    worst, size = 0.0, min(64, work.T)
    starts = {0, work.T - size, *(int(s) for s in rng.integers(0, work.T - size + 1, 4))}
    for first in starts:
        if work.work == "flash":
            expected, clear = formulas.flash(t, first, first + size, work), None
        else:
            expected, gap = formulas.nsa(t, first, first + size, work)
            group = work.HQ // work.H
            clear = (gap > CLEAR[work.dtype]).T.repeat_interleave(group, dim=1)
        error = (found[first:first + size] - expected).abs().amax(dim=-1)
        if clear is not None:
            error = error.where(clear, torch.zeros(()).double())
        worst = max(worst, float(error.max()))
    return worst
