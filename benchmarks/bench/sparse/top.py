"""Works that take scores and choose the greatest of each row."""
from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from ..gpu.check import WrongResult, check_shape
from ..gpu.peers import Peer
from ..gpu.works import Tensors
from .base import Goals
from .floors import Counts

CHECKED_ROWS = 8
FEW = 7


@dataclass(frozen=True, kw_only=True)
class TopK(Goals):
    """A work of benchmarks/programs/topk.nsa; scores are normal (`unrelated`), all equal, rising,
    or one of a few numbers."""

    T: int
    N: int

    @property
    def sizes(self) -> dict[str, int]:
        return {"B": 1, "T": self.T, "H": 1, "N": self.N, "S": self.N, "D": 8}

    @property
    def top(self) -> int:
        return int(self.params["top"])

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """x: f32 [1, T, 1, N]; k: bf16 [1, N, 1, 8]."""
        generator = self.make_generator(seed, device)
        shape = (1, self.T, 1, self.N)
        if self.inputs == "equal":
            x = torch.ones(shape, device=device)
        elif self.inputs == "rising":
            x = torch.arange(self.N, device=device, dtype=torch.float32).expand(shape).contiguous()
        elif self.inputs == "few":
            x = torch.randint(0, FEW, shape, generator=generator, device=device).float()
        else:
            x = torch.randn(shape, generator=generator, device=device)
        return {"x": x, "k": torch.zeros((1, self.N, 1, 8), device=device, dtype=torch.bfloat16)}

    def useful_operations(self, inputs: Tensors) -> int:
        """Scores that have to be read."""
        return self.T * self.N

    def bytes(self) -> int:
        return self.T * (self.N + self.top) * 4

    def count(self, inputs: Tensors) -> Counts:
        return Counts(hbm_bytes=self.bytes())

    def check(self, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
              order: random.Random) -> float:
        """Compares the sets: by score descending, then by index; a set is ascending."""
        check_shape(out, (1, self.T, 1, self.top))
        rows = sorted({0, self.T - 1, *(order.randrange(self.T) for _ in range(CHECKED_ROWS))})
        for row in rows:
            ranked = inputs["x"][0, row, 0].sort(descending=True, stable=True).indices
            right = ranked[:self.top].sort().values.int()
            if not torch.equal(out[0, row, 0], right):
                raise WrongResult(f"error: row {row} has another set of indices")
        return 0.0

    def make_peer(self, name: str, inputs: Tensors) -> Peer:
        if name != "torch.topk":
            raise ValueError(f"{self.id}: there is no peer '{name}'")
        # Its choice among equal scores, and their order, may differ.
        return Peer(lambda: inputs["x"].topk(self.top, sorted=False).indices, None)
