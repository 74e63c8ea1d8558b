"""Attention to selections that are handed in: for each token, or for tiles of tokens."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ..gpu.peers import Skipped
from ..gpu.works import Tensors
from . import inputs as draws
from . import peers
from .base import TILE_ROWS, Batched
from .captured import load_selection
from .floors import Counts, count_attention, count_union
from .formulas import attend


@dataclass(frozen=True, kw_only=True)
class Selected(Batched):
    """A work of examples/block_sparse.nsa; `inputs` is unrelated, related, or captured from a
    file."""

    captured: Path | None = None

    @property
    def is_causal(self) -> bool:
        return True

    @property
    def tile_tokens(self) -> int:
        """Tokens of a tile of 64 rows of token and head."""
        return max(1, TILE_ROWS // self.group)

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Normal q, k and v, and idx: i32 [B, T, H, top]."""
        generator = self.make_generator(seed, device)
        return self.draw_qkv(generator, "unrelated") | {"idx": self.draw_selection(generator)}

    def draw_selection(self, generator: torch.Generator) -> torch.Tensor:
        if self.inputs == "captured":
            if self.captured is None:
                raise Skipped("selections of a trained model are missing: pass --captured FILE, "
                              "which benchmarks/capture --output FILE makes")
            idx = load_selection(self.captured, (self.B, self.T, self.H, self.top), self.block)
            return idx.to(generator.device)
        rows = [draws.draw_selection(self.inputs, self.T, self.H, self.top, generator, self.block)
                for _ in range(self.B)]
        return torch.stack(rows)

    def list_blocks(self, inputs: Tensors) -> torch.Tensor:
        """Each token's blocks: i32 [B, T, H, top]."""
        return inputs["idx"]

    def useful_operations(self, inputs: Tensors) -> int:
        return self.pairs(inputs) * self.group * 2 * (self.D + self.DV)

    def pairs(self, inputs: Tensors) -> int:
        """Pairs of a token and a visible key, over batch and key heads."""
        idx = self.list_blocks(inputs)
        last = torch.arange(self.T, device=idx.device)[None, :, None, None]
        if not self.is_causal:
            last = torch.full_like(last, self.T - 1)
        return int((last - idx * self.block + 1).clamp(0, self.block).masked_fill(idx < 0, 0)
                   .sum())

    def count(self, inputs: Tensors) -> Counts:
        """Tiles read the union of their tokens' blocks."""
        pairs = self.pairs(inputs) * self.group
        blocks = -(-self.T // self.block)
        union = sum(count_union(idx, self.tile_tokens, blocks) for idx in self.list_blocks(inputs))
        block_bytes = self.block * (self.D + self.DV) * self.element_bytes
        memory = self.bytes() + inputs["idx"].numel() * 4
        return count_attention(pairs, self.D, self.DV) + \
            Counts(hbm_bytes=memory, l2_bytes=union * block_bytes)

    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        heads = slice(head * self.group, (head + 1) * self.group)
        idx = self.list_blocks(inputs)[row, first:last, head].long()
        i = torch.arange(first, last, device=idx.device)[:, None]
        j = torch.arange(self.T, device=idx.device)
        visible = torch.stack([(j[:, None] // self.block == blocks).any(1) for blocks in idx])
        if self.is_causal:
            visible = visible & (j <= i)
        right = attend(inputs["q"][row, first:last, heads], inputs["k"][row, :, head],
                       inputs["v"][row, :, head], visible)
        return right, torch.ones(last - first, dtype=torch.bool, device=idx.device)

    def peer_makers(self) -> dict[str, peers.Make]:
        return {"lai": peers.make_lai_selected, "fla": peers.make_fla_selected,
                "fsa": peers.make_fsa_selected, "flex": peers.make_flex_selected}


@dataclass(frozen=True, kw_only=True)
class Tiles(Selected):
    """A work of benchmarks/programs/tiles.nsa: one row of blocks for as many tokens as a block
    has."""

    @property
    def is_causal(self) -> bool:
        return False

    @property
    def tile_tokens(self) -> int:
        return self.block

    def list_blocks(self, inputs: Tensors) -> torch.Tensor:
        return inputs["idx"].repeat_interleave(self.block, 1)[:, :self.T]

    def draw_selection(self, generator: torch.Generator) -> torch.Tensor:
        """Blocks i32 [B, M, H, top], M rows of as many tokens as a block has."""
        return torch.stack([draws.draw_tiles(self.T, self.H, self.top, self.block, self.block,
                                             generator) for _ in range(self.B)])

    def peer_makers(self) -> dict[str, peers.Make]:
        return {"flex": peers.make_flex_tiles, "fa4": peers.make_fa4_tiles}
