"""The place of a run's tensors, and the stream that the run is put on."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _dtypes, _inputs
from ._inputs import Input, lend_torch
from .errors import ArgumentError
from .signature import TensorSpec

_HOST_TARGETS = ("cpu", "oracle")


def is_gpu(target: str) -> bool:
    """Whether programs for the target run on a GPU."""
    return target not in _HOST_TARGETS


def find_ptxas() -> list[str]:
    """Folders where packages of CUDA's compiler put ptxas."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = []
    for folder in folders:
        found += sorted(glob.glob(os.path.join(folder, "cu*", "bin", "ptxas")), reverse=True)
    return found


@dataclass(frozen=True)
class Place:
    """Host memory, or a CUDA device and the handle of a stream."""

    device: int | None = None
    stream: int = 0


def find_place(specs: Sequence[TensorSpec], inputs: Sequence[Input], stream: Any) -> Place:
    """The place of all inputs except plain numbers; all have to be at one place."""
    tensors = [(spec, one.tensor.device) for spec, one in zip(specs, inputs)
               if one.library is not None]
    devices = {device for _, device in tensors}
    if len(devices) > 1:
        described = ", ".join(f"'{spec.name}' on {_name(device)}" for spec, device in tensors)
        raise ArgumentError(f"the inputs are on different devices: {described}")
    device = devices.pop() if devices else None
    if device is None:
        if stream is not None:
            raise ArgumentError("stream is for inputs on a GPU, these are on the host")
        return Place()
    return Place(device, find_stream(device, stream))


def find_stream(device: int, stream: Any) -> int:
    """The handle of a stream, by default of torch's current one."""
    return _current_stream(device) if stream is None else _handle(stream)


def move_numbers(specs: Sequence[TensorSpec], values: Sequence[Any], inputs: Sequence[Input],
                 library: Any, place: Place) -> list[Input]:
    """Converts inputs that are plain numbers to tensors on the others' device."""
    if place.device is None or getattr(library, "__name__", "") != "torch":
        return list(inputs)
    moved = []
    for spec, value, one in zip(specs, values, inputs):
        if one.library is None:
            dtype = getattr(library, _dtypes.TORCH[spec.dtype])
            # They are filled there, on the run's stream: a copy from the host would wait.
            stream = library.cuda.ExternalStream(place.stream, device=place.device)
            with library.cuda.stream(stream):
                there = library.full((), value, dtype=dtype, device=f"cuda:{place.device}")
            one = Input(lend_torch(there, library), library)
        moved.append(one)
    return moved


def narrow_offsets(specs: Sequence[TensorSpec], values: Sequence[Any],
                   stream: Any) -> list[Any]:
    """Converts inputs' offsets to i32, on the run's stream."""
    torch = sys.modules.get("torch")
    narrowed = []
    for spec, value in zip(specs, values):
        if spec.is_offsets:
            if stream is not None and isinstance(value, torch.Tensor) and value.is_cuda:
                run = torch.cuda.ExternalStream(_handle(stream), device=value.device)
                with torch.cuda.stream(run):
                    value = _inputs.narrow_offsets(value)
            else:
                value = _inputs.narrow_offsets(value)
        narrowed.append(value)
    return narrowed


def keep_until_done(place: Place, owners: Sequence[Any]) -> None:
    """Tells torch's allocator about a use on another stream than its current one."""
    torch = sys.modules.get("torch")
    if torch is None or place.device is None or place.stream == _current_stream(place.device):
        return
    stream = torch.cuda.ExternalStream(place.stream, device=place.device)
    for owner in owners:
        if isinstance(owner, torch.Tensor) and owner.is_cuda:
            owner.record_stream(stream)


def _name(device: int | None) -> str:
    return "the host" if device is None else f"cuda:{device}"


def _current_stream(device: int) -> int:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return int(torch.cuda.current_stream(device).cuda_stream)


def _handle(stream: Any) -> int:
    """An integer, or a stream of torch or CuPy."""
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    if not isinstance(stream, int) or isinstance(stream, bool) or stream < 0:
        raise ArgumentError(f"stream is {stream!r}, expected a stream of torch or the handle of "
                            f"one")
    return stream
