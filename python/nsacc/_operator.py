"""Programs as operators of torch."""

from __future__ import annotations

import functools
import keyword
import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch._functorch import eager_transforms
from torch.autograd import forward_ad

from . import _autocast, _distributed, _dtypes, _inputs, _refusals
from ._symbolic import Sizes
from .errors import ArgumentError
from .program import Program
from .signature import TensorSpec

NAMESPACE = "nsacc"
# Types of numbers that operators take, beside Python's.
_SYMBOLS = (torch.Tensor, torch.fx.Proxy, torch.SymInt, torch.SymFloat, torch.SymBool)
_NUMBERS = {"bool": "bool", "i32": "SymInt", "i64": "SymInt"}

# Operators and their programs stay as long as torch's registry, until the process ends.
_library = torch.library.Library(NAMESPACE, "FRAGMENT")
_registered: set[str] = set()
_lock = threading.Lock()
# `has_checked` says whether this thread's call has looked for tangents already.
_state = threading.local()


def register(program: Program) -> str:
    """Registers a program's operators, unless an equal program's are registered; gives their
    name."""
    name = f"{program.kernel}_{program._identity}"
    with _lock:
        if name not in _registered:
            _register_overload(program, name, with_numbers=True)
            if program._has_numbers:
                _register_overload(program, f"{name}.tensors", with_numbers=False)
            _registered.add(name)
    return name


def call(program: Program, values: Sequence[Any]) -> Any:
    """Calls a program's operator. Torch's compiler traces this."""
    if _inputs.is_distributed(values):
        return _distributed.call(program, values)
    if torch.compiler.is_compiling():
        # The compiler doesn't know which inputs of transforms have gradients; the checks do.
        return (_call_eagerly if _is_transformed() else _call_overload)(program, values)
    _check_inputs(program, values)
    try:
        if forward_ad._current_level >= 0:
            _inputs.refuse_tangents(program.signature.inputs, values, torch)
            return _call_checked(program, values)
        return _call_overload(program, values)
    except (RuntimeError, TypeError):
        # This comes afterwards, as it costs a call nothing.
        _check_numbers(program, values)
        raise


def _call_checked(program: Program, values: Sequence[Any]) -> Any:
    _state.has_checked = True
    try:
        return _call_overload(program, values)
    finally:
        _state.has_checked = False


def _call_overload(program: Program, values: Sequence[Any]) -> Any:
    program._operator_name()
    # The compiled code checks that values read from the program are still this program's.
    overloads = getattr(torch.ops.nsacc, program._operator or "")
    overload = overloads.default
    if program._has_numbers:
        _check_bools(program, values)
        if _has_tensors_for_numbers(program, values):
            overload = overloads.tensors
            values = _move_numbers(program, values)
    results = overload(*values)
    return results if program._make_results is None else program._make_results(*results)


def _has_tensors_for_numbers(program: Program, values: Sequence[Any]) -> bool:
    return any(spec.rank == 0 and isinstance(value, torch.Tensor)
               for spec, value in zip(program.signature.inputs, values))


def _is_transformed() -> bool:
    """Whether `torch.func` transforms a function that torch's compiler traces."""
    global _call_eagerly
    if torch._C._functorch.maybe_current_level() is None:
        return False
    if _call_eagerly is call:
        # This import isn't earlier, because it imports the compiler.
        _call_eagerly = torch._dynamo.disable(
            call, reason="nsacc can't compute gradients yet, and looks for them outside of "
                         "compiled code: call it outside of torch.func's transforms")
    return True


_call_eagerly = call


def run_timed(program: Program, inputs: Any, options: Mapping[str, Any]) -> Any:
    """Calls `Program.run_timed` while torch's compiler is at work. The compiler leaves it out of
    its graph, or says why it can't."""
    _prepare_runs()
    return _run_timed_eagerly(program, inputs, options)


def _prepare_runs() -> None:
    global _run_timed_eagerly
    if _run_timed_eagerly is None:
        _run_timed_eagerly = torch._dynamo.disable(
            Program._run_timed, reason="program.run and run_timed can't become part of a graph: "
                                       "call the program itself, or nsacc.torch.op of it")


_run_timed_eagerly: Any = None
_prepare_runs._dynamo_marked_constant = True  # type: ignore[attr-defined]

