"""Makes views of the memory of the caller's tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from . import _dtypes, _nsacc
from .errors import ArgumentError
from .signature import TensorSpec

_PLAIN = frozenset(_dtypes.NUMPY.values())
_CPU, _CUDA, _PINNED = 1, 2, 3
_DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda_managed",
            14: "oneapi", 15: "webgpu", 16: "hexagon", 17: "maia"}


@dataclass(frozen=True)
class Input:
    """A view of an input's memory, and the library of its owner."""

    tensor: _nsacc.HostTensor
    library: Any
    """The module torch or numpy, another array namespace, or None for a plain number."""


def view(spec: TensorSpec, value: Any, on_gpu: bool = False) -> Input:
    """Borrows the memory of `value`; `check_dtypes` checks its element type. Memory of a GPU is
    borrowed only if programs can run on one."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return Input(_from_torch(spec, value, torch, on_gpu), torch)
    if isinstance(value, np.ndarray):
        return Input(_from_numpy(spec, value), np)
    if isinstance(value, (bool, int, float, np.generic)):
        return Input(_from_number(spec, value), None)
    if hasattr(value, "__dlpack__"):
        return Input(_from_dlpack(spec, value, on_gpu), _namespace(value))
    return Input(_from_buffer(spec, value), np)


def is_for_operator(values: Sequence[Any]) -> bool:
    """Whether torch has to see a call as an operator's: it is recorded or transformed, or an input
    is a tensor that stands for others."""
    torch = sys.modules.get("torch")
    if torch is None or not any(isinstance(value, torch.Tensor) for value in values):
        return False
    return (torch.autograd.forward_ad._current_level >= 0
            or torch._C._len_torch_dispatch_stack() > 0 or torch._C._is_tracing()
            or torch._C._functorch.maybe_current_level() is not None
            or any(_has_no_memory(value, torch) for value in values))


def is_distributed(values: Sequence[Any]) -> bool:
    """Whether an input is a DTensor."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and any(isinstance(value, module.DTensor) for value in values)


