"""Common parts of the suite's works."""
from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass, field

import torch

from ..dense.works import Work as Dense
from ..gpu import works
from ..gpu.check import (
    BOUNDS,
    WrongResult,
    bound,
    check_finite,
    check_shape,
    pick_slices,
    row_error,
)
from ..gpu.peers import Peer, Run, guard
from ..gpu.works import DTYPES, Tensors
from . import inputs as draws
from . import peers
from .floors import Counts

# Share of the sampled rows that have to be decided by more than a rounding.
LEAST_DECIDED = 0.1
# Rows of token and head that a multiprocessor multiplies at once.
TILE_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class Goals(works.Work):
    """Goals without a peer: "ms", "tflops", or "hbm_share", the share of memory's ceiling for the
    bytes that have to be read."""

    own_goals: dict[str, float] = field(default_factory=dict)
    inputs: str = "unrelated"

    @property
    def agreement(self) -> float:
        return {"related": 0.9, "captured": 0.5}.get(self.inputs, 0.0)

    def meet_goals(self, ms: float, operations: int,
                   hbm_share: float) -> dict[str, dict[str, object]]:
        found = {"ms": ms, "tflops": operations / ms * 1e-9, "hbm_share": hbm_share}
        return {name: {"goal": goal, "found": float(f"{found[name]:.4g}"),
                       "met": found[name] <= goal if name == "ms" else found[name] >= goal}
                for name, goal in self.own_goals.items()}

    @abstractmethod
    def count(self, inputs: Tensors) -> Counts:
        """Counts that the floor is computed from."""


@dataclass(frozen=True, kw_only=True)
class DenseWork(Goals, Dense):
    """A dense attention, as a neighbour or for decoding."""

    def count(self, inputs: Tensors) -> Counts:
        pairs = self.visible_pairs() * self.B * self.HQ
        return Counts(self.useful_operations(inputs), pairs, self.bytes())


@dataclass(frozen=True, kw_only=True)
class SparseWork(Goals):
    """A work with rows that are compared with `reference`, sampled by batch row and key head."""

    HQ: int
    H: int
    D: int
    DV: int

    @property
    def group(self) -> int:
        return self.HQ // self.H

    @property
    def block(self) -> int:
        """Keys of a block, for works with blocks."""
        return int(self.params["block"])

    @property
    def top(self) -> int:
        """Selected blocks of a row, for works that select."""
        return int(self.params["top"])

    def check(self, inputs: Tensors, out: torch.Tensor, lse: torch.Tensor | None,
              order: random.Random) -> float:
        check_shape(out, self.result_shape(inputs))
        check_finite("result", out)
        worst, decided_rows, rows = 0.0, 0, 0
        for row, head, first, last in pick_slices(self.lengths(inputs), self.H, order):
            right, decided = self.reference(inputs, row, head, first, last)
            heads = slice(head * self.group, (head + 1) * self.group)
            found = self.row(out, inputs, row)[first:last, heads].double()
            rows, decided_rows = rows + decided.numel(), decided_rows + int(decided.sum())
            if not decided.any():
                continue
            error = row_error(found[decided], right[decided])
            bound(error, BOUNDS[self.dtype],
                  f"row {row} of the batch, key head {head}, tokens {first} to {last}")
            worst = max(worst, error)
        if decided_rows < LEAST_DECIDED * rows:
            raise WrongResult(f"rounding decides the selections of {rows - decided_rows} of {rows} "
                              "sampled rows: nothing to hold the result to")
        return worst

    @abstractmethod
    def result_shape(self, inputs: Tensors) -> tuple[int, ...]: ...

    @abstractmethod
    def lengths(self, inputs: Tensors) -> list[int]:
        """Tokens of each row of the batch."""

    @abstractmethod
    def row(self, x: torch.Tensor, inputs: Tensors, row: int) -> torch.Tensor:
        """One row of the batch, [tokens, heads, …]."""

    @abstractmethod
    def reference(self, inputs: Tensors, row: int, head: int, first: int,
                  last: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Query heads of a key head, tokens [first, last): f64 [n, group, DV], and bool [n] or
        [n, group]: whether selections differ by more than rounding."""


@dataclass(frozen=True, kw_only=True)
class Batched(SparseWork):
    """Tensors [B, T, heads, size]: T queries over `past` earlier keys and their own keys."""

    B: int
    T: int
    past: int = 0

    @property
    def S(self) -> int:
        return self.past + self.T

    @property
    def sizes(self) -> dict[str, int]:
        return {"B": self.B, "T": self.T, "S": self.S, "HQ": self.HQ, "H": self.H, "D": self.D,
                "DV": self.DV}

    @property
    def tokens(self) -> int:
        return self.B * self.T

    def bytes(self) -> int:
        rows = self.T * self.HQ + self.S * self.H
        return self.B * rows * (self.D + self.DV) * self.element_bytes

    @property
    def element_bytes(self) -> int:
        return DTYPES[self.dtype].itemsize

    def result_shape(self, inputs: Tensors) -> tuple[int, ...]:
        return (self.B, self.T, self.HQ, self.DV)

    def lengths(self, inputs: Tensors) -> list[int]:
        return [self.T] * self.B

    def row(self, x: torch.Tensor, inputs: Tensors, row: int) -> torch.Tensor:
        return x[row]

    def draw_qkv(self, generator: torch.Generator, kind: str) -> Tensors:
        """Normal numbers; queries of the kind `related` are alike in neighbours."""
        def draw(tokens: int, heads: int, size: int, kind: str = "unrelated") -> torch.Tensor:
            rows = [draws.draw_queries(kind, tokens, heads, size, generator)
                    .to(DTYPES[self.dtype]) for _ in range(self.B)]
            return torch.stack(rows)

        return {"q": draw(self.T, self.HQ, self.D, kind), "k": draw(self.S, self.H, self.D),
                "v": draw(self.S, self.H, self.DV)}

    def make_dense(self) -> Dense:
        """Causal attention to all keys at the same shape."""
        return Dense(id=self.id, program="examples/flash.nsa", dtype=self.dtype,
                     target=self.target, B=self.B, T=self.T, past=self.past, HQ=self.HQ, H=self.H,
                     D=self.D, DV=self.DV)

    def make_peer(self, name: str, inputs: Tensors) -> Peer:
        if name.startswith("dense "):
            return self.make_dense().make_peer(name.removeprefix("dense "), inputs)
        makers = self.peer_makers()
        if name not in makers:
            raise ValueError(f"{self.id}: there is no peer '{name}'")

        def make() -> Run:
            run = makers[name](self, inputs)
            # The first call compiles kernels, and raises if they can't compute this.
            run()
            return run

        return Peer(guard(make), self if self.has_formula_of(name) else None)

    def has_formula_of(self, name: str) -> bool:
        """Whether that peer computes the same result; a peer with another rule for blocks
        doesn't."""
        return True

    def peer_makers(self) -> dict[str, peers.Make]:
        return {}
