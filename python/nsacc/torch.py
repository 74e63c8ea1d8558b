"""Programs in PyTorch: as operators that its compiler knows, and as attention of transformers.

`import nsacc` doesn't import torch; this module does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch

from . import _masks, _operator, _transformers
from .errors import ArgumentError
from .program import Program

__all__ = ["Operator", "op", "register_attention"]


class Operator:
    """A program as an operator of torch, made by `op`.

    Call it as the program, with tensors of torch on one device, in order or by name. Inputs of rank
    0 are numbers, or tensors of rank 0. Results are as the program's: a tensor, or a named tuple of
    several.
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
        """Raises `ArgumentError` as a call of the program does; under torch.compile, torch adds the
        place behind the message."""
        if named_inputs or len(inputs) != self.program._num_inputs:
            inputs = tuple(self.program._bind(inputs, named_inputs))
        return _operator.call(self.program, inputs)

    def __repr__(self) -> str:
        return f"<nsacc.torch.Operator {self.name}{self.program.signature}>"


def op(program: Program) -> Operator:
    """A program as an operator of torch, which torch.compile and torch.export leave whole.

    Args:
        program: of `nsacc.compile` or `nsacc.load`. Equal programs share an operator, which stays
            until the process ends.

    Tensors are in the order that the program declares, ``[B, T, heads H, D]`` or, as for torch's
    attention, ``[B, heads H, T, D]``. Under ``torch.autocast`` inputs are cast as for torch's
    attention, and DTensors may be sharded along dimensions that the program computes independently.

    There are no gradients yet: inputs that require them are refused outside of ``torch.no_grad()``,
    and so are tangents of forward-mode gradients, and `torch.vmap`. Raises `ArgumentError` if
    `program` is none.
    """
    if not isinstance(program, Program):
        raise ArgumentError(f"program is a {type(program).__qualname__}, expected what "
                            f"nsacc.compile or nsacc.load gives")
    return Operator(program, program._operator_name())


def register_attention(name: str, program: Program | Mapping[str, Program], *,
                       inputs: Mapping[str, _transformers.Source] | None = None,
                       own: Collection[str] = (), heads_first: bool | None = None) -> None:
    """Registers a program as an attention of Hugging Face transformers.

    Models take it as ``attn_implementation=name``, or by ``model.set_attn_implementation(name)``,
    in training mode too, but without gradients. Key heads aren't repeated, and
    tensors aren't copied.

    Args:
        name: a new one, or one that was registered here before, without "flash", "sdpa",
            "flex_attention" and marks that transformers reads as places of kernels.
        program: its first inputs are queries, keys and values, ``[B, T, HQ, D]``, ``[B, S, H, D]``
            and ``[B, S, H, DV]``, or ``[B, heads HQ, T, D]`` and so on; its first result ``[B, T,
            HQ, DV]`` or ``[B, HQ, T, DV]``. Queries are the last positions, as with a cache. Its
            mask stands in place of the model's: causal layers take any that hides later keys,
            bidirectional ones a program with queries that see later keys. Where layers have
            windows, an integer parameter ``window`` is set to their lengths; or programs for kinds
            of layers are a mapping, ``{"causal": …, "causal_window": …}``, with "bidirectional" and
            "bidirectional_window" for encoders.
        inputs: sources of further inputs, by their names: ``"scaling"``, the model's factor of
            scores (else the program has to multiply with ``D**-0.5``); ``"padding"``, bool[B, S],
            false for keys that are padding; an argument that the model passes to its attention, as
            ``"softcap"`` or ``"s_aux"``; or a function, called as ``function(module, query, key,
            value, scaling=…, padding=…, **more)`` with tensors ``[B, H, T, D]``.
        own: properties that the program implements itself, so that the model's are left out:
            ``"mask"``, for masks that programs can't be compared with or shall differ from,
            ``"scaling"``, and arguments as above.
        heads_first: whether its tensors are ``[B, H, T, D]``; found from the program if it shows
            there.

    Warns (UserWarning) where `inputs` names an argument that no model of transformers is known to
    pass. Raises `ArgumentError` where the program isn't such an attention, where `inputs` or `own`
    has what can't be meant, and where transformers isn't installed. Calls raise it for dropout, for
    masks that the program doesn't have, for `position_ids` that begin again within a row of a
    causal model, for caches with room behind the last key, and for arguments of `inputs` that the
    model doesn't pass; under ``torch.compile(fullgraph=True)`` torch tells the place behind its
    words.
    """
    for one in _list_programs(program):
        if not isinstance(one, Program):
            raise ArgumentError(f"program is a {type(one).__qualname__}, expected what "
                                f"nsacc.compile or nsacc.load gives")
    _transformers.register(name, program, inputs, own, heads_first)


def _list_programs(program: Any) -> list[Any]:
    """The program itself, or the programs for kinds of layers."""
    if not isinstance(program, Mapping):
        return [program]
    for kind in program:
        if kind not in _masks.KINDS:
            raise ArgumentError(f"program has one for {kind!r} layers, expected "
                                f"{', '.join(map(repr, _masks.KINDS))}")
    if not program:
        raise ArgumentError("program is empty, expected programs for kinds of layers, as "
                            "{'causal': …, 'causal_window': …}")
    return list(program.values())
