"""Compiled programs."""

from __future__ import annotations

import difflib
import hashlib
import html
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from . import _autocast, _device, _explain, _inputs, _nsacc, _results, _tune
from ._files import read_file
from ._refusals import refuse
from .errors import ArgumentError, CacheWarning, CompileWarning, Diagnostic, NsaccError
from .signature import Signature, TensorSpec

__all__ = ["Program", "Timing", "load"]

_RUN_OPTIONS = ("threads", "stream", "round_storage", "f64_results")
_COMPILE_OPTIONS = ("target", "device", "schedule", "dtype", "kernel", "params")
_SHELL_PHASES = ("tile-opt", "nvvm", "asm", "ptx", "cubin", "package")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _not_traced(function: _Function) -> _Function:
    """Torch's compiler calls the function, instead of tracing code that it can't. It is
    torch.compiler.assume_constant_result, which would import torch."""
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True)
class Timing:
    """Times of a run."""

    compile_seconds: float
    """Seconds of making code for the inputs' sizes, or finding it in the cache; 0 if an earlier run
    did."""
    run_seconds: float
    workspace_bytes: int
    """Memory beyond inputs and results."""


class Program:
    """A kernel compiled by `nsacc.compile`.

    Call it with its inputs, in order or by name::

        out = program(q, k, v, slope=slope)

    An input is anything with DLPack or the buffer protocol: NumPy arrays (bf16 by ml_dtypes),
    torch tensors on the CPU, and others. Its elements must have the declared dtype, and equally
    named dimensions the same size; strides and read-only memory don't matter. Inputs of rank 0
    may be plain numbers.

    Results come from the library of the first input that isn't of rank 0; if all are, from the
    first tensor's; NumPy's if there is none. NumPy has no bf16: such results have the dtype of
    ml_dtypes where that is installed, else float32, which holds every bf16 exactly. Several results
    come as a named tuple.

    On a GPU target, inputs are all on the host, or all on one GPU: then the results are tensors of
    torch there. The run is put on torch's current stream, and the call doesn't wait for it.

    Programs don't change; threads may share them. A call releases the GIL while it computes.
    Pickles hold the source and the path of the device's file, and loading one compiles again;
    pickles of loaded packages hold the package.
    """

    def __init__(self, source: bytes, file: str, *, target: str, device: str | None, schedule: str,
                 dtype: str, kernel: str | None, params: Mapping[str, str]) -> None:
        arguments = (source, file, target, device, schedule, dtype, kernel, dict(params))
        self._set(arguments, None, _compile(*arguments))

    @classmethod
    def _from_package(cls, package: bytes, file: str) -> Program:
        """A program that was compiled before."""
        loaded = cls.__new__(cls)
        try:
            program = _nsacc.Program.from_package(package)
            loaded._set((b"", file, program.target, None, "", "", None, {}), package, program)
            loaded.params, loaded.kernel
        except UnicodeDecodeError:
            raise ArgumentError(f"{file}: damaged package: it holds text that isn't UTF-8: copy or "
                                f"compile it again") from None
        except ArgumentError as error:
            raise ArgumentError(f"{file}: {error.message}", f"{file}: {error.text}") from None
        return loaded

    def _set(self, arguments: tuple[Any, ...], package: bytes | None,
             program: _nsacc.Program) -> None:
        self._arguments, self._package, self._program = arguments, package, program
        # A package may have code for both.
        self._on_gpu = any(map(_device.is_gpu, self.target.split(", ")))
        self.__signature__ = Signature(program.inputs, program.results)
        names = tuple(spec.name for spec in self.signature.results)
        # Data that calls need; torch's compiler checks all of it in front of its code.
        self._num_inputs = len(self.signature.inputs)
        self._has_numbers = any(spec.rank == 0 for spec in self.signature.inputs)
        self._make_results = _results.make_class(names) if len(names) > 1 else None
        # Sets of dimensions that are computed apart.
        self._splits: tuple[tuple[str, ...], ...] = program.splits
        self._operator: str | None = None
        # Programs with other storage types.
        self._others: dict[str, Program] = {}
        # Calls repeat, and warnings of their sizes would, too.
        self._has_warned = False
        # Sizes of the last explanation, or the first call; only for notebooks.
        self._known_sizes: Mapping[str, Any] | None = None
        self._call_quickly = _nsacc.QuickCall(program, self._on_gpu, self._make_results, _tell)

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self._program.kernel

    @property
    def target(self) -> str:
        """The target given to `nsacc.compile`; for a package, the architectures that it has code
        for: ``"sm_90a, x86-64-v4, x86-64-v3"``."""
        return self._arguments[2]

    @property
    def schedule(self) -> str:
        """The requested schedule; the compiler chooses the other fields."""
        return self._arguments[4]

    @property
    def dtype(self) -> str:
        """The element type of tensors declared without one."""
        return self._arguments[5]

    @property
    def source(self) -> str:
        return self._arguments[0].decode("utf-8")

    @property
    def file(self) -> str:
        return self._arguments[1]

    @property
    def params(self) -> Mapping[str, int | float | bool | str]:
        """The compile-time parameters with their values; read-only, as programs are."""
        return MappingProxyType({name: _parse(value)
                                 for name, value in self._program.params.items()})

    @property
    def signature(self) -> Signature:
        """The inputs and results, and the names of the dimensions."""
        return self.__signature__

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings and remarks of the compiler."""
        return self._program.diagnostics

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases that `ir` takes; compiled targets take ``"tile"`` and ``"schedule"``, too,
        with sizes."""
        return self._program.phases

    def ir(self, phase: str = "nsa", /, **sizes: int) -> str:
        """The program as MLIR text after a phase of compilation.

        Phase ``"tile"`` needs the sizes of heads and channels, on which code over tiles depends:
        ``program.ir("tile", HQ=16, H=4, D=64, DV=64)``. For a GPU, sizes of batch and query tokens
        choose among tiles, too; without them, tiles are for short rows. ``"schedule"`` takes the
        same sizes, and is no MLIR but a list: the ops that share a program, and the tiling of each,
        with a reason for every field.

        Raises `ArgumentError` for an unknown phase or dimension, and for missing sizes.
        """
        if not isinstance(phase, str):
            raise ArgumentError(f"the phase is a {type(phase).__qualname__}, expected a string")
        if self._package is not None:
            raise ArgumentError("a package has no IR and no schedule: they are of the program that "
                                "it was compiled from")
        if phase in _SHELL_PHASES:
            target = "cpu" if phase == "asm" else "sm_90a"
            raise ArgumentError(f"phase {phase!r} is of the shell: nsacc compile FILE --target "
                                f"{target} --emit {phase} --dims HQ=16,H=4,D=64,DV=64 -o -")
        _check_sizes(sizes)
        if phase == "tile":
            return self._program.tile_ir(sizes)
        if phase == "schedule":
            return self._program.schedule(sizes)
        if phase not in self.phases:
            sized = () if self.target == "oracle" else ("tile", "schedule")
            raise ArgumentError(f"unknown phase {phase!r}: target {self.target!r} has "
                                f"{', '.join(map(repr, (*self.phases, *sized)))}")
        if sizes:
            raise ArgumentError(f"phase {phase!r} doesn't depend on sizes, found "
                                + ", ".join(sizes))
        return self._program.ir(phase)

    def __call__(self, /, *inputs: Any, **named_inputs: Any) -> Any:
        """Runs the program; see the class for its inputs and results.

        Warns (UserWarning), once, where sizes suggest that tensors have tokens and heads in
        another order than the program: fewer keys than queries under a causal mask; as many heads
        of keys as of queries and fewer tokens than heads, where the heads are more than 128, or 64
        and more with more queries than keys; or, unless the program marks its heads, as in
        ``[B, T, heads H, D]``, more than 32 heads of keys, twice as many as queries and as keys.

        Raises `ArgumentError` where the inputs don't fit the program: missing or unknown names,
        dtypes, shapes, devices, indices out of range, tensors of torch that require gradients
        outside of ``torch.no_grad()`` or have tangents.
        """
        if named_inputs or len(inputs) != self._num_inputs:
            inputs = tuple(self._bind(inputs, named_inputs))
        torch = sys.modules.get("torch")
        if torch is not None and torch.compiler.is_compiling():
            return self._call_operator(inputs)
        results = self._call_quickly(inputs)
        if results is None:
            if _inputs.is_for_operator(inputs):
                return self._call_operator(inputs)
            results = self._call_slowly(inputs)
        if self._known_sizes is None:
            self._remember(inputs)
        return results

    def _call_operator(self, inputs: Sequence[Any]) -> Any:
        """This is for torch's compiler, tracers and transforms, which know operators."""
        from . import _operator
        return _operator.call(self, inputs)

    def _call_now(self, *inputs: Any) -> Any:
        """A call with memory, also while torch's compiler is at work."""
        results = self._call_quickly(inputs)
        return self._call_slowly(inputs) if results is None else results

    def _call_slowly(self, inputs: Sequence[Any]) -> Any:
        device = _autocast.find(inputs)
        if device is None:
            return self._run(inputs)[0]
        program, inputs = _autocast.cast(self, inputs, device)
        with _autocast.suspend(device):
            return program._call_now(*inputs)

    @_not_traced
    def _operator_name(self) -> str:
        """Registers the program as an operator of torch."""
        if self._operator is None:
            from . import _operator
            self._operator = _operator.register(self)
        return self._operator

    @property
    def _identity(self) -> str:
        """A hash of everything that results depend on."""
        source, _file, *options = self._arguments
        text = repr((source, options, self._package)).encode()
        return hashlib.sha256(text).hexdigest()[:16]

    def run(self, inputs: Sequence[Any] | Mapping[str, Any] = (), *more: Any,
            threads: int | None = None, round_storage: bool = False,
            f64_results: bool = False, stream: Any = None, **unknown: Any) -> Any:
        """Runs the program like a call, with the options of `run_timed`."""
        return self.run_timed(inputs, *more, threads=threads, round_storage=round_storage,
                              f64_results=f64_results, stream=stream, **unknown)[0]

    def run_timed(self, inputs: Sequence[Any] | Mapping[str, Any] = (), *more: Any,
                  threads: int | None = None, round_storage: bool = False,
                  f64_results: bool = False, stream: Any = None,
                  **unknown: Any) -> tuple[Any, Timing]:
        """Runs the program like a call, with options, and also returns the run's times.

        Args:
            inputs: in order, or by name.
            threads: number of threads; 0: as many as the machine has. Default: NSACC_THREADS, else
                0. Results don't depend on it.
            round_storage: oracle only: round intermediate tensors that a compiled program would
                store (pooled keys, say) to the storage type, too.
            f64_results: oracle only: real results as float64, unrounded.
            stream: for inputs on a GPU: the stream that the run is put on, a stream of torch or an
                integer. Default: torch's current one.
        """
        if more or unknown:
            raise TypeError(self._explain_loose(tuple(unknown)))
        options = {"threads": threads, "round_storage": round_storage, "f64_results": f64_results,
                   "stream": stream}
        torch = sys.modules.get("torch")
        if torch is not None and torch.compiler.is_compiling():
            from . import _operator
            return _operator.run_timed(self, inputs, options)
        return self._run_timed(inputs, options)

    def _run_timed(self, inputs: Sequence[Any] | Mapping[str, Any],
                   options: Mapping[str, Any]) -> tuple[Any, Timing]:
        threads = options["threads"]
        if threads is not None and not (isinstance(threads, Integral) and 0 <= threads < 2**32):
            raise ArgumentError(f"threads is {threads!r}, expected an integer from 0 to 2^32 - 1")
        if isinstance(inputs, Mapping):
            bound = self._bind((), inputs)
        elif isinstance(inputs, Iterable) and not _is_one_input(inputs):
            bound = self._bind(tuple(inputs), {})
        else:
            raise ArgumentError(f"inputs is a {type(inputs).__qualname__}, expected a list, a "
                                f"tuple or a mapping of names to inputs")
        if _inputs.is_distributed(bound):
            raise ArgumentError("run and run_timed take no DTensors: call the program itself, or "
                                "pass .to_local() of them")
        if _inputs.is_recorded(bound):
            raise ArgumentError("run and run_timed can't become part of a graph or a transformed "
                                "function: call the program itself, or nsacc.torch.op of it")
        torch = sys.modules.get("torch")
        if torch is not None and torch.autograd.forward_ad._current_level >= 0:
            _inputs.refuse_tangents(self.signature.inputs, bound, torch)
        device = _autocast.find(bound)
        program, bound = (self, bound) if device is None else _autocast.cast(self, bound, device)
        return program._run(bound, **options)

    def package(self, path: str | os.PathLike[str],
                sizes: Mapping[str, int] | Sequence[Mapping[str, int]], *,
                targets: Sequence[str] | None = None) -> None:
        """Writes the program's code into a file that `nsacc.load` and libnsacc_rt load.

        Args:
            path: the file, usually ``*.nsapkg``. It is replaced when all is compiled.
            sizes: of the heads and channels of the code, ``{"HQ": 16, "H": 4, "D": 64,
                "DV": 64}``; or several of these; a call takes the code that it fits.
            targets: the code's targets, ``("sm_90a", "sm_80", "cpu")``; by default the program's
                target. "cpu" is code for x86-64-v3 and x86-64-v4.

        Raises `ArgumentError` if sizes are missing, and if a target has no packages;
        `CompileError`, `TargetError` and OSError.
        """
        if self._package is not None:
            raise ArgumentError("the program is of a package already: copy its file")
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"path is a {type(path).__qualname__}, expected the path of a file "
                                f"to write, as 'flash.nsapkg'")
        is_list = isinstance(sizes, Iterable) and not isinstance(sizes, (str, bytes, Mapping))
        sets = list(sizes) if is_list else [sizes]
        if not sets:
            raise ArgumentError("sizes is empty, expected those of heads and channels, as "
                                "{'HQ': 16, 'H': 4, 'D': 64, 'DV': 64}")
        for each in sets:
            _check_sizes(each)
        source, file, target, *rest = self._arguments
        names = [target] if targets is None else _check_targets(targets)
        packages = []
        for name in names:
            program = self._program if name == target else _compile(source, file, name, *rest)
            packages.append(program.package([dict(each) for each in sets]))
            _tell(program)
        _write(path, _nsacc.combine_packages(packages))

    def tune(self, sizes: Mapping[str, int | Sequence[int]], *, effort: str = "quick",
             budget: float = 30, agreement: float = 0, graph: bool = False, cold: bool = False,
             seed: int = 0, seeds: Sequence[str] = (), timeout: float = 60,
             ranges: Mapping[str, tuple[int, int]] | None = None,
             report: Callable[[_tune.Progress], object] | None = None) -> _tune.Tuning:
        """Measures schedules for calls with these sizes, on this machine.

        The fastest one is checked against the oracle and kept for compilations to come, which take
        it where NSACC_TUNE isn't "off": of the same program, parameters, schedule, heads and
        channels, and of other sizes that round to the same powers of two. Those of a graph, a cold
        cache or an agreement are for NSACC_TUNE=replay,graph (",cold", ",agreement=0.9").

        Args:
            sizes: of all dimensions of the inputs; of ragged ones, the lengths of the rows.
            effort: "model": the model's choice; "quick": the candidates that it ranks first;
                "full": more of them, and orders of steps; "exhaustive": every candidate of the
                grids of programs and tiles.
            budget: seconds after which no more candidates are begun.
            agreement: of selections: the share of a query, and of lists that are handed in, that is
                common to 32 neighbouring tokens, from 0 to below 1.
            graph: measure launches of a CUDA graph.
            cold: measure with no part of the tensors in the L2 cache.
            seed: of random inputs.
            seeds: schedules to try first, as `nsacc.compile` takes them in a string.
            timeout: seconds after which a candidate that doesn't end has failed.
            ranges: the least and the greatest integers of inputs with values that the program
                doesn't bound, {"doc": (0, 7)}: tables of documents, prefixes or pages.
            report: called with the progress now and then.

        Raises `ArgumentError` if sizes are missing or don't fit, if a seed is no schedule of the
        program, if this machine doesn't have the target, and if nothing can be measured.
        """
        if self._package is not None:
            raise ArgumentError("the program is of a package, whose schedules are fixed: tune what "
                                "it was compiled from")
        return _tune.tune(self, sizes, dict(
            effort=effort, budget=budget, agreement=agreement, seed=seed, seeds=seeds,
            timeout=timeout, ranges=ranges), graph, cold, report, _tell)

    def explain(self, sizes: Mapping[str, int | Sequence[int]]) -> _explain.Explanation:
        """Reports how the program is compiled for calls with these sizes, and why.

        For each program that a call launches, it has the statements that it computes, the schedule
        with a reason for every field, useful work, bounds of its time, and predicted and measured
        times; on GPUs registers, shared memory and occupancy, too. It compiles the program, and
        runs nothing: this machine needn't have the target. For the CPU it assumes runs with
        NSACC_THREADS threads.

        Args:
            sizes: of all dimensions of the inputs; of ragged ones, the lengths of the rows.

        Raises `ArgumentError` if sizes are missing or don't fit, and for packages and target
        "oracle", which have no schedules; `CompileError` if the program can't be compiled.
        """
        if self._package is not None:
            raise ArgumentError("a package has no schedule to explain: explain the program that it "
                                "was compiled from")
        if self.target == "oracle":
            raise ArgumentError("target 'oracle' interprets the program and has no schedule to "
                                "explain: compile it for 'cpu' or a GPU, as 'sm_90a'")
        explanation = _explain.explain(self, sizes)
        _tell(self._program)
        self._known_sizes = dict(sizes)
        return explanation

    def _remember(self, inputs: Sequence[Any]) -> None:
        shapes = [getattr(value, "shape", ()) for value in inputs]
        self._known_sizes = _explain.find_sizes(self.signature.inputs, shapes)

    def _repr_html_(self) -> str:
        """HTML for notebooks: the signature, and the tiles of attentions for the sizes of the last
        explanation or the first call."""
        text = f'<pre style="white-space: pre-wrap">{html.escape(repr(self))}</pre>'
        if self._package is not None or self.target == "oracle":
            return text
        return text + _explain.draw_tiles(self, self._known_sizes)

    def _with(self, *, schedule: str | None = None, dtype: str | None = None,
              tune: str | None = None) -> Program:
        """This program with another schedule, storage type or mode of tuning."""
        arguments = list(self._arguments)
        if schedule is not None:
            arguments[4] = schedule
        if dtype is not None:
            arguments[5] = dtype
        other = Program.__new__(Program)
        other._set(tuple(arguments), None, _compile(*arguments, tune=tune))
        return other

    def _with_dtype(self, dtype: str) -> Program:
        """This program with another storage type; itself if that changes nothing, or if it's from a
        package, which has fixed types."""
        if self._package is not None or dtype == self.dtype:
            return self
        if dtype not in self._others:
            other = self._with(dtype=dtype)
            is_same = str(other.signature) == str(self.signature)
            self._others[dtype] = self if is_same else other
        return self._others[dtype]

    def _find_dtype(self, found: Sequence[str]) -> str | None:
        """The storage type with which the program takes inputs of these element types."""
        for dtype in sorted({"bf16", "f16", "f32"}.intersection(found) - {self.dtype}):
            try:
                specs = self._with_dtype(dtype).signature.inputs
            except NsaccError:
                continue
            if all(map(_inputs.is_declared, specs, found)):
                return dtype
        return None

    def check(self, device: int = 0, stream: Any = None) -> None:
        """Raises the error of a run on a GPU, as a table that is read out of range.

        Such a run has no result. Wait for the stream first; the next run on it raises the error,
        too.
        """
        self._program.check(device, _device.find_stream(device, stream))

    def result_shapes(self, /, *inputs: Any, **named_inputs: Any) -> dict[str, tuple[int, ...]]:
        """The results' shapes by name, for inputs or the shapes of inputs.

        A tuple of integers stands for a tensor of that shape, except for the offsets of ragged
        dimensions, because their values are needed. Raises `ArgumentError` as a call does.
        """
        specs, given = self.signature.inputs, self._bind(inputs, named_inputs)
        values = _device.narrow_offsets(specs, given, None)
        views = [_view_or_shape(spec, value, self._on_gpu) for spec, value in zip(specs, values)]
        _inputs.check_dtypes(specs, views, self._find_dtype)
        tensors = [view.tensor for view in views]
        devices = [tensor.device for tensor in tensors if tensor.device is not None]
        shapes, _ = self._infer_shapes(tensors, given, device=devices[0] if devices else None)
        return {spec.name: shape for spec, shape in zip(self.signature.results, shapes)}

    def __repr__(self) -> str:
        params = ", ".join(f"{name} = {value}" for name, value in self._program.params.items())
        return (f"<nsacc.Program {self.kernel}{f'<{params}>' if params else ''}{self.signature} "
                f"target={self.target!r}>")

    def __reduce__(self) -> tuple[Any, ...]:
        if self._package is not None:
            return _reload, (self._package, self.file)
        return _rebuild, self._arguments

    def _bind(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The inputs in order."""
        specs = self.signature.inputs
        if len(inputs) > len(specs):
            refuse(self._explain_surplus(len(inputs)))
        values = dict(zip((spec.name for spec in specs), inputs))
        for name, value in named.items():
            if not isinstance(name, str):
                refuse(f"inputs has {name!r} in the place of a name, expected names of inputs: "
                       f"{', '.join(spec.name for spec in specs)}")
            if name in values:
                refuse(f"'{name}' is given twice, by position and by name")
            if all(name != spec.name for spec in specs):
                refuse(self._explain_unknown(name))
            values[name] = value
        missing = [spec for spec in specs if spec.name not in values]
        if missing:
            _inputs.refuse_nested(specs, values)
            refuse(f"kernel '{self.kernel}' misses {_count(missing)}: "
                   f"{', '.join(map(str, missing))}{_explain_offsets(missing)}")
        return [values[spec.name] for spec in specs]

    @_not_traced
    def _explain_surplus(self, found: int) -> str:
        return (f"kernel '{self.kernel}' takes {_count(self.signature.inputs)}, found {found}: "
                f"{self.kernel}{self.signature}")

    @_not_traced
    def _explain_unknown(self, name: str) -> str:
        names = [spec.name for spec in self.signature.inputs]
        close = ([known for known in names if known.lower() == name.lower()] or
                 difflib.get_close_matches(name, names, n=1))
        hint = f"; did you mean '{close[0]}'?" if close else f": it takes {', '.join(names)}"
        if name in self._program.params:
            hint = ", but a parameter of that name: set it in nsacc.compile"
        elif name in _RUN_OPTIONS:
            hint = f": it is an option of run, as in program.run([…], {name}=…)"
        elif name in _COMPILE_OPTIONS:
            hint = ": it is an argument of nsacc.compile"
        elif any(name == dim.name for spec in self.signature.inputs for dim in spec.dims):
            hint = ": it is a dimension, whose size the inputs tell"
        return f"kernel '{self.kernel}' has no input '{name}'{hint}"

    @_not_traced
    def _explain_loose(self, named: Sequence[str]) -> str:
        """The message for several inputs that `run` was given beside each other, or for an unknown
        option."""
        names = [spec.name for spec in self.signature.inputs]
        for name in named:
            if name not in names:
                close = difflib.get_close_matches(name, _RUN_OPTIONS, n=1)
                hint = f"did you mean '{close[0]}'?" if close else ", ".join(_RUN_OPTIONS)
                return f"run() got an unexpected keyword argument '{name}': {hint}"
        listed = ", ".join(names)
        return (f"run() takes the inputs as one list, tuple or mapping, as in "
                f"program.run([{listed}]); a call takes them one by one: program({listed})")

    def _infer_shapes(self, tensors: Sequence[Any], given: Sequence[Any], **where: Any) -> Any:
        """`given`: the inputs before their offsets became i32."""
        try:
            return self._program.infer_shapes(tensors, **where)
        except ArgumentError:
            _inputs.check_offsets(self.signature.inputs, given)
            raise

    def _run(self, values: Sequence[Any], threads: int | None = None, stream: Any = None,
             **options: Any) -> tuple[Any, Timing]:
        if threads is None:
            threads = _nsacc.threads_from_environment()
        specs, given = self.signature.inputs, values
        values = _device.narrow_offsets(specs, values, stream)
        inputs = [_inputs.view(spec, value, self._on_gpu) for spec, value in zip(specs, values)]
        _inputs.check_dtypes(specs, inputs, self._find_dtype)
        place = _device.find_place(specs, inputs, stream)
        library = _pick_library(inputs)
        inputs = _device.move_numbers(specs, values, inputs, library, place)
        tensors = [one.tensor for one in inputs]
        where = {"device": place.device, "stream": place.stream}
        shapes, odd = self._infer_shapes(tensors, given, **where)
        if odd and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"{self.kernel}: {odd} It is {self.kernel}{self.signature}",
                          stacklevel=_count_own_frames())
        outputs = [_results.Output(library, _result_dtype(spec, **options), shape, place.device)
                   for spec, shape in zip(self.signature.results, shapes)]
        timing = Timing(*self._program.run(tensors, [output.tensor for output in outputs],
                                           threads=threads, **where, **options))
        if timing.compile_seconds:
            _tell(self._program)
        results = tuple(output.get() for output in outputs)
        if stream is not None:
            _device.keep_until_done(place, (*values, *results))
        if len(results) == 1:
            return results[0], timing
        names = tuple(spec.name for spec in self.signature.results)
        return _results.make_tuple(names, results), timing


def _compile(source: bytes, file: str, target: str, *rest: Any,
             tune: str | None = None) -> _nsacc.Program:
    """`tune` is the mode of tuning; by default NSACC_TUNE's."""
    ptxas = _device.find_ptxas() if _device.is_gpu(target) else []
    return _nsacc.Program(source, file, target, *rest, ptxas=ptxas,
                          threads=_nsacc.threads_from_environment(), tune=tune,
                          worker=_tune.get_worker())


def _tell(program: _nsacc.Program) -> None:
    """Gives messages of making code as warnings."""
    for line in program.take_warnings().splitlines():
        if line.startswith("the cache's "):
            warnings.warn(line, CacheWarning, stacklevel=_count_own_frames())
            continue
        place = re.match(r"(?P<file>[^\n]+):(?P<line>\d+):(?P<column>\d+): (?P<what>.*)", line)
        found = (Diagnostic("warning", place["what"], place["file"], int(place["line"]),
                            int(place["column"])) if place else Diagnostic("warning", line))
        warnings.warn(CompileWarning(found), stacklevel=_count_own_frames())


def _check_targets(targets: Any) -> list[str]:
    if isinstance(targets, str):
        raise ArgumentError(f"targets is the string {targets!r}, expected a list, as [{targets!r}]")
    names = list(targets) if isinstance(targets, Iterable) else []
    if not names or "oracle" in names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"targets is {targets!r}, expected a list of compiled targets, as "
                            f"['sm_90a', 'cpu']")
    return names


