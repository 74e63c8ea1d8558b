"""A small byte-level language model that attends to blocks which its scores select."""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .selection import ABSENT, select

BYTES = 256


@dataclass(frozen=True)
class Size:
    """Sizes of the model; `heads` are key heads, each with `group` query heads."""

    width: int = 256
    layers: int = 4
    heads: int = 4
    group: int = 4
    head_size: int = 32
    block: int = 64
    top: int = 16
    # Queries that gather their blocks at once.
    chunk: int = 1024


class Attention(nn.Module):
    """Native Sparse Attention (arXiv:2502.11089) with two gated branches: mean keys of blocks, and
    the blocks with the most likely means; the first and the last two always belong to them."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        features = size.heads * size.head_size
        self.project = nn.Linear(size.width, (size.group + 2) * features, bias=False)
        self.gate = nn.Linear(size.width, 2 * size.heads * size.group)
        self.out = nn.Linear(size.group * features, size.width, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The output [B, T, width], T a multiple of the block; also the selections, i32 [B, T,
        heads, top]."""
        size, (batch, tokens, _) = self.size, x.shape
        parts = self.project(x).view(batch, tokens, size.heads, size.group + 2, size.head_size)
        q, k, v = parts[..., :-2, :], parts[..., -2, :], parts[..., -1, :]
        gates = self.gate(x).view(batch, tokens, size.heads, size.group, 2).sigmoid()
        means = [each.unflatten(1, (-1, size.block)).mean(2) for each in (k, v)]
        blocks = [make_blocks(each, size.block) for each in (turn(k[:, :, :, None])[:, :, :, 0], v)]
        outputs, selections = [], []
        for first in range(0, tokens, size.chunk):
            out, idx = checkpoint(self._attend, q[:, first:first + size.chunk],
                                  gates[:, first:first + size.chunk], first, *means, *blocks,
                                  use_reentrant=False)
            outputs.append(out)
            selections.append(idx)
        return self.out(torch.cat(outputs, 1).flatten(2)), torch.cat(selections, 1)

    def _attend(self, q: torch.Tensor, gates: torch.Tensor, first: int, mean_k: torch.Tensor,
                mean_v: torch.Tensor, k: torch.Tensor,
                v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries [B, n, heads, group, size] from token `first` on."""
        size, scale = self.size, self.size.head_size**-0.5
        i = torch.arange(first, first + q.shape[1], device=q.device)
        block = torch.arange(mean_k.shape[1], device=q.device)
        hidden = ((block + 1) * size.block > i[:, None])[:, None, None]
        scores = torch.einsum("bthgd,bnhd->bthgn", q, mean_k) * scale
        weights = scores.masked_fill(hidden, ABSENT).softmax(-1).nan_to_num()
        gist = torch.einsum("bthgn,bnhd->bthgd", weights.to(mean_v.dtype), mean_v)
        idx = self._select(weights.detach().float().sum(3), hidden[..., 0, :], i)
        picked_k, picked_v = (take_blocks(each, idx) for each in (k, v))
        position = idx[..., None] * size.block + torch.arange(size.block, device=q.device)
        unseen = (idx[..., None] < 0) | (position > i[:, None, None, None])
        scores = torch.einsum("bthgd,bthsd->bthgs", turn(q, first), picked_k) * scale
        weights = scores.masked_fill(unseen.flatten(3)[:, :, :, None], ABSENT).softmax(-1)
        near = torch.einsum("bthgs,bthsd->bthgd", weights.to(picked_v.dtype), picked_v)
        return gates[..., :1] * gist + gates[..., 1:] * near, idx

    def _select(self, importance: torch.Tensor, hidden: torch.Tensor,
                i: torch.Tensor) -> torch.Tensor:
        """The selections i32 [B, n, heads, top] from [B, n, heads, blocks], ascending, padded with
        -1."""
        batch, _, heads, blocks = importance.shape
        importance = importance.masked_fill(hidden, ABSENT)
        own = (i // self.size.block)[None, :, None].expand(batch, -1, heads)
        chosen, _ = select(importance.flatten(0, 2), own.flatten(), self.size.top, first=1, last=2)
        number = torch.arange(blocks, device=i.device)
        found = torch.where(chosen, number, blocks).sort(-1).values[:, :self.size.top]
        found = F.pad(found.masked_fill(found == blocks, -1),
                      (0, max(0, self.size.top - blocks)), value=-1)
        return found.view(*importance.shape[:3], self.size.top).int()


def turn(x: torch.Tensor, first: int = 0) -> torch.Tensor:
    """Rotates [B, n, heads, group, size] by positions that start at `first`."""
    half = x.shape[-1] // 2
    rates = 10000.0**(-torch.arange(half, device=x.device) / half)
    angles = (torch.arange(first, first + x.shape[1], device=x.device)[:, None] * rates)
    cos, sin = (each[:, None, None].to(x.dtype) for each in (angles.cos(), angles.sin()))
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def make_blocks(x: torch.Tensor, block: int) -> torch.Tensor:
    """Reshapes [B, T, heads, size] to [B, heads, blocks, block, size]."""
    return x.unflatten(1, (-1, block)).permute(0, 3, 1, 2, 4).contiguous()


def take_blocks(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """Gathers blocks idx [B, n, heads, top] of [B, heads, blocks, block, size], as [B, n, heads,
    top · block, size]; -1 takes the first one."""
    batch, heads, blocks, block, size = x.shape
    rows = torch.arange(batch * heads, device=x.device).view(batch, 1, heads, 1) * blocks
    flat = x.reshape(batch * heads * blocks, block * size)
    return flat.index_select(0, (rows + idx.clamp(min=0)).flatten()) \
        .view(*idx.shape[:3], idx.shape[3] * block, size)


class Model(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embed = nn.Embedding(BYTES, size.width)
        self.attentions = nn.ModuleList(Attention(size) for _ in range(size.layers))
        self.mixers = nn.ModuleList(
            nn.Sequential(nn.Linear(size.width, 4 * size.width), nn.GELU(),
                          nn.Linear(4 * size.width, size.width)) for _ in range(size.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(size.width) for _ in range(2 * size.layers + 1))
        self.head = nn.Linear(size.width, BYTES, bias=False)

    def forward(self, text: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Logits [B, T, 256] of bytes i64 [B, T], and each layer's selections."""
        x, selections = self.embed(text), []
        for layer, (attention, mixer) in enumerate(zip(self.attentions, self.mixers)):
            out, idx = attention(self.norms[2 * layer](x))
            x = x + out
            x = x + mixer(self.norms[2 * layer + 1](x))
            selections.append(idx)
        return self.head(self.norms[-1](x)), selections
