"""Shapes of results for sizes that torch's compiler leaves open.

The compiler calls with tensors without memory, which may have symbols as sizes. It checks its
conclusions about symbols before it runs the compiled code; the run itself checks the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .errors import ArgumentError
from .signature import Dim, Signature, TensorSpec

Size = Any
"""An int or a torch.SymInt."""


class Sizes:
    """The dimensions that inputs bind."""

    def __init__(self, signature: Signature, shapes: Sequence[Sequence[Size]]) -> None:
        """Binds the dimensions of a program to these shapes of its inputs.

        Raises `ArgumentError` if two sizes that have to be equal are known to differ.
        """
        self._sizes: dict[str, Size] = {}
        self._rows: Size | None = None
        # The input that bound a dimension's size.
        self._tellers: dict[str, str] = {}
        self._ragged = {spec.dims[0].name for spec in signature.inputs if spec.is_offsets}
        pairs = list(zip(signature.inputs, shapes))
        for spec, shape in pairs:
            _check_rank(spec, shape)
            self._bind(spec, shape)
        for spec, shape in pairs:
            for index, (dim, size) in enumerate(zip(spec.dims, shape)):
                self._check(spec, index, dim, size)

    def get_shape(self, spec: TensorSpec, make_size: Callable[[], Size]) -> list[Size]:
        """Shape of a result; `make_size` gives sizes that only the memory of offsets holds."""
        sizes = []
        for dim in spec.dims:
            size = self._get(dim)
            sizes.append(make_size() if size is None else size)
        return sizes

    def _bind(self, spec: TensorSpec, shape: Sequence[Size]) -> None:
        for dim, size in zip(spec.dims, shape):
            if dim.kind in ("named", "ragged"):
                self._sizes.setdefault(dim.name, size)
                self._tellers.setdefault(dim.name, spec.name)
            elif dim.kind == "offsets" and self._rows is None:
                self._rows = size - 1

    def _check(self, spec: TensorSpec, index: int, dim: Dim, size: Size) -> None:
        expected = self._get(dim)
        if expected is None:
            return
        torch._check_with(
            ArgumentError, size == expected,
            lambda: self._explain(spec, index, dim, expected, size))

    def _explain(self, spec: TensorSpec, index: int, dim: Dim, expected: Size, size: Size) -> str:
        """The message in the words of a call; symbols stand for sizes that no call gave."""
        expected, size = _spell_size(expected), _spell_size(size)
        if dim.name in self._tellers and dim.kind in ("named", "ragged"):
            return (f"dimension {dim.name} is {expected} in '{self._tellers[dim.name]}' but {size} "
                    f"in '{spec.name}': equal names must have equal sizes")
        return (f"dimension {index} of '{spec.name}', {dim}, must be {expected}, found {size}: the "
                f"program declares {spec}")

    def _get(self, dim: Dim) -> Size | None:
        """The size; None if nothing binds it, or only the lengths of rows."""
        if dim.kind == "constant":
            return dim.size
        if dim.kind in ("named", "ragged"):
            return self._sizes.get(dim.name)
        if dim.kind == "offsets":
            return None if self._rows is None else self._rows + 1
        name = dim.count if dim.kind == "pooled" else dim.name
        tokens = self._sizes.get(name)
        if tokens is None:
            return None
        if dim.kind == "pooled":
            return tokens if dim.ragged or name not in self._ragged else None
        if name in self._ragged:
            return None
        return _count_windows(dim, tokens) if dim.kind == "pool" else _divide(tokens, dim.block)


def _spell_size(size: Size) -> str:
    """The size that the compiler saw in a call, if it saw one; else its symbol."""
    if isinstance(size, torch.SymInt) and size.node.has_hint():
        return str(size.node.hint)
    return str(size)


def _check_rank(spec: TensorSpec, shape: Sequence[Size]) -> None:
    if len(shape) == spec.rank:
        return
    word = "dimension" if len(shape) == 1 else "dimensions"
    raise ArgumentError(f"'{spec.name}' has {len(shape)} {word}, expected {spec.rank}: found shape "
                        f"{list(shape)}, the program declares {spec}")


def _divide(size: Size, by: int) -> Size:
    """The quotient, rounded up."""
    return (size + by - 1) // by


def _count_windows(dim: Dim, tokens: Size) -> Size:
    """Number of pooled keys over tokens (docs/spec.md, pool), without a branch that depends on a
    symbol."""
    if dim.tail == "drop":
        return torch.sym_max(tokens - dim.len + dim.stride, 0) // dim.stride
    if dim.tail == "zeros_left":
        return tokens // dim.stride
    windows = _divide(torch.sym_max(tokens - dim.len, 0), dim.stride) + 1
    return torch.sym_min(tokens, 1) * windows
