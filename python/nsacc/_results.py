"""Results: memory for them, and the kind of object that the caller gets."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import numpy as np

from . import _dtypes, _nsacc
from ._inputs import lend_torch
from .errors import ArgumentError

_BF16_BITS = np.dtype(np.uint16)


class Output:
    """One result, while and after it is computed."""

    def __init__(self, library: Any, dtype: str, shape: tuple[int, ...],
                 device: int | None = None) -> None:
        self._library = library
        self._dtype = dtype
        is_torch = getattr(library, "__name__", "") == "torch"
        if device is not None and not is_torch:
            raise ArgumentError("results on a GPU are tensors of torch: pass inputs of torch, as "
                                "torch.from_dlpack makes of other libraries' tensors")
        if is_torch:
            # A default device that the caller has set doesn't apply here.
            where = "cpu" if device is None else f"cuda:{device}"
            self._owner = library.empty(shape, dtype=getattr(library, _dtypes.TORCH[dtype]),
                                        device=where)
            self.tensor = lend_torch(self._owner, library)
        else:
            self._owner = np.empty(shape, _dtypes.NUMPY.get(dtype, _BF16_BITS))
            self.tensor = _nsacc.HostTensor.from_buffer(self._owner, dtype)

    def get(self) -> Any:
        if getattr(self._library, "__name__", "") == "torch":
            return self._owner
        array = _as_bfloat16(self._owner) if self._dtype == "bf16" else self._owner
        return array if self._library is np else self._library.asarray(array)


def _as_bfloat16(bits: np.ndarray) -> np.ndarray:
    dtype = _dtypes.bfloat16()
    if dtype is not None:
        return bits.view(dtype)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def make_tuple(names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """A named tuple; names that Python can't have become positions."""
    results: tuple[Any, ...] = make_class(names)(*values)
    return results


@functools.cache
def make_class(names: tuple[str, ...]) -> Any:
    """One class for all results of these names: making one takes longer than a launch."""
    make_class: Any = namedtuple
    fields = make_class("Results", names, rename=True)
    # Its class can't be found by name, so pickles carry what it was made from.
    fields.__reduce__ = lambda self: (make_tuple, (names, tuple(self)))
    return fields
