"""Calls under torch.autocast take and give reals of its type, as torch's attention does.

Inputs of reals are cast to the types that the program declares with autocast's type as its storage
type: to that type, or to f32 where the program says f32, as for gates and slopes. As in torch, f64
isn't cast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _dtypes

if TYPE_CHECKING:
    from .program import Program

DEVICES = ("CPU", "CUDA")
"""Devices that programs run on, as torch's dispatch keys of autocast spell them."""
_TYPES = ("bf16", "f16")


def find(values: Sequence[Any]) -> str | None:
    """The device of a call's autocast, as torch's dispatch keys spell it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch._C._is_any_autocast_enabled():
        return None
    first = next((value for value in values if isinstance(value, torch.Tensor)), None)
    if first is None or first.device.type.upper() not in DEVICES:
        return None
    is_on = torch.is_autocast_enabled(first.device.type)
    return first.device.type.upper() if is_on else None


def cast(program: Program, values: Sequence[Any], device: str) -> tuple[Program, list[Any]]:
    """The program for autocast's type, and its inputs."""
    import torch

    dtype = _dtypes.spell(torch.get_autocast_dtype(device.lower()))
    if dtype not in _TYPES:
        return program, list(values)
    program = program._with_dtype(dtype)
    known = [getattr(torch, _dtypes.TORCH[name]) for name in (*_TYPES, "f32")]
    inputs = []
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, torch.Tensor) and value.dtype in known and spec.dtype in (dtype,
                                                                                       "f32"):
            value = value.to(getattr(torch, _dtypes.TORCH[spec.dtype]))
        inputs.append(value)
    return program, inputs


def suspend(device: str) -> Any:
    """A context in which a device's autocast is off."""
    import torch

    key = getattr(torch._C.DispatchKey, f"Autocast{device}")
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key))