def is_recorded(values: Sequence[Any]) -> bool:
    """Whether a call becomes part of a graph, as torch.jit.trace and make_fx make, or of a
    transformed function."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return (torch._C._is_tracing() or proxies is not None and proxies.get_proxy_mode() is not None
            or any(_has_no_memory(value, torch) for value in values))


def _has_no_memory(value: Any, torch: Any) -> bool:
    if not isinstance(value, torch.Tensor):
        return False
    own_dispatch = type(value).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    return bool(own_dispatch or torch._C._functorch.is_functorch_wrapped_tensor(value)
                or torch._is_functional_tensor(value) or value._is_zerotensor())


def _fail(spec: TensorSpec, problem: str, cause: BaseException | None = None) -> NoReturn:
    raise ArgumentError(f"'{spec.name}' {problem}") from cause


def is_declared(spec: TensorSpec, dtype: str) -> bool:
    """Whether elements of this type are accepted; offsets of i64 are converted to i32."""
    return dtype == spec.dtype or (spec.is_offsets and dtype == "i64")


def check_dtypes(specs: Sequence[TensorSpec], inputs: Sequence[Input],
                 find_dtype: Callable[[Sequence[str]], str | None]) -> None:
    """Whether inputs have the declared types. `find_dtype` gives a storage type with which the
    program would take all of them."""
    found = [one.tensor.dtype for one in inputs]
    for spec, given, dtype in zip(specs, inputs, found):
        if not is_declared(spec, dtype):
            is_torch = getattr(given.library, "__name__", "") == "torch"
            fitting = find_dtype(found)
            other = f", or compile the program with dtype='{fitting}'" if fitting else ""
            _fail(spec, f"holds {dtype}, expected {spec.dtype}: the program declares {spec}."
                        f"\nPass {_spell_conversion(spec, is_torch)}{other}.")


def _spell_array(spec: TensorSpec, values: Sequence[Any]) -> str:
    """The spelling that makes an array of numbers, or of arrays, that are in no array."""
    if spec.rank == 0:
        return f"{spec.name}[0], or whichever number is meant"
    torch = sys.modules.get("torch")
    if torch is not None and values and isinstance(values[0], torch.Tensor):
        return f"torch.stack({spec.name})"
    if values and isinstance(values[0], np.ndarray):
        return f"np.stack({spec.name})"
    return f"np.array({spec.name}, {_dtypes.spell_numpy(spec.dtype)})"


def _spell_conversion(spec: TensorSpec, is_torch: bool) -> str:
    if is_torch:
        return f"{spec.name}.to(torch.{_dtypes.TORCH[spec.dtype]})"
    return f"{spec.name}.astype({_dtypes.spell_numpy(spec.dtype)})"


def _check_known(spec: TensorSpec, dtype: Any, is_known: bool, is_torch: bool) -> None:
    """Masks are often uint8, for instance, which no program can declare."""
    if not is_known:
        _fail(spec, f"holds {dtype}, expected {spec.dtype}: the program declares {spec}."
                    f"\nPass {_spell_conversion(spec, is_torch)}.")


def _check_device(spec: TensorSpec, device: str, on_gpu: bool) -> None:
    if on_gpu:
        _fail(spec, f"is on device {device}, expected the host or an NVIDIA GPU.")
    _fail(spec, f"is on device {device}, but the program's target runs on the host: move it "
                f"there first, in torch with .cpu(), or compile with target='cuda'.")


# -- torch ------------------------------------------------------------------------------------


def check_torch(spec: TensorSpec, tensor: Any, torch: Any, on_gpu: bool) -> None:
    """Checks that a tensor of torch can be borrowed, also a tensor without memory, as torch's
    compiler makes them, and that programs can declare its element type."""
    is_there = on_gpu and tensor.device.type == "cuda"
    if tensor.device.type != "cpu" and not is_there:
        _check_device(spec, str(tensor.device), on_gpu)
    if tensor.is_nested:
        _refuse_nested(spec, tensor)
    if tensor.layout != torch.strided:
        _fail(spec, f"has layout {tensor.layout}, expected a dense tensor: pass .to_dense().")
    if tensor.requires_grad and torch.is_grad_enabled():
        _fail(spec, f"requires gradients, which nsacc can't compute yet: call under "
                    f"torch.no_grad(), or pass {spec.name}.detach().")
    if tensor.is_quantized:
        _fail(spec, f"is quantized, {tensor.dtype}: pass {spec.name}.dequantize()"
                    f".to(torch.{_dtypes.TORCH[spec.dtype]}).")
    known = str(tensor.dtype).removeprefix("torch.") in _dtypes.TORCH.values()
    _check_known(spec, tensor.dtype, known or tensor.is_complex(), is_torch=True)


def _explain_rows(spec: TensorSpec, nested: Any) -> str:
    """The spelling that makes a ragged dimension of a nested tensor's rows."""
    ragged = [dim for dim in spec.dims if dim.kind == "ragged"]
    name = ragged[0].name if ragged else "T"
    pass_it = f"pass {spec.name}.values(), and {spec.name}.offsets() as {name}_offsets"
    if "jagged" not in str(nested.layout):
        pass_it = (f"make it jagged, {spec.name} = torch.nested.nested_tensor("
                   f"{spec.name}.unbind(), layout=torch.jagged), and {pass_it}")
    elif nested.lengths() is not None:
        pass_it = (f"its lengths leave holes between rows, close them with {spec.name} = "
                   f"{spec.name}.contiguous(), and {pass_it}")
    if ragged:
        return f"{pass_it}."
    return (f"the program declares {spec}; declare its rows as a ragged dimension, [ragged T, …], "
            f"and {pass_it}.")


def refuse_nested(specs: Sequence[TensorSpec], values: Mapping[str, Any]) -> None:
    """Refuses inputs by name that are nested tensors of torch, whose offsets are inputs, too."""
    torch = sys.modules.get("torch")
    for spec in specs:
        value = values.get(spec.name)
        if torch is not None and isinstance(value, torch.Tensor) and value.is_nested:
            _refuse_nested(spec, value)


def _refuse_nested(spec: TensorSpec, nested: Any) -> NoReturn:
    _fail(spec, f"is a nested tensor, expected a dense one: {_explain_rows(spec, nested)}")


def check_tangents(spec: TensorSpec, tensor: Any, torch: Any) -> None:
    """Refuses forward-mode gradients, in a tensor or in tensors that transforms wrapped."""
    # Mapped tensors have no tangents themselves, and can't be asked.
    while torch._C._functorch.is_batchedtensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    if torch._VF._unpack_dual(tensor, level=0)[1] is not None:
        _fail(spec, f"has a tangent of forward-mode gradients, which nsacc can't compute yet: pass "
                    f"torch.autograd.forward_ad.unpack_dual({spec.name}).primal.")
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        check_tangents(spec, torch._C._functorch.get_unwrapped(tensor), torch)


