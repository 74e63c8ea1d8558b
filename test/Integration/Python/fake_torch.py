"""A module in torch's place, with tensors that claim to be on a GPU.

It has the parts of torch that calls use: DLPack's functions in C, `empty`, `full` and a few
names. Run with the driver of test/FakeCUDA, such calls go to their launches without a GPU.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

_CPU, _CUDA = 1, 2
_CODES = {"float32": (2, 32), "bfloat16": (4, 16), "int32": (0, 32), "int64": (0, 64),
          "bool": (6, 8), "float16": (2, 16), "float64": (2, 64)}
asked_for_streams: list[int] = []
"""The devices in requests for the current stream."""


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Tensor:
    """Row-major; `device` is a pair of DLPack's kind of device and its number."""

    requires_grad = False

    def __init__(self, shape, dtype: str, device: tuple[int, int]) -> None:
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        bits = _CODES[dtype][1]
        self.memory = np.zeros(int(np.prod(shape)) * bits // 8 + 256, np.uint8)
        # Bulk copies need memory aligned as on a GPU.
        self.data = -(-self.memory.ctypes.data // 256) * 256
        strides = [int(np.prod(shape[index + 1:])) for index in range(len(shape))]
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides)

    def is_neg(self) -> bool:
        return False

    def _is_zerotensor(self) -> bool:
        return False

    __torch_dispatch__ = None


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_DLTensor))
def _lend(tensor, view):
    code, bits = _CODES[tensor.dtype]
    view[0] = _DLTensor(tensor.data, *tensor.device, len(tensor.shape), code, bits, 1,
                        tensor.sizes, tensor.strides, 0)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _get_current_stream(_type, device, stream):
    asked_for_streams.append(device)
    stream[0] = None
    return 0


class _Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("unused", ctypes.c_void_p * 4), ("lend", ctypes.c_void_p),
                ("get_current_stream", ctypes.c_void_p)]


_exchange = _Exchange(1, 3, (ctypes.c_void_p * 4)(), ctypes.cast(_lend, ctypes.c_void_p),
                      ctypes.cast(_get_current_stream, ctypes.c_void_p))
# Capsules keep neither their names nor their targets alive.
_name = ctypes.create_string_buffer(b"dlpack_exchange_api")
_make_capsule = ctypes.pythonapi.PyCapsule_New
_make_capsule.restype = ctypes.py_object
_make_capsule.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
Tensor.__dlpack_c_exchange_api__ = _make_capsule(  # type: ignore[attr-defined]
    ctypes.addressof(_exchange), ctypes.addressof(_name), None)


def install() -> ModuleType:
    """From here on, this module is torch."""
    torch = ModuleType("torch")
    torch.Tensor = Tensor
    torch.nn = SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    torch.is_grad_enabled = lambda: True
    torch.device = lambda kind, index=0: (_CUDA if kind == "cuda" else _CPU, index)
    torch.empty = lambda shape, dtype, device: Tensor(shape, dtype, device)
    torch.full = lambda shape, value, dtype, device: Tensor(shape, dtype, device)
    torch.autograd = SimpleNamespace(forward_ad=SimpleNamespace(_current_level=-1))
    torch._is_functional_tensor = lambda tensor: False
    torch._C = SimpleNamespace(
        _len_torch_dispatch_stack=lambda: 0, _is_tracing=lambda: False,
        _is_any_autocast_enabled=lambda: False,
        _disabled_torch_dispatch_impl=None,
        _functorch=SimpleNamespace(maybe_current_level=lambda: None,
                                   is_functorch_wrapped_tensor=lambda tensor: False))
    torch.compiler = SimpleNamespace(is_compiling=lambda: False)
    for name in _CODES:
        setattr(torch, name, name)
    sys.modules["torch"] = torch
    return torch
