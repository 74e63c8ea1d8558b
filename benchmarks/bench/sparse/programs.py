"""Whole programs that compute their selections: nsa and moba; and compressed attention."""
from __future__ import annotations

from dataclasses import dataclass

import torch

from ..gpu.works import Tensors
from . import peers
from .base import TILE_ROWS, Batched
from .floors import Counts, count_attention
from .formulas import attend, score, weigh
from .selection import ABSENT, make_windows, pool, select, share_tokens, spread


def count_visible_windows(tokens: int, length: int, stride: int, late: int, past: int = 0) -> int:
    """Pairs of a token behind `past` others and a window that ends at most at token + `late`."""
    positions = torch.arange(past, past + tokens) + late
    return int(((positions - length) // stride + 1).clamp(min=0).sum())


def count_selected(tokens: int, block: int, top: int, past: int = 0) -> int:
    """Pairs of a token behind `past` others and a key that it sees in its block and top - 1 earlier
    ones."""
    i = torch.arange(past, past + tokens)
    before = (i // block).clamp(max=top - 1)
    return int((before * block + i % block + 1).sum())


@dataclass(frozen=True, kw_only=True)
class Compressed(Batched):
    """A work of benchmarks/programs/compressed.nsa."""

    @property
    def windows(self) -> int:
        return (self.T - int(self.params["len"])) // int(self.params["stride"]) + 1

    @property
    def sizes(self) -> dict[str, int]:
        return {"B": self.B, "T": self.T, "N": self.windows, "HQ": self.HQ, "H": self.H,
                "D": self.D, "DV": self.DV}

    def bytes(self) -> int:
        elements = self.T * self.HQ + self.windows * self.H
        return self.B * elements * (self.D + self.DV) * self.element_bytes

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Means of normal keys and values, so that scores are as in a whole program."""
        tensors = self.draw_qkv(self.make_generator(seed, device), self.inputs)
        length, stride = int(self.params["len"]), int(self.params["stride"])
        pooled = {f"{name}c": tensors[name].unfold(1, length, stride).mean(-1).contiguous()
                  for name in "kv"}
        return {"q": tensors["q"]} | pooled

    def pairs(self) -> int:
        length, stride = int(self.params["len"]), int(self.params["stride"])
        return count_visible_windows(self.T, length, stride, 1) * self.B * self.HQ

    def useful_operations(self, inputs: Tensors) -> int:
        return self.pairs() * 2 * (self.D + self.DV)

    def count(self, inputs: Tensors) -> Counts:
        return count_attention(self.pairs(), self.D, self.DV) + Counts(hbm_bytes=self.bytes())

    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        heads = slice(head * self.group, (head + 1) * self.group)
        q = inputs["q"][row, first:last, heads]
        _, end = make_windows(self.T, int(self.params["len"]), int(self.params["stride"]),
                              q.device)
        i = torch.arange(first, last, device=q.device)[:, None]
        right = attend(q, inputs["kc"][row, :, head], inputs["vc"][row, :, head], end <= i + 1)
        return right, torch.ones(last - first, dtype=torch.bool, device=q.device)

    def peer_makers(self) -> dict[str, peers.Make]:
        return {"fla": peers.make_fla_compressed, "lai": peers.make_lai_compressed}


@dataclass(frozen=True, kw_only=True)
class Nsa(Batched):
    """A work of examples/nsa.nsa; `params` has all of its parameters."""

    def parameter(self, name: str) -> int:
        return int(self.params[name])

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Normal numbers, queries by `inputs`, and gates in [0, 1): f32 [B, T, HQ]."""
        generator = self.make_generator(seed, device)
        tensors = self.draw_qkv(generator, self.inputs)
        gates = {name: torch.rand((self.B, self.T, self.HQ), generator=generator, device=device)
                 for name in ("g_cmp", "g_slc", "g_swa")}
        return tensors | gates

    def pairs(self) -> dict[str, int]:
        """Pairs of each branch, for one query head of one batch row."""
        i = torch.arange(self.past, self.S)
        return {
            "cmp": count_visible_windows(self.T, self.parameter("len"), self.parameter("stride"),
                                         0, self.past),
            "slc": count_selected(self.T, self.parameter("block"), self.parameter("top"),
                                  self.past),
            "swa": int((i + 1).clamp(max=self.parameter("window")).sum())}

    def useful_operations(self, inputs: Tensors) -> int:
        return sum(self.pairs().values()) * self.B * self.HQ * 2 * (self.D + self.DV)

    def count(self, inputs: Tensors) -> Counts:
        """Scores of pooled keys twice: probabilities need the log-sum-exp first. Tiles of 64 rows
        read selected keys once, as if neighbours agreed about all blocks."""
        pairs = {name: count * self.B * self.HQ for name, count in self.pairs().items()}
        counts = count_attention(pairs["cmp"], self.D, self.DV, products=3)
        counts += count_attention(pairs["cmp"], 0, 0) + \
            count_attention(pairs["slc"] + pairs["swa"], self.D, self.DV)
        key_bytes = (self.D + self.DV) * self.element_bytes
        tiles = pairs["slc"] / TILE_ROWS * key_bytes
        gates = 3 * 4 * self.tokens * self.HQ
        return counts + Counts(hbm_bytes=self.bytes() + gates, l2_bytes=tiles)

    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        heads = slice(head * self.group, (head + 1) * self.group)
        q = inputs["q"][row, first:last, heads]
        k, v = (inputs[name][row, :, head] for name in "kv")
        i = torch.arange(first, last, device=q.device) + self.past
        visible, chosen, decided = self.select(q, k, i)
        length, stride = self.parameter("len"), self.parameter("stride")
        behind = i[:, None] - torch.arange(self.S, device=q.device)
        past = spread(chosen, self.parameter("block"), self.S) & (behind >= 0)
        branches = {
            "cmp": attend(q, pool(k, length, stride), pool(v, length, stride), visible),
            "slc": attend(q, k, v, past),
            "swa": attend(q, k, v, (behind >= 0) & (behind < self.parameter("window")))}
        gates = {name: inputs[f"g_{name}"][row, first:last, heads, None].double()
                 for name in branches}
        return sum(gates[name] * branches[name] for name in branches), decided

    def select(self, q: torch.Tensor, k: torch.Tensor,
               i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The visible windows, the chosen blocks, and whether more than rounding decides them, for
        tokens i, queries [n, group, D] of one key head and all of its keys [T, D]."""
        length, stride = self.parameter("len"), self.parameter("stride")
        block, tokens = self.parameter("block"), k.shape[0]
        _, end = make_windows(tokens, length, stride, q.device)
        visible = end <= i[:, None]
        # A group shares one selection: the sum of its probabilities.
        shared = weigh(score(q, pool(k, length, stride)), visible).sum(1)
        overlap = share_tokens(tokens, length, stride, block, q.device)
        importance = (shared @ overlap).masked_fill(visible.double() @ overlap == 0, ABSENT)
        chosen, decided = select(importance, i // block, self.parameter("top"), first=1, last=2)
        return visible, chosen, decided

    def has_formula_of(self, name: str) -> bool:
        # fla counts a window one token earlier, and ranks blocks by another rule.
        return name != "fla"

    def peer_makers(self) -> dict[str, peers.Make]:
        return {"fla": peers.make_fla_nsa}


@dataclass(frozen=True, kw_only=True)
class Moba(Batched):
    """A work of examples/moba.nsa: each query head chooses blocks."""

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        return self.draw_qkv(self.make_generator(seed, device), self.inputs)

    def pairs(self) -> int:
        return count_selected(self.T, self.block, self.top) * self.B * self.HQ

    def useful_operations(self, inputs: Tensors) -> int:
        return self.pairs() * 2 * (self.D + self.DV)

    def count(self, inputs: Tensors) -> Counts:
        gist = count_visible_windows(self.T, self.block, self.block, 0) * self.B * self.HQ
        tiles = self.pairs() / TILE_ROWS * (self.D + self.DV) * self.element_bytes
        return count_attention(self.pairs(), self.D, self.DV) + \
            Counts(flop=gist * 2 * self.D, hbm_bytes=self.bytes(), l2_bytes=tiles)

    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = (inputs[name][row, :, head] for name in "kv")
        i = torch.arange(first, last, device=k.device)
        past = torch.arange(self.T, device=k.device) <= i[:, None]
        _, end = make_windows(self.T, self.block, self.block, k.device)
        blocks = -(-self.T // self.block)
        results, decisions = [], []
        for query_head in range(head * self.group, (head + 1) * self.group):
            q = inputs["q"][row, first:last, query_head:query_head + 1]
            gist = score(q, pool(k, self.block, self.block))[:, 0]
            gist = gist.masked_fill(end > i[:, None], ABSENT)
            gist = torch.nn.functional.pad(gist, (0, blocks - gist.shape[1]), value=ABSENT)
            chosen, decided = select(gist, i // self.block, self.top, first=0, last=1)
            results.append(attend(q, k, v, spread(chosen, self.block, self.T) & past))
            decisions.append(decided)
        return torch.cat(results, 1), torch.stack(decisions, 1)