def refuse_tangents(specs: Sequence[TensorSpec], values: Sequence[Any], torch: Any) -> None:
    """Calls `check_tangents` for all inputs that are tensors of torch."""
    for spec, value in zip(specs, values):
        if isinstance(value, torch.Tensor):
            check_tangents(spec, value, torch)


def view_nothing(spec: TensorSpec, tensor: Any, torch: Any) -> Input:
    """Only the element type of a tensor without memory; `check_torch` came before."""
    if tensor is None:
        return Input(_nsacc.HostTensor.from_shape(spec.dtype, []), None)
    if tensor.is_complex():
        _fail(spec, f"can't be read, dtype {tensor.dtype}: elements of complex numbers aren't "
                    f"supported")
    return Input(_nsacc.HostTensor.from_shape(_dtypes.spell(tensor.dtype), []), torch)


def _from_torch(spec: TensorSpec, tensor: Any, torch: Any, on_gpu: bool) -> _nsacc.HostTensor:
    check_torch(spec, tensor, torch, on_gpu)
    try:
        return lend_torch(tensor.detach().resolve_neg(), torch)
    except (BufferError, RuntimeError, TypeError, ValueError) as cause:
        _fail(spec, f"can't be read, dtype {tensor.dtype}: {cause}", cause)


def lend_torch(tensor: Any, torch: Any) -> _nsacc.HostTensor:
    """Borrows a torch tensor's memory, on any device. Runs are put on the stream that torch uses,
    so there is nothing to wait for. `__dlpack__` would handle both, at 15 times the cost."""
    return _nsacc.HostTensor.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))


_MOST_TOKENS = 2**31 - 1


def narrow_offsets(value: Any) -> Any:
    """Converts offsets of i64, as jagged tensors have, to i32. Numbers that i32 can't hold become
    its bounds. No tensor has these as offsets: a run refuses them, and nothing has to wait here."""
    torch = sys.modules.get("torch")
    low, high = -1, _MOST_TOKENS
    if torch is not None and isinstance(value, torch.Tensor) and value.dtype == torch.int64:
        return value.clamp(low, high).to(torch.int32)
    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        return np.clip(value, low, high).astype(np.int32)
    return value


def check_offsets(specs: Sequence[TensorSpec], given: Sequence[Any]) -> None:
    """Whether a refused run had offsets on the host that i32 can't hold: what it says is about
    their bounds."""
    torch = sys.modules.get("torch")
    for spec, value in zip(specs, given):
        if torch is not None and isinstance(value, torch.Tensor) and not value.is_cuda:
            value = value.numpy(force=True)
        if not spec.is_offsets or not isinstance(value, np.ndarray) or value.dtype != np.int64:
            continue
        for entry in np.flatnonzero((value < 0) | (value > _MOST_TOKENS))[:1]:
            _fail(spec, f"has {value.flat[entry]} at entry {entry}, expected 0 to {_MOST_TOKENS}: "
                        f"offsets count packed tokens, from 0 up to the number of all of them, "
                        f"and are held in i32")


# -- NumPy ------------------------------------------------------------------------------------


def _from_numpy(spec: TensorSpec, value: np.ndarray) -> _nsacc.HostTensor:
    # A small run takes less time than the tests below.
    if type(value) is np.ndarray and value.dtype in _PLAIN and value.flags.carray:
        return _nsacc.HostTensor.from_buffer(value)
    if isinstance(value, np.ma.MaskedArray):
        _fail(spec, "is a masked array, whose mask a program can't see: pass .filled(...).")
    array = np.asarray(value)
    if not array.dtype.isnative:
        _fail(spec, f"has the byte order of another machine, dtype {array.dtype.str}: "
                    f"pass .astype(np.{array.dtype.newbyteorder('=').name}).")
    _check_numbers(spec, array)
    size = array.dtype.itemsize
    if not array.flags.aligned or any(stride % max(size, 1) for stride in array.strides):
        array = array.copy()
    if array.dtype.name == "bfloat16":
        return _nsacc.HostTensor.from_buffer(array.view(np.uint16), "bf16")
    known = array.dtype.kind not in "iuf" or array.dtype in _dtypes.NUMPY.values()
    _check_known(spec, array.dtype, known, is_torch=False)
    return _read_buffer(spec, array, f"dtype {array.dtype}")


