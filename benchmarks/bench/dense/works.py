"""The works of the suite: shapes, inputs, useful operations, goals."""
from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import torch

from ..gpu import works
from ..gpu.peers import Peer
from ..gpu.works import DTYPES, Tensors
from . import check, peers


@dataclass(frozen=True, kw_only=True)
class Work(works.Work):
    """Dense attention of T queries to `past` earlier keys and to their own keys."""

    B: int
    T: int
    HQ: int
    H: int
    D: int
    DV: int
    past: int = 0

    @property
    def S(self) -> int:
        return self.past + self.T

    @property
    def sizes(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("B", "T", "S", "HQ", "H", "D", "DV")}

    def useful_operations(self, inputs: Tensors) -> int:
        return self.visible_pairs() * self.B * self.HQ * 2 * (self.D + self.DV)

    def visible_pairs(self) -> int:
        """Visible pairs of one head of one batch row."""
        if self.pattern == "full":
            return self.T * self.S
        width = self.S
        if self.pattern == "window":
            width = min(self.S, int(self.params["window"]))
        # Query t sees `width` keys, or all past + t + 1 where these are fewer.
        cut = max(0, min(self.T, width - self.past))
        return cut * self.past + cut * (cut + 1) // 2 + (self.T - cut) * width

    def bytes(self) -> int:
        queries = self.T * self.HQ * (self.D + self.DV)
        keys = self.S * self.H * (self.D + self.DV)
        return self.B * (queries + keys) * DTYPES[self.dtype].itemsize

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Normal numbers."""
        generator = self.make_generator(seed, device)

        def draw(tokens: int, heads: int, size: int) -> torch.Tensor:
            shape = (self.B, tokens, heads, size)
            return torch.randn(shape, generator=generator, device=device).to(DTYPES[self.dtype])

        inputs = {"q": draw(self.T, self.HQ, self.D), "k": draw(self.S, self.H, self.D),
                  "v": draw(self.S, self.H, self.DV)}
        if self.pattern == "softcap_alibi":
            head = torch.arange(1, self.HQ + 1, device=device, dtype=torch.float32)
            inputs["slope"] = torch.exp2(-8 * head / self.HQ)
        return inputs

    def check(self, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
              order: random.Random) -> float:
        return check.check(self, inputs, out, lse, order)

    def make_peer(self, name: str, inputs: Tensors) -> Peer:
        return Peer(peers.make_peer(name, self, inputs), self)


def load(path: Path) -> list[Work]:
    return [Work(**entry) for entry in json.loads(path.read_text())]
