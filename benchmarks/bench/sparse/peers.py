"""Kernels of other projects, where they can be imported, and FlexAttention: callables that give
results in our layout. Layouts are changed here, outside of the timed part.

The calls are of flash-linear-attention (`fla`), XunhaoLai's native-sparse-attention-triton (`lai`),
Flash-Sparse-Attention (`fsa`) and the wheel flash-attn-4 (`fa4`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ..dense.peers import put_heads_first
from ..gpu.peers import Run

if TYPE_CHECKING:
    from ..gpu.works import Tensors
    from .base import Batched

Make = Callable[["Batched", "Tensors"], Run]
FLEX_BLOCK = 128


def make_lai_selected(work: Batched, inputs: Tensors) -> Run:
    from native_sparse_attention.ops.triton.topk_sparse_attention import TopkSparseAttention

    # The function that its topk_sparse_attention calls after waiting for the GPU's lengths.
    return _make_by_heads(
        lambda q, k, v, idx, block, offsets: TopkSparseAttention.apply(
            q, k, v, idx, block, offsets, offsets, work.T, work.T, None), work, inputs)


def make_fsa_selected(work: Batched, inputs: Tensors) -> Run:
    from fsa.ops.FSA_topk_sparse_attention import FSA_topk_sparse_attention

    return _make_by_heads(FSA_topk_sparse_attention, work, inputs)


def _make_by_heads(attend: Callable[..., torch.Tensor], work: Batched, inputs: Tensors) -> Run:
    """Both take a packed batch, and indices with heads in front."""
    q, k, v = (_take_only_row(inputs[name]) for name in "qkv")
    idx = _take_only_row(inputs["idx"]).transpose(0, 1).contiguous()
    offsets, block = _make_offsets(work.T, q.device), int(work.params["block"])
    return lambda: attend(q, k, v, idx, block, offsets)[None]


def make_fla_selected(work: Batched, inputs: Tensors) -> Run:
    from fla.ops.nsa.parallel import ParallelNSAFunction

    q, k, v, idx = (inputs[name] for name in ("q", "k", "v", "idx"))
    block, top = int(work.params["block"]), int(work.params["top"])
    return lambda: ParallelNSAFunction.apply(q, k, v, idx, top, block, work.D**-0.5, None)


def make_fla_compressed(work: Batched, inputs: Tensors) -> Run:
    from fla.ops.nsa.compression import parallel_nsa_compression

    q, k, v = (inputs[name] for name in ("q", "kc", "vc"))
    block = int(work.params["len"])
    return lambda: parallel_nsa_compression(q, k, v, work.T, block, work.D**-0.5)[0]


def make_lai_compressed(work: Batched, inputs: Tensors) -> Run:
    from native_sparse_attention.ops.triton.compressed_attention import compressed_attention

    q, k, v = (_take_only_row(inputs[name]) for name in ("q", "kc", "vc"))
    windows, block, top = k.shape[0], 64, -1
    length, stride = int(work.params["len"]), int(work.params["stride"])
    offsets, key_offsets = (_make_offsets(count, q.device) for count in (work.T, windows))
    return lambda: compressed_attention(q, k, v, length, stride, block, top, offsets, key_offsets,
                                        work.T, windows)[0][None]


def make_fla_nsa(work: Batched, inputs: Tensors) -> Run:
    from fla.ops.nsa.parallel import parallel_nsa

    q, k, v = (inputs[name] for name in "qkv")
    gates = {name: inputs[name].to(q.dtype) for name in ("g_cmp", "g_slc", "g_swa")}
    block, top, window = (int(work.params[name]) for name in ("block", "top", "window"))
    return lambda: parallel_nsa(q, k, v, **gates, block_counts=top, block_size=block,
                                window_size=window)


def make_flex_selected(work: Batched, inputs: Tensors) -> Run:
    """A mask that looks pairs up, in the union of the blocks of 128 queries and keys."""
    block, group, idx = int(work.params["block"]), work.HQ // work.H, inputs["idx"][0]
    chosen = make_table(idx, -(-work.T // block))

    def is_visible(b: torch.Tensor, h: torch.Tensor, i: torch.Tensor,
                   j: torch.Tensor) -> torch.Tensor:
        return (j <= i) & chosen[h // group, i, j // block]

    tiles = join_blocks(chosen, block, FLEX_BLOCK)
    counts, order = _list_tiles(tiles.repeat_interleave(group, 0))
    return _make_flex(work, inputs, is_visible, (counts, order), FLEX_BLOCK)


def make_flex_tiles(work: Batched, inputs: Tensors) -> Run:
    """Tiles have whole blocks, in which FlexAttention evaluates no mask."""
    block = int(work.params["block"])
    chosen = make_table(inputs["idx"][0], -(-work.T // block))

    def is_visible(b: torch.Tensor, h: torch.Tensor, i: torch.Tensor,
                   j: torch.Tensor) -> torch.Tensor:
        return chosen[h, i // block, j // block]

    counts, order = _list_tiles(chosen)
    none = torch.zeros_like(counts), torch.zeros_like(order)
    return _make_flex(work, inputs, is_visible, (*none, counts, order), block)


def make_fa4_tiles(work: Batched, inputs: Tensors) -> Run:
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch
    from flash_attn.cute.interface import _flash_attn_fwd

    q, k, v = (inputs[name] for name in "qkv")
    full = inputs["idx"].transpose(1, 2).contiguous()
    counts = torch.full(full.shape[:3], full.shape[3], dtype=torch.int32, device=q.device)
    blocks = BlockSparseTensorsTorch(torch.zeros_like(counts), torch.zeros_like(full), counts, full)
    return lambda: _flash_attn_fwd(q, k, v, block_sparse_tensors=blocks)[0]


def make_table(idx: torch.Tensor, blocks: int) -> torch.Tensor:
    """Converts i32 [rows, heads, top], padded with -1, to bool [heads, rows, blocks]."""
    rows, heads, _ = idx.shape
    table = torch.zeros(rows, heads, blocks + 1, dtype=torch.bool, device=idx.device)
    table.scatter_(2, idx.long().masked_fill(idx < 0, blocks), True)
    return table[..., :blocks].transpose(0, 1).contiguous()


def join_blocks(chosen: torch.Tensor, block: int, tile: int) -> torch.Tensor:
    """Converts bool [heads, tokens, blocks] to bool [heads, tiles, tiles], of `tile` queries and
    keys, below the diagonal."""
    heads, tokens, _ = chosen.shape
    tiles = -(-tokens // tile)
    rows = torch.nn.functional.pad(chosen, (0, 0, 0, tiles * tile - tokens))
    rows = rows.view(heads, tiles, tile, -1).any(2)
    rows = torch.nn.functional.pad(rows, (0, tiles * tile // block - rows.shape[-1]))
    return rows.view(heads, tiles, tiles, tile // block).any(3).tril()


def _list_tiles(tiles: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Number of key tiles in each row of bool [HQ, query tiles, key tiles], and their indices
    first."""
    order = tiles.int().argsort(dim=-1, descending=True, stable=True)
    return tiles.sum(-1, dtype=torch.int32)[None], order.int()[None]


def _make_flex(work: Batched, inputs: Tensors, is_visible: Callable[..., torch.Tensor],
               tiles: tuple[torch.Tensor, ...], block: int) -> Run:
    """`tiles` are counts and indices of key tiles, and again for tiles without a hidden pair."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    q, k, v = put_heads_first(inputs)
    mask = BlockMask.from_kv_blocks(*tiles, BLOCK_SIZE=block, mask_mod=is_visible)
    compiled = torch.compile(flex_attention, dynamic=False)
    grouped = work.HQ != work.H
    # Its default may be larger than blocks of the mask, which it refuses.
    sizes = {"BLOCK_M": block, "BLOCK_N": block} if block < FLEX_BLOCK else None

    return lambda: compiled(q, k, v, block_mask=mask, enable_gqa=grouped,
                            kernel_options=sizes).transpose(1, 2)


def _take_only_row(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] != 1:
        raise ValueError(f"takes one row of a batch, found {x.shape[0]}")
    return x[0]


def _make_offsets(tokens: int, device: torch.device) -> torch.Tensor:
    return torch.tensor([0, tokens], dtype=torch.int32, device=device)
