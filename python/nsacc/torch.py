"""Programs in PyTorch: as operators that its compiler knows, and as attention of transformers.

`import nsacc` doesn't import torch; this module does.
"""

from __future__ import annotations

from typing import Any

import torch

from . import _operator
from .errors import ArgumentError
from .program import Program

__all__ = ["Operator", "op"]


class Operator:
    """A program as an operator of torch, made by `op`.

    Call it as the program, with tensors of torch on one device, in order or by name. Inputs of
    rank 0 are numbers, or tensors of rank 0. Results are what the program's are: a tensor, or a
    named tuple of several.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        """Its name in torch, as ``torch.ops.nsacc.<name>``: the kernel's, and a hash of the
        program and its options."""

    @property
    def overload(self) -> torch._ops.OpOverload:
        """The operator itself, which takes inputs in order, for `torch.library.opcheck` and the
        like."""
        overload: torch._ops.OpOverload = getattr(torch.ops.nsacc, self.name).default
        return overload

    def __call__(self, /, *inputs: Any, **named_inputs: Any) -> Any:
        """Raises `ArgumentError` as a call of the program does; where torch.compile calls, torch
        puts its own error around it."""
        return _operator.call(self.program, self.program._bind(inputs, named_inputs))

    def __repr__(self) -> str:
        return f"<nsacc.torch.Operator {self.name}{self.program.signature}>"


def op(program: Program) -> Operator:
    """A program as an operator of torch, which torch.compile and torch.export leave whole.

    Args:
        program: of `nsacc.compile` or `nsacc.load`. Equal programs share an operator, which stays
            until the process ends.

    There are no gradients yet: inputs that require them are refused outside of
    ``torch.no_grad()``, and so is `torch.vmap`. Raises `ArgumentError` for what is no program.
    """
    if not isinstance(program, Program):
        raise ArgumentError(f"program is a {type(program).__qualname__}, expected what "
                            f"nsacc.compile or nsacc.load gives")
    return Operator(program, program._operator_name())