# This is called, not traced, as `Program._operator_name` is.
_is_transformed._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _check_inputs(program: Program, values: Sequence[Any]) -> None:
    """Refuses inputs that torch would refuse in other words, and gradients that the operator's
    inputs don't show."""
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, torch.Tensor):
            if value.requires_grad or value.is_nested:
                _inputs.check_torch(spec, value, torch, program._on_gpu)
        elif spec.rank and not hasattr(value, "__torch_function__"):
            raise ArgumentError(f"'{spec.name}' is a {type(value).__qualname__}, expected a tensor "
                                f"of torch, which operators take: pass "
                                f"torch.from_numpy({spec.name}), or call the program itself, which "
                                f"takes NumPy arrays and others, too")


def _check_bools(program: Program, values: Sequence[Any]) -> None:
    """To torch, a bool is a number, and a number a bool."""
    for spec, value in zip(program.signature.inputs, values):
        if (spec.rank == 0 and isinstance(value, (bool, int, float))
                and isinstance(value, bool) != (spec.dtype == "bool")):
            _refusals.refuse(f"'{spec.name}' is {value!r}, expected {spec.dtype}: the program "
                             f"declares {spec}.")


def _check_numbers(program: Program, values: Sequence[Any]) -> None:
    """Raises our error for inputs that torch refused in other words."""
    for spec, value in zip(program.signature.inputs, values):
        if spec.rank == 0 and not isinstance(value, _SYMBOLS):
            _inputs.view(spec, value)


def _refuse_hidden_tangents(program: Program, values: Sequence[Any], are_fake: bool) -> None:
    """Under `torch.func` and the compiler the operator's inputs don't show tangents: there it
    fails, unless the call has checked."""
    if getattr(_state, "has_checked", False):
        return
    if not (are_fake or eager_transforms.JVP_NESTING):
        try:
            return _inputs.refuse_tangents(program.signature.inputs, values, torch)
        except RuntimeError:
            # Torch can't answer where a dispatch mode calls.
            pass
    raise ArgumentError(f"nsacc can't compute forward-mode gradients of kernel '{program.kernel}' "
                        f"yet: call it outside of torch.func.jvp, jacfwd and linearize. It is "
                        f"{program.kernel}{program.signature}")


def _move_numbers(program: Program, values: Sequence[Any]) -> list[Any]:
    """Numbers as tensors, beside others that are tensors already."""
    device = next(value.device for value in values if isinstance(value, torch.Tensor))
    moved = []
    for spec, value in zip(program.signature.inputs, values):
        if not isinstance(value, torch.Tensor):
            if isinstance(value, float) and spec.dtype in _NUMBERS:
                # Torch would cut it off.
                _refusals.refuse(f"'{spec.name}' is a float, expected {spec.dtype}: the program "
                                 f"declares {spec.name}: {spec.dtype}.")
            value = torch.full((), value, dtype=_get_dtype(spec), device=device)
        moved.append(value)
    return moved


def _call_kernel(program: Program, *values: Any) -> Any:
    """The operator's implementation with memory."""
    if forward_ad._current_level >= 0:
        _refuse_hidden_tangents(program, values, are_fake=False)
    return _call_now(program, values)


def _call_now(program: Program, values: Sequence[Any]) -> Any:
    return program._call_now(*values)


def _call_autocast(program: Program, device: str, with_numbers: bool, *values: Any) -> Any:
    """The operator under autocast, with memory or without: it calls the operator of the program for
    autocast's type."""
    with _autocast.suspend(device):
        program, inputs = _autocast.cast(program, values, device)
        overloads = getattr(torch.ops.nsacc, program._operator_name())
        return (overloads.default if with_numbers else overloads.tensors)(*inputs)


# -- Operators that aren't there --------------------------------------------------------------


class _MissingOperator(ArgumentError, AttributeError):
    pass


class _Namespace(torch._ops._OpNamespace):
    """torch.ops.nsacc with an error for programs that weren't compiled: loaders of torch.export's
    files ask for their operators, and drop an error's text."""

    # Torch makes it part of an operator's name.
    __module__ = "torch._ops"

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            known = re.fullmatch(r"(\w+)_[0-9a-f]{16}", name)
            if known is None or _lock.locked():
                raise
        words = (f"nsacc has no operator {name}: in this process, kernel '{known[1]}' isn't "
                 f"compiled yet, or with another source, dtype, target or other option. Call "
                 f"nsacc.torch.op(nsacc.compile(…)) with those that it was exported with, and then "
                 f"load it")
        warnings.warn(words, stacklevel=2)
        raise _MissingOperator(words)


torch.ops.nsacc.__class__ = _Namespace


# -- Registering ------------------------------------------------------------------------------