def _check_sizes(sizes: Any) -> None:
    if not isinstance(sizes, Mapping):
        raise ArgumentError(f"the sizes of a package are a {type(sizes).__qualname__}, expected a "
                            f"mapping of dimensions to sizes")
    for name, size in sizes.items():
        is_size = isinstance(size, Integral) and not isinstance(size, bool)
        if not isinstance(name, str) or not is_size or not 0 <= size <= _tune.LARGEST_SIZE:
            raise ArgumentError(f"{name!r}: {size!r} isn't a size, expected a number from 0 to "
                                f"2^40")


def _write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes all of it, or nothing; a path that is no file, such as a pipe, is written to
    directly."""
    target = os.path.realpath(os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        with open(path, "wb") as file:
            file.write(data)
        return
    try:
        descriptor, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".nsacc-")
    except OSError as cause:
        raise type(cause)(cause.errno, cause.strerror, os.fspath(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def load(path: str | os.PathLike[str]) -> Program:
    """Loads a package of `Program.package` or ``nsacc compile --emit package``.

    It runs like the program that it was compiled from, compiling only PTX without machine code. It
    runs on the device of its inputs; with inputs of the host, on the processor, if the package has
    code for that, else on the first GPU. Its `target` lists the architectures of its code; it has
    no source, no phases and no schedule.

    Raises `ArgumentError` if the file is no whole package of this version, or has no code for this
    machine; OSError if it can't be read.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"path is a {type(path).__qualname__}, expected the path of a package")
    return Program._from_package(read_file(path, "a package"), os.fsdecode(path))


