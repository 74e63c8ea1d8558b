"""Dimensions and tensors: docs/spec.md, 1.4, 3.2 and 3.9."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Dim:
    """A dimension by name, by size, or made from `base` by a function of the language."""
    name: str = ""
    size: int = -1
    ragged: bool = False
    kind: str = "plain"  # or pooled, declared, blocks, offsets
    base: str = ""
    length: int = 1
    stride: int = 1
    tail: str = ""
    offset: int = 0
    memory: int = 0
    heads: bool = field(default=False, compare=False)

    def count(self, tokens: int) -> int:
        """Windows or blocks of that many tokens."""
        if self.kind == "blocks":
            return -(-tokens // self.length)
        if self.tail == "drop":
            return max(0, (tokens - self.length) // self.stride + 1) if tokens >= self.length else 0
        if self.tail == "zeros_left":
            return tokens // self.stride
        return 0 if tokens == 0 else -(-max(tokens - self.length, 0) // self.stride) + 1

    def extent(self, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[start, end) of entries in tokens."""
        if self.kind == "blocks":
            return j * self.length, (j + 1) * self.length
        if self.kind == "plain":
            return j, j + 1
        if self.tail == "zeros_left":
            return (j + 1) * self.stride - self.length, (j + 1) * self.stride
        start = self.offset + (j - self.memory) * self.stride
        is_memory = j < self.memory
        return np.where(is_memory, 0, start), np.where(is_memory, 0, start + self.length)


@dataclass
class Tensor:
    """`rows` has one array for each batch row, without the dimension of the batch.

    A tensor without a batch has one array in `rows` and `batch` None. An importance has `present`,
    by row.
    """
    rows: list[np.ndarray]
    dims: list[Dim]
    batch: Dim | None = None
    present: list[np.ndarray] | None = None

    def __post_init__(self) -> None:
        if self.present is not None:
            self.present = [part & (row != -np.inf)
                            for part, row in zip(self.present, self.rows, strict=True)]

    @property
    def ragged(self) -> bool:
        return bool(self.dims) and self.dims[0].ragged

    def pack(self, fill: float = 0.0) -> np.ndarray:
        """The tensor as a caller sees it; rows of an importance may have different widths."""
        rows = self.rows
        if not rows:
            return np.zeros(0)
        if rows and rows[0].ndim:
            width = max(row.shape[-1] for row in rows)
            rows = [np.pad(row, [(0, 0), (0, 0), (0, width - row.shape[2])], constant_values=fill)
                    if row.ndim == 3 else row for row in rows]
        if self.batch is not None:
            return np.stack(rows)
        return np.concatenate(rows) if self.ragged else rows[0]


@dataclass
class Batch:
    """Sizes of named dimensions and offsets of ragged ones."""
    sizes: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, np.ndarray] = field(default_factory=dict)
    rows: int = 1
    batch_name: str = ""

    def length(self, name: str, row: int) -> int:
        if name in self.offsets:
            return int(self.offsets[name][row + 1] - self.offsets[name][row])
        return self.sizes[name]

    def split(self, data: np.ndarray, dims: list[Dim]) -> Tensor:
        """An input by batch rows; tables without a batch stay whole."""
        if dims and dims[0].ragged:
            bounds = self.offsets[dims[0].name]
            return Tensor([data[bounds[b]:bounds[b + 1]] for b in range(len(bounds) - 1)], dims)
        if dims and dims[0].name and dims[0].name == self.batch_name:
            return Tensor(list(data), dims[1:], batch=dims[0])
        return Tensor([data], dims)


class Roles:
    """The dimensions of heads and of tokens, by the declarations of a kernel: 1.4."""

    def __init__(self, tensors: list[list[Dim]]):
        self.heads = {dim.name for dims in tensors for dim in dims if dim.heads and dim.name}
        self.tokens = {dims[at].name for dims in tensors
                       if (at := self.tokens_by_place(dims)) is not None}

    def is_heads(self, dim: Dim) -> bool:
        return dim.heads or dim.name in self.heads

    def tokens_by_place(self, dims: list[Dim]) -> int | None:
        ragged = [at for at, dim in enumerate(dims) if dim.ragged]
        heads = [at for at, dim in enumerate(dims) if self.is_heads(dim)]
        if ragged or len(dims) != 4 or len(heads) != 1:
            return ragged[0] if ragged else None
        return [at for at in range(4) if at != heads[0]][1]

    def order(self, dims: list[Dim]) -> list[int]:
        """The place of each dimension after moving heads behind tokens."""
        tokens = self.tokens_by_place(dims)
        if tokens is None:
            named = [at for at, dim in enumerate(dims) if dim.name and dim.name in self.tokens]
            tokens = named[0] if named else -1
        heads = next((at for at, dim in enumerate(dims) if self.is_heads(dim)), len(dims))
        order = list(range(len(dims)))
        if heads < tokens:
            order.insert(tokens, order.pop(heads))
        return order

    def tokens_first(self, dims: list[Dim]) -> list[Dim]:
        return [dims[at] for at in self.order(dims)]


def by_name(dims: list[Dim]) -> list[Any]:
    return [dim if dim.size < 0 else dim.size for dim in dims]


def align(data: np.ndarray, dims: list[Dim], to: list[Dim]) -> np.ndarray:
    """Inserts dimensions of size 1 for the dimensions of `to` that the operand lacks."""
    wanted, own, index = by_name(to), by_name(dims), []
    for dim in wanted:
        if own and own[0] == dim:
            own.pop(0)
            index.append(slice(None))
        else:
            index.append(None)
    assert not own, f"{dims} isn't a subsequence of {to}"
    return data[tuple(index)]


def pool(tokens: np.ndarray, dim: Dim, by: str | np.ndarray) -> np.ndarray:
    """One batch row's windows: docs/spec.md, 3.2. `tokens` is [S, H, D]."""
    length, total = dim.length, len(tokens)
    windows = []
    for j in range(dim.count(total)):
        start, end = (int(x) for x in dim.extent(np.int64(j)))
        here = np.arange(max(start, 0), min(end, total))
        part = tokens[here]
        zeros = dim.tail in ("zeros_left", "zeros_right")
        if isinstance(by, np.ndarray):
            weights = np.broadcast_to(by, (tokens.shape[1], length))[:, here - start]
            windows.append((weights.T[:, :, None] * part).sum(axis=0))
        elif by == "max":
            values = [*part, np.zeros(part.shape[1:])] if zeros and len(here) < length else [*part]
            windows.append(np.max(values, axis=0))
        else:
            windows.append(part.sum(axis=0) / (len(here) if dim.tail == "average" else length))
    return np.stack(windows) if windows else np.zeros((0, *tokens.shape[1:]))