def _register_overload(program: Program, name: str, with_numbers: bool) -> None:
    _library.define(name + _spell_schema(program, with_numbers))
    # The registration is for every device and layout, so that refused ones get nsacc's messages.
    _library.impl(name, functools.partial(_call_kernel, program), "CompositeExplicitAutograd")
    for device in _autocast.DEVICES:
        kernel = functools.partial(_call_autocast, program, device, with_numbers)
        _library.impl(name, kernel, f"Autocast{device}")
    fake = _Fake(program)
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake.run, lib=_library)
    torch.library.register_vmap(f"{NAMESPACE}::{name}", fake.refuse_vmap, lib=_library)


def _spell_schema(program: Program, with_numbers: bool) -> str:
    def spell(spec: TensorSpec) -> str:
        kind = "Tensor"
        if spec.rank == 0 and with_numbers:
            kind = _NUMBERS.get(spec.dtype, "float")
        return f"{kind} {spec.name}{'_' * keyword.iskeyword(spec.name)}"

    results = ", ".join("Tensor" for _ in program.signature.results)
    inputs = ", ".join(map(spell, program.signature.inputs))
    return f"({inputs}) -> " + (f"({results})" if "," in results else results)


def _leave_calls_alone() -> None:
    """After a refusal torch's compiler may call without a graph: it would look for graphs in there,
    and warn of code that it can't trace."""
    global _call_now
    if not hasattr(_call_now, "_torchdynamo_disable"):
        _call_now = torch._dynamo.disable(_call_now)


class _Fake:
    """The functions that torch's compiler and transforms ask of the operator."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def run(self, *values: Any) -> Any:
        """Results without memory. Raises `ArgumentError` as a call does, as far as symbols of sizes
        allow."""
        try:
            return self._run(values)
        except ArgumentError as error:
            if torch._guards.TracingContext.try_get() is None:
                raise
            _leave_calls_alone()
            raise _refusals.make_error(*error.args) from None

    def _run(self, values: Sequence[Any]) -> Any:
        program = self._program
        if forward_ad._current_level >= 0:
            _refuse_hidden_tangents(program, values, are_fake=True)
        specs = program.signature.inputs
        tensors = [value if isinstance(value, torch.Tensor) else None for value in values]
        first = _pick(tensors, program)
        for spec, tensor in zip(specs, tensors):
            if tensor is not None:
                if tensor.device.type != "meta":
                    _inputs.check_torch(spec, tensor, torch, program._on_gpu)
                if tensor.device != first.device:
                    raise ArgumentError(f"the inputs are on different devices: '{spec.name}' on "
                                        f"{tensor.device}, others on {first.device}")
        views = [_inputs.view_nothing(spec, tensor, torch) for spec, tensor in zip(specs, tensors)]
        _inputs.check_dtypes(specs, views, program._find_dtype)
        shapes = [() if tensor is None else tuple(tensor.shape) for tensor in tensors]
        results = tuple(torch.empty(shape, dtype=_get_dtype(spec), device=first.device)
                        for spec, shape in zip(program.signature.results,
                                               _infer_shapes(program, shapes)))
        return results[0] if len(results) == 1 else results

    def refuse_vmap(self, info: Any, in_dims: Any, *values: Any) -> NoReturn:
        kernel = self._program.kernel
        raise ArgumentError(f"nsacc has no torch.vmap over kernel '{kernel}' yet: put the "
                            f"dimension that it would map into the program's batch, as "
                            f"x.flatten(0, 1) does, or call it in a loop. It is "
                            f"{kernel}{self._program.signature}")


def _pick(tensors: Sequence[torch.Tensor | None], program: Program) -> torch.Tensor:
    """The tensor that decides the device of results."""
    there = [tensor for tensor in tensors if tensor is not None]
    there.sort(key=lambda tensor: tensor.dim() == 0)
    if not there:
        raise ArgumentError(f"kernel '{program.kernel}' has no tensor among its inputs, so that "
                            f"torch can't tell where its results are: call it outside of "
                            f"torch.compile")
    return there[0]


def _infer_shapes(program: Program, shapes: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    specs = program.signature.inputs
    are_known = all(isinstance(size, int) for shape in shapes for size in shape)
    if are_known and not any(spec.is_offsets for spec in specs):
        # Makes every check, with the messages of a call.
        return list(program.result_shapes(*shapes).values())
    sizes = Sizes(program.signature, shapes)

    def make_size() -> Any:
        return torch.library.get_ctx().new_dynamic_size()

    return [sizes.get_shape(spec, make_size) for spec in program.signature.results]


def _get_dtype(spec: TensorSpec) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, _dtypes.TORCH[spec.dtype])
    return dtype
