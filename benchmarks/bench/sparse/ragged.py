"""Works with rows that are packed behind each other: plain causal attention, and HSTU's."""
from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass

import torch

from ..gpu.check import BOUNDS, bound, row_error
from ..gpu.peers import Peer
from ..gpu.works import DTYPES, Tensors
from .base import SparseWork
from .floors import Counts
from .formulas import attend, attend_silu, score
from .programs import count_selected
from .selection import ABSENT, pool, select, spread


@dataclass(frozen=True, kw_only=True)
class Ragged(SparseWork):
    """`rows` lists [count, length], or [count, least, most] for lengths at random between."""

    rows: list[list[int]]

    def draw_lengths(self, seed: int) -> list[int]:
        """Lengths that are equal for all works with these rows, so that they can be compared."""
        order = random.Random(f"{seed} {self.rows}")
        return [order.randint(least, most[0] if most else least)
                for count, least, *most in self.rows for _ in range(count)]

    @property
    def shape(self) -> str:
        rows = " + ".join(f"{count} x {' to '.join(map(str, length))}"
                          for count, *length in self.rows)
        return f"rows={rows} {super().shape}"

    @property
    def sizes(self) -> dict[str, int]:
        return {"HQ": self.HQ, "H": self.H, "D": self.D, "DV": self.DV}

    def bytes(self) -> int:
        most = sum(row[0] * row[-1] for row in self.rows)
        return most * (self.HQ + self.H) * (self.D + self.DV) * DTYPES[self.dtype].itemsize

    def lengths(self, inputs: Tensors) -> list[int]:
        return inputs["T_offsets"].diff().tolist()

    def row(self, x: torch.Tensor, inputs: Tensors, row: int) -> torch.Tensor:
        first, last = inputs["T_offsets"][row:row + 2].tolist()
        return x[first:last]

    def result_shape(self, inputs: Tensors) -> tuple[int, ...]:
        return (int(inputs["T_offsets"][-1]), self.HQ, self.DV)

    def compare(self, out: torch.Tensor, other: torch.Tensor) -> float:
        difference = row_error(out.float(), other.float())
        bound(difference, 2 * BOUNDS[self.dtype], "difference")
        return difference

    def draw_inputs(self, seed: int, device: torch.device) -> Tensors:
        """Normal numbers, [tokens, heads, size], and offsets i32 [rows + 1]."""
        generator = self.make_generator(seed, device)
        offsets = torch.tensor([0, *self.draw_lengths(seed)]).cumsum(0)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn((int(offsets[-1]), *shape), generator=generator, device=device)

        tensors = {name: draw(*shape).to(DTYPES[self.dtype])
                   for name, shape in self.tensor_shapes().items()}
        gates = {name: torch.rand((int(offsets[-1]), self.HQ), generator=generator, device=device)
                 for name in self.gate_names()}
        return tensors | gates | {"T_offsets": offsets.to(device, torch.int32)}

    def tensor_shapes(self) -> dict[str, tuple[int, int]]:
        return {"q": (self.HQ, self.D), "k": (self.H, self.D), "v": (self.H, self.DV)}

    def gate_names(self) -> list[str]:
        return []

    def useful_operations(self, inputs: Tensors) -> int:
        return self.pairs(inputs) * 2 * (self.D + self.DV)

    def pairs(self, inputs: Tensors) -> int:
        """Visible pairs of all rows and heads."""
        return sum(map(self.row_pairs, self.lengths(inputs))) * self.HQ

    def row_pairs(self, length: int) -> int:
        return length * (length + 1) // 2

    def count(self, inputs: Tensors) -> Counts:
        memory = sum(tensor.numel() * tensor.element_size() for tensor in inputs.values())
        written = int(inputs["T_offsets"][-1]) * self.HQ * self.DV * DTYPES[self.dtype].itemsize
        return Counts(self.useful_operations(inputs), self.pairs(inputs), memory + written)

    def make_peer(self, name: str, inputs: Tensors) -> Peer:
        raise ValueError(f"{self.id}: there is no peer '{name}'")

    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        tensors = {name: self.row(inputs[name], inputs, row)[:, head * self.group:
                                                             (head + 1) * self.group]
                   for name in (*self.tensor_shapes(), *self.gate_names()) if name not in "kv"}
        tensors |= {name: self.row(inputs[name], inputs, row)[:, head] for name in "kv"}
        i = torch.arange(first, last, device=inputs["q"].device)
        return self.row_reference(tensors, i)

    @abstractmethod
    def row_reference(self, t: Tensors, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens i of one row and key head: k and v are [length, size], others have the group."""


@dataclass(frozen=True, kw_only=True)
class Packed(Ragged):
    """A work of benchmarks/programs/packed.nsa."""

    def row_reference(self, t: Tensors, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        past = torch.arange(len(t["k"]), device=i.device) <= i[:, None]
        return attend(t["q"][i], t["k"], t["v"], past), torch.ones_like(i, dtype=torch.bool)


@dataclass(frozen=True, kw_only=True)
class HstuDense(Ragged):
    """A work of benchmarks/programs/hstu_dense.nsa."""

    def tensor_shapes(self) -> dict[str, tuple[int, int]]:
        return super().tensor_shapes() | {"u": (self.HQ, self.DV)}

    def row_reference(self, t: Tensors, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        past = torch.arange(len(t["k"]), device=i.device) <= i[:, None]
        out = attend_silu(t["q"][i], t["k"], t["v"], past)
        return out * t["u"][i].double(), torch.ones_like(i, dtype=torch.bool)


@dataclass(frozen=True, kw_only=True)
class HstuSparse(HstuDense):
    """A work of examples/hstu_bsa.nsa: pooled keys, and the blocks with the best scores."""

    def gate_names(self) -> list[str]:
        return ["g_cmp", "g_slc"]

    def row_pairs(self, length: int) -> int:
        """Pairs of both branches: a pooled key is visible from its first token on."""
        full, rest = divmod(length, self.block)
        pooled = self.block * full * (full + 1) // 2 + rest * (full + 1)
        return pooled + count_selected(length, self.block, int(self.params["top"]))

    def row_reference(self, t: Tensors, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, k, v = t["q"][i], t["k"], t["v"]
        kc, vc = (pool_blocks(x, self.block) for x in (k, v))
        begun = torch.arange(len(kc), device=i.device) <= i[:, None] // self.block
        # One query head for each key head: its scores are the importance.
        importance = score(q, kc)[:, 0].masked_fill(~begun, ABSENT)
        chosen, decided = select(importance, i // self.block, int(self.params["top"]), first=0,
                                 last=1)
        past = torch.arange(len(k), device=i.device) <= i[:, None]
        branches = {"g_cmp": attend_silu(q, kc, vc, begun),
                    "g_slc": attend_silu(q, k, v, spread(chosen, self.block, len(k)) & past)}
        out = sum(t[name][i, :, None].double() * branch for name, branch in branches.items())
        return out * t["u"][i].double(), decided


def pool_blocks(x: torch.Tensor, block: int) -> torch.Tensor:
    """Means of blocks of [tokens, size]; the last block may have fewer tokens."""
    whole = pool(x, block, block)
    rest = x[len(whole) * block:]
    return torch.cat([whole, rest.double().mean(0, keepdim=True).to(x.dtype)]) if len(rest) \
        else whole
