"""nsacc.compile"""

from __future__ import annotations

import difflib
import inspect
import math
import operator
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from . import _dtypes
from ._files import read_file
from .errors import ArgumentError, CompileError, CompileWarning
from .program import Program


def compile(source: str | os.PathLike[str] | None = None, *,
            path: str | os.PathLike[str] | None = None, target: str = "cpu",
            device: str | os.PathLike[str] | None = None,
            schedule: str | Mapping[str, Any] | None = None, dtype: Any = "bf16",
            kernel: str | None = None, params: Mapping[str, Any] | None = None,
            **more_params: Any) -> Program:
    """Compiles an attention program.

    Args:
        source: the program's text; or its file, as a path object or a string that ends in
            ``.nsa``.
        path: the program's file, instead of `source`.
        target: "cpu"; "cuda", the GPU of the inputs, or a GPU of one
            architecture, as "sm_90a" or "sm_86" (``nsacc.env()["targets"]``); or "oracle", which
            interprets in float64, slowly, and runs every program.
        device: a JSON file that describes the GPU to compile for, with ``target="cuda"``; as
            ``nsacc device`` writes them.
        schedule: the tiling of ops: "keys=64" for all that have the field, "slc: order=union,
            tokens=8; cmp: keys=128" for the ops with these names in the program; or a mapping,
            ``{"keys": 64, "slc": {"tokens": 8}}``. docs/Schedules.md lists the fields; the compiler
            chooses the others. Not for the oracle.
        dtype: element type of the tensors that name none: "bf16", "f16" or "f32", or such a
            dtype of NumPy or torch.
        kernel: which kernel, where the program has several.
        params: values of compile-time parameters with names that mean something else here, such
            as ``path``.
        more_params: values of compile-time parameters: integers, reals, booleans, dtypes.

    Warns:
        CompileWarning: the program is allowed, but most likely a mistake, or a setting of
            the schedule changes nothing; has a diagnostic. ``Program.diagnostics`` keeps them all.

    Raises:
        CompileError: the program is wrong; has file, line, column and diagnostics with notes.
        ArgumentError: an argument has no meaning, such as an unknown dtype.
        TargetError: the target isn't there, or programs can't be compiled for any GPU of this
            machine.
        OSError: the file can't be read.
    """
    text, file = _read(source, path)
    _check_string("target", target)
    if device is not None and not isinstance(device, (str, os.PathLike)):
        raise ArgumentError(f"device is a {type(device).__qualname__}, expected the path of a JSON "
                            f"file")
    if schedule is None:
        schedule = ""
    elif isinstance(schedule, Mapping):
        schedule = _spell_schedule(schedule)
    if not isinstance(schedule, str):
        raise ArgumentError(f"schedule is a {type(schedule).__qualname__}, expected a string or a "
                            f"mapping of fields to values")
    if kernel is not None:
        _check_string("kernel", kernel)
    if params is not None and not isinstance(params, Mapping):
        raise ArgumentError(f"params is a {type(params).__qualname__}, expected a mapping of names "
                            f"to values")
    values = dict(params or {})
    for name, value in more_params.items():
        if name in values:
            raise ArgumentError(f"parameter '{name}' is given twice")
        values[name] = value
    try:
        program = Program(text, file, target=target,
                          device=None if device is None else os.fsdecode(device),
                          schedule=schedule, dtype=_spell_dtype(dtype), kernel=kernel,
                          params={name: _spell(name, value) for name, value in values.items()})
    except CompileError as error:
        _explain_arguments(error, more_params)
        raise
    for diagnostic in program.diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(CompileWarning(diagnostic), stacklevel=2)
    return program


def _explain_arguments(error: CompileError, given: Iterable[str]) -> None:
    """A name that is no parameter of the program may be a misspelled argument."""
    known = inspect.signature(compile).parameters
    for name in given:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        if close and f"has no parameter '{name}'" in str(error):
            error.add_note(f"nsacc.compile has an argument '{close[0]}': is that meant by "
                           f"'{name}'?")


