"""Other ways to compute the same results, in PyTorch: callables that give [B, T, HQ, DV]."""
from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..gpu.peers import Run, guard
from . import formulas

if TYPE_CHECKING:
    from ..gpu.works import Tensors
    from .works import Work

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


def make_peer(name: str, work: Work, inputs: Tensors) -> Run:
    kind, _, rest = name.partition(" ")
    if kind == "sdpa" and work.pattern not in ("full", "flash"):
        raise ValueError(f"{work.id}: SDPA has no {work.pattern}")
    if kind == "fa4" and work.pattern not in ("full", "flash", "window"):
        raise ValueError(f"{work.id}: FlashAttention-4 has no {work.pattern}")
    if kind == "sdpa":
        return guard(lambda: _make_sdpa(rest, work, inputs))
    if kind == "fa4":
        return guard(lambda: _make_fa4(work, inputs))
    if kind == "flex":
        return guard(lambda: _make_flex(work, inputs))
    raise ValueError(f"{work.id}: there is no peer '{name}'")


def put_heads_first(inputs: Tensors) -> list[torch.Tensor]:
    """q, k and v as contiguous [B, H, T, D]."""
    return [inputs[each].transpose(1, 2).contiguous() for each in "qkv"]


def _make_sdpa(backend: str, work: Work, inputs: Tensors) -> Run:
    """SDPA with only one back end; keys are repeated if it can't group queries."""
    only = BACKENDS[backend]
    q, k, v = put_heads_first(inputs)
    # SDPA counts positions from the first key. One query at the end sees all keys.
    causal = work.pattern == "flash" and work.T > 1
    if causal and work.past:
        raise ValueError(f"{work.id}: SDPA has no causal mask behind {work.past} keys")

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


def _make_flex(work: Work, inputs: Tensors) -> Run:
    """FlexAttention, compiled; its mask of blocks is made here, outside of the timed part."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = put_heads_first(inputs)
    mask, score = formulas.make_mask(work), formulas.make_score(work, inputs)
    blocks = None
    if mask is not None:
        blocks = create_block_mask(lambda b, h, i, j: mask(i + work.past, j), None, None, work.T,
                                   work.S, device=q.device)
    modify = None if score is None else lambda s, b, h, i, j: score(s, h, i + work.past, j)
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
