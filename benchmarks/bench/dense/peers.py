"""Other ways to compute the same, in PyTorch: callables that give [B, T, HQ, DV]."""
from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import formulas
from .works import Tensors, Work

Run = Callable[[], torch.Tensor]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


class Unavailable(Exception):
    """A peer that can't compute this work, and why."""


def make_peer(name: str, work: Work, inputs: Tensors) -> Run:
    kind, _, rest = name.partition(" ")
    q, k, v = (inputs[each].transpose(1, 2).contiguous() for each in "qkv")
    if kind == "sdpa" and work.pattern not in ("full", "flash"):
        raise ValueError(f"{work.id}: SDPA has no {work.pattern}")
    if kind == "fa4" and work.pattern not in ("full", "flash", "window"):
        raise ValueError(f"{work.id}: FlashAttention-4 has no {work.pattern}")
    if kind not in ("sdpa", "flex", "fa4"):
        raise ValueError(f"{work.id}: there is no peer '{name}'")
    try:
        if kind == "sdpa":
            return _make_sdpa(rest, work, q, k, v)
        if kind == "fa4":
            return _make_fa4(work, inputs)
        return _make_flex(work, inputs, q, k, v)
    except Exception as error:  # What torch.compile raises has no base of its own.
        raise Unavailable(_summarize(error)) from error


def _make_sdpa(backend: str, work: Work, q: torch.Tensor, k: torch.Tensor,
               v: torch.Tensor) -> Run:
    """SDPA with one back end and no other; keys are repeated for one that can't group queries."""
    only = BACKENDS[backend]
    causal = work.pattern == "flash"

    def run(keys: torch.Tensor, values: torch.Tensor, group: bool) -> torch.Tensor:
        with sdpa_kernel(only):
            out = F.scaled_dot_product_attention(q, keys, values, is_causal=causal,
                                                 enable_gqa=group)
        return out.transpose(1, 2)

    grouped = work.HQ != work.H
    try:
        run(k, v, grouped)
    except RuntimeError:
        if not grouped:
            raise
        k, v = (each.repeat_interleave(work.HQ // work.H, dim=1) for each in (k, v))
        grouped = False
        run(k, v, grouped)
    return lambda: run(k, v, grouped)


def _make_flex(work: Work, inputs: Tensors, q: torch.Tensor, k: torch.Tensor,
               v: torch.Tensor) -> Run:
    """FlexAttention, compiled; its mask of blocks is made here, outside of what is timed."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask, score = formulas.make_mask(work), formulas.make_score(work, inputs)
    blocks = None
    if mask is not None:
        blocks = create_block_mask(lambda b, h, i, j: mask(i, j), None, None, work.T, work.T,
                                   device=q.device)
    modify = None if score is None else lambda s, b, h, i, j: score(s, h, i, j)
    compiled = torch.compile(flex_attention, dynamic=False)
    grouped = work.HQ != work.H

    def run() -> torch.Tensor:
        out = compiled(q, k, v, score_mod=modify, block_mask=blocks, enable_gqa=grouped)
        return out.transpose(1, 2)

    run()
    return run


def _make_fa4(work: Work, inputs: Tensors) -> Run:
    """FlashAttention-4, from its wheel flash-attn-4; it takes [B, T, H, D] as ours does."""
    from flash_attn.cute import flash_attn_func

    q, k, v = (inputs[each] for each in "qkv")
    window = (int(work.params["window"]) - 1, 0) if work.pattern == "window" else (None, None)
    causal = work.pattern != "full"

    def run() -> torch.Tensor:
        out = flash_attn_func(q, k, v, causal=causal, window_size=window)
        return out[0] if isinstance(out, tuple) else out

    run()
    return run


def _summarize(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