def _spell_schedule(schedule: Mapping[str, Any]) -> str:
    """The text of a schedule: fields of all ops, then fields of named ops and of their programs."""
    def spell(fields: Mapping[str, Any], scope: str) -> list[str]:
        own, groups = [], []
        for field, value in fields.items():
            _check_word("a name in the schedule", field)
            if isinstance(value, Mapping):
                groups += spell(value, f"{scope}.{field}" if scope else field)
                continue
            if isinstance(value, str):
                _check_word(f"'{field}' of the schedule", value)
            if isinstance(value, bool) or not isinstance(value, (str, Integral)):
                raise ArgumentError(f"'{field}' of the schedule is a {type(value).__qualname__}, "
                                    f"expected an integer or a string")
            own.append(f"{field}={value}")
        # The compiler says what a name without fields lacks.
        if own or (scope and not fields):
            groups.insert(0, f"{scope}: {', '.join(own)}" if scope else ", ".join(own))
        return groups

    return "; ".join(spell(schedule, ""))


def _check_word(what: str, value: Any) -> None:
    """Punctuation in a part of a schedule would make another schedule of it."""
    _check_string(what, value)
    if not value or re.search(r"[,;:=\s]", value):
        raise ArgumentError(f"{what} is {value!r}, expected a word or a number: "
                            f"{{'keys': 64, 'slc': {{'order': 'union'}}}}, or a string for it all")


def _check_string(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is a {type(value).__qualname__}, expected a string")


def _read(source: str | os.PathLike[str] | None,
          path: str | os.PathLike[str] | None) -> tuple[bytes, str]:
    if (source is None) == (path is None):
        raise ArgumentError("nsacc.compile takes either a program's text or its path")
    if path is None:
        if isinstance(source, str) and not _is_path(source):
            _check_text(source)
            return source.encode("utf-8", "surrogatepass"), "<source>"
        if not isinstance(source, (str, os.PathLike)):
            raise ArgumentError(f"the program is a {type(source).__qualname__}, expected a "
                                f"string or a path")
        path = source
    elif not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"path is a {type(path).__qualname__}, expected a string or a path")
    return read_file(path, "a program"), os.fsdecode(path)


def _check_text(source: str) -> None:
    """A word or a path without the ending of programs is no program."""
    if re.fullmatch(r"[\w./\\~-]+", source) and source != "kernel":
        raise ArgumentError(f"{source!r} is neither a program's text, which has a 'kernel', nor "
                            f"its file, which ends in '.nsa'; other files are path=…")


def _is_path(source: str) -> bool:
    return source.endswith(".nsa") and "\n" not in source and "{" not in source


def _spell_dtype(dtype: Any) -> str:
    try:
        return _dtypes.spell(dtype)
    except TypeError as cause:
        raise ArgumentError(f"dtype is {dtype!r}, expected 'bf16', 'f16' or 'f32'") from cause


def _spell_named_dtype(name: str, value: str) -> str:
    """The only strings that are values are names of dtypes."""
    dtype = _dtypes.spell(value)
    if dtype in _dtypes.TORCH:
        return dtype
    raise ArgumentError(f"parameter '{name}' is the string {value!r}, expected an integer, a real, "
                        f"a boolean or a dtype: pass a number without quotes, as in {name}=64")


def _spell(name: str, value: Any) -> str:
    """A parameter's value in the spelling of programs."""
    _check_string("a parameter's name", name)
    if isinstance(value, str):
        return _spell_named_dtype(name, value)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if _dtypes.is_dtype(value):
        return _spell_dtype(value)
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    try:
        real = float(value)
    except (TypeError, ValueError) as cause:
        raise ArgumentError(f"parameter '{name}' is a {type(value).__qualname__}, expected an "
                            f"integer, a real, a boolean or a dtype") from cause
    if math.isnan(real):
        raise ArgumentError(f"parameter '{name}' is NaN")
    return repr(real)
