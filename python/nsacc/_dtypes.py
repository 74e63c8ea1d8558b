"""Names of element types here, in NumPy and in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMPY = {
    "bool": np.dtype(np.bool_),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}

TORCH = {"bool": "bool", "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16",
         "f32": "float32", "f64": "float64"}

_BY_LONG_NAME = {long: short for short, long in TORCH.items()}


def bfloat16() -> np.dtype[Any] | None:
    """The dtype of ml_dtypes, if that is installed."""
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def spell_numpy(name: str) -> str:
    """The type's name in code of NumPy; np.bool doesn't exist before NumPy 2."""
    if name == "bf16":
        return "ml_dtypes.bfloat16"
    return "bool" if name == "bool" else f"np.{NUMPY[name].name}"


def spell(dtype: Any) -> str:
    """The name in programs of a name, a NumPy dtype or scalar type, or a torch dtype."""
    if dtype is None:
        # NumPy takes None for f64.
        raise TypeError("None is no dtype")
    if isinstance(dtype, str):
        name = dtype
    elif is_torch_dtype(dtype):
        name = str(dtype).removeprefix("torch.")
    else:
        name = np.dtype(dtype).name
    return _BY_LONG_NAME.get(name, name)


def is_dtype(value: Any) -> bool:
    return isinstance(value, (np.dtype, type)) or is_torch_dtype(value)


def is_torch_dtype(value: Any) -> bool:
    # This isn't isinstance, which would import torch.
    return f"{type(value).__module__}.{type(value).__qualname__}" == "torch.dtype"