def _check_numbers(spec: TensorSpec, array: np.ndarray) -> None:
    """NumPy's other kinds of elements have no counterpart."""
    if array.dtype.names:
        _fail(spec, f"has fields, dtype {array.dtype}, expected {spec.dtype}: pass one of them, "
                    f"{spec.name}[{array.dtype.names[0]!r}].")
    kinds = {"O": "Python objects", "U": "text", "S": "text", "T": "text", "M": "dates",
             "m": "times", "c": "complex numbers"}
    found = kinds.get(array.dtype.kind)
    if found is not None:
        convert = _spell_conversion(spec, is_torch=False)
        _fail(spec, f"holds {found}, dtype {array.dtype}, expected {spec.dtype}: the program "
                    f"declares {spec}.\nPass {convert} where that is meant.")


def _from_number(spec: TensorSpec, value: bool | int | float | np.generic) -> _nsacc.HostTensor:
    if spec.rank != 0:
        _fail(spec, f"is a number, expected a tensor: the program declares {spec}.")
    if isinstance(value, np.generic):
        value = float(value) if value.dtype.name == "bfloat16" else value.item()
    # A bool is an int to Python.
    allowed = {"bool": (bool,), "i32": (int,), "i64": (int,)}.get(spec.dtype, (int, float))
    if not isinstance(value, allowed) or isinstance(value, bool) != (spec.dtype == "bool"):
        _fail(spec, f"is {value!r}, expected {spec.dtype}: the program declares {spec}.")
    try:
        with np.errstate(over="ignore"):
            if spec.dtype == "bf16":
                bits = round_to_bf16(float(value))
                _check_overflow((int(bits) & 0x7FFF) == 0x7F80, value)
                return _nsacc.HostTensor.from_buffer(bits, "bf16")
            if spec.dtype in ("f16", "f32"):
                array = np.asarray(float(value)).astype(_dtypes.NUMPY[spec.dtype])
                _check_overflow(bool(np.isinf(array)), value)
            else:
                array = np.asarray(value).astype(_dtypes.NUMPY[spec.dtype])
                if array != value:
                    raise OverflowError
    except OverflowError as cause:
        _fail(spec, f"is {value!r}, which {spec.dtype} can't hold.", cause)
    return _nsacc.HostTensor.from_buffer(array)


def _check_overflow(is_infinite: bool, value: float) -> None:
    """A finite number may not become infinite."""
    if is_infinite and not np.isinf(float(value)):
        raise OverflowError


def round_to_bf16(value: float) -> np.ndarray:
    """Rounds to the nearest bf16, ties to even; its bits are a uint16 array of rank 0."""
    # A double rounded to odd at f32 keeps the information for the second rounding.
    wide = np.float64(value)
    narrow = np.float32(wide)
    bits = int(narrow.view(np.uint32))
    if not np.isfinite(narrow):
        return np.array((bits >> 16) | (0x40 if np.isnan(narrow) else 0), np.uint16)
    if abs(np.float64(narrow)) > abs(wide):
        bits -= 1
    if np.float64(np.uint32(bits).view(np.float32)) != wide:
        bits |= 1
    return np.array((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, np.uint16)


# -- Others -----------------------------------------------------------------------------------


def _from_dlpack(spec: TensorSpec, value: Any, on_gpu: bool) -> _nsacc.HostTensor:
    device, index = value.__dlpack_device__()
    if device not in (_CPU, _PINNED) and not (on_gpu and device == _CUDA):
        _check_device(spec, f"{_DEVICES.get(int(device), int(device))}:{index}", on_gpu)
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            capsule = value.__dlpack__()
        return _nsacc.HostTensor.from_dlpack(capsule)
    except (BufferError, RuntimeError, TypeError, ValueError) as cause:
        _fail(spec, f"can't be read: {cause}", cause)


def _from_buffer(spec: TensorSpec, value: Any) -> _nsacc.HostTensor:
    try:
        memoryview(value).release()
    except TypeError:
        expected = ("a number" if spec.rank == 0 else
                    "a NumPy array, a tensor of torch or another object with DLPack")
        convert = ""
        if isinstance(value, (list, tuple)):
            convert = f"\nPass {_spell_array(spec, value)}."
        found = "None" if value is None else f"a {type(value).__qualname__}"
        _fail(spec, f"is {found}, expected {expected}: the program declares {spec}.{convert}")
    return _read_buffer(spec, value, f"type {type(value).__qualname__}")


def _read_buffer(spec: TensorSpec, value: Any, what: str) -> _nsacc.HostTensor:
    try:
        return _nsacc.HostTensor.from_buffer(value)
    except (BufferError, TypeError, ValueError) as cause:
        _fail(spec, f"can't be read, {what}: {cause}. The program declares {spec}.", cause)


def _namespace(value: Any) -> Any:
    try:
        return value.__array_namespace__()
    except (AttributeError, TypeError, ValueError):
        return np
