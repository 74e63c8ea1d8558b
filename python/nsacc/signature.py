"""Inputs and results of a program: names, dtypes and dimensions."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Dim", "Signature", "TensorSpec"]


@dataclass(frozen=True)
class Dim:
    """One dimension of an input or a result; ``str()`` spells it as programs do."""

    text: str
    kind: str
    """"constant", "named", "ragged", "offsets", "pool", "pooled" or "blocks"."""
    name: str = ""
    """The name of this dimension, or of the dimension that it packs, pools or divides; empty for
    constants."""
    count: str = ""
    """The name that counts declared pooled keys."""
    ragged: bool = False
    """Whether the rows of the batch are packed behind each other."""
    size: int = 0
    len: int = 0
    stride: int = 0
    tail: str = ""
    block: int = 0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TensorSpec:
    """An input or a result; ``repr()`` spells its type as programs do: ``bf16[B, T, HQ, D]``."""

    name: str
    dtype: str
    """"bool", "i32", "i64", "bf16", "f16" or "f32"."""
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_offsets(self) -> bool:
        """Whether these are the row offsets of a ragged dimension."""
        return self.rank == 1 and self.dims[0].kind == "offsets"

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]" if self.dims else self.dtype

    def __str__(self) -> str:
        return f"{self.name}: {self!r}"


class Signature(inspect.Signature):
    """An `inspect.Signature` with `TensorSpec`s as annotations.

    ``inputs`` and ``results`` hold them in order, and ``dims`` the names of the dimensions that a
    call binds. If an input's name is a keyword of Python, its parameter has an underscore behind
    it; calls may still use the name through ``**``.
    """

    inputs: tuple[TensorSpec, ...]
    results: tuple[TensorSpec, ...]
    dims: tuple[str, ...]

    def __init__(self, inputs: Iterable[TensorSpec], results: Iterable[TensorSpec]) -> None:
        self.inputs = tuple(inputs)
        self.results = tuple(results)
        self.dims = tuple(dict.fromkeys(
            dim.name for spec in self.inputs for dim in spec.dims
            if dim.kind in ("named", "ragged")))
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        super().__init__(
            [inspect.Parameter(_python_name(spec.name), kind, annotation=spec)
             for spec in self.inputs],
            return_annotation=self.results[0] if len(self.results) == 1 else self.results)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """A plain `inspect.Signature` with other parameters, such as tools make."""
        plain = inspect.Signature(list(self.parameters.values()),
                                  return_annotation=self.return_annotation)
        return plain.replace(**changes)

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        if len(self.results) == 1:
            return f"({inputs}) -> {self.results[0]!r}"
        return f"({inputs}) -> ({', '.join(map(str, self.results))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Signature, (self.inputs, self.results)


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