def _reload(package: bytes, file: str) -> Program:
    return Program._from_package(package, file)


def _is_one_input(inputs: Any) -> bool:
    """Whether an input stands in place of a list of inputs."""
    return isinstance(inputs, (str, bytes)) or hasattr(inputs, "__dlpack__")


def _count_own_frames() -> int:
    """The `stacklevel` of a warning here that names the package's caller."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame, level = frame.f_back, level + 1
    return level


def _rebuild(source: bytes, file: str, target: str, device: str | None, schedule: str, dtype: str,
             kernel: str | None, params: dict[str, str]) -> Program:
    return Program(source, file, target=target, device=device, schedule=schedule, dtype=dtype,
                   kernel=kernel, params=params)


def _pick_library(inputs: Sequence[_inputs.Input]) -> Any:
    """The library that decides the results' kind of tensor."""
    tensors = [one for one in inputs if one.library is not None]
    tensors.sort(key=lambda one: not one.tensor.shape)
    return tensors[0].library if tensors else np


def _result_dtype(spec: TensorSpec, f64_results: bool = False, **_other: Any) -> str:
    return "f64" if f64_results and spec.dtype in ("bf16", "f16", "f32") else spec.dtype


def _view_or_shape(spec: TensorSpec, value: Any, on_gpu: bool) -> _inputs.Input:
    is_shape = isinstance(value, tuple) and all(isinstance(size, int) for size in value)
    if not is_shape:
        return _inputs.view(spec, value, on_gpu)
    if spec.is_offsets:
        raise ArgumentError(f"'{spec.name}' is a shape, expected an array: the results' shapes "
                            f"depend on the offsets of the rows")
    if not all(0 <= size < 2**63 for size in value):
        raise ArgumentError(f"'{spec.name}' has shape {value}, expected sizes from 0 to 2^63 - 1")
    return _inputs.Input(_nsacc.HostTensor.from_shape(spec.dtype, value), None)


def _explain_offsets(missing: Sequence[TensorSpec]) -> str:
    offsets = [spec.name for spec in missing if spec.is_offsets]
    if not offsets:
        return ""
    return (f"\n{' and '.join(offsets)}: where each row begins in the packed tokens, and where the "
            f"last one ends; np.cumsum([0, *lengths], dtype=np.int32), or .offsets() of a jagged "
            f"tensor of torch, whose tokens are .values()")


def _count(things: Sequence[Any]) -> str:
    return "an input" if len(things) == 1 else f"{len(things)} inputs"


def _parse(value: str) -> int | float | bool | str:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value
