"""Tuning: schedules that are measured."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _nsacc
from .errors import ArgumentError

if TYPE_CHECKING:
    from .program import Program

# Code of the measuring process: it finds this package where this process did.
_WORKER = ("import sys; sys.path.insert(0, {folder!r}); from nsacc import _nsacc; "
           "sys.exit(_nsacc.run_worker(*sys.argv[1:]))")


# The limit of the command line, too (nsacc/Tensor/GivenSizes.h).
LARGEST_SIZE = 1 << 40


@dataclass(frozen=True)
class Progress:
    """The progress of tuning."""

    seconds: float
    compiled: int
    """Numbers of candidates that were compiled, that were measured, and that failed."""
    measured: int
    failed: int
    chosen_ms: float
    """Time of the compiler's choice; 0 while it isn't known."""
    best_ms: float
    what: str
    """The current work, as a text."""


@dataclass(frozen=True)
class Trial:
    """A candidate."""

    schedule: str
    """Its fields beside the given ones; empty: the compiler's choice."""
    predicted_ms: float
    """Time by the model."""
    ms: float | None = None
    """Measured time; None if it wasn't measured."""
    failure: str | None = None
    """The reason why it wasn't measured."""
    skipped: bool = False
    """Whether the time was over before it was compiled."""


@dataclass(frozen=True)
class Tuning:
    """The result of tuning."""

    program: Program
    """The program compiled with the schedule."""
    schedule: str
    """Fields beside the given ones; empty if no candidate is faster than the compiler's choice."""
    ms: float
    """Milliseconds of a run, the median."""
    spread_ms: tuple[float, float]
    """The quartiles of these times."""
    chosen_ms: float
    """Time of the compiler's choice, measured in turn with it."""
    floor_ms: float
    """The floor of ``Program.explain``, which depends on the work and not on the schedule; 0: not
    known."""
    error: float
    """The largest error of the schedule's results beside the oracle's, as a part of the bound of
    docs/Numerics.md; 0 for the compiler's choice, which isn't checked again."""
    clock_mhz: int
    """Clock of the GPU's multiprocessors after the last measurement; 0: not known."""
    seconds: float
    ending: str
    """The reason why tuning ended."""
    kept: bool
    """Whether later compilations take it: not if the folder can't be written, or if the time was
    over before all candidates were tried and none was faster than the compiler's choice."""
    trials: tuple[Trial, ...]
    """All candidates; the compiler's choice is the first."""


def get_worker() -> list[str]:
    """The process that measures; the code that it runs may end it."""
    folder = str(Path(__file__).absolute().parents[1])
    return [sys.executable, "-c", _WORKER.format(folder=folder)] if sys.executable else []


def check_sizes(sizes: Any) -> dict[str, Any]:
    if not isinstance(sizes, Mapping):
        raise ArgumentError(f"sizes is a {type(sizes).__qualname__}, expected a mapping of "
                            f"dimensions to sizes, as {{'B': 1, 'T': 4096}}")
    checked: dict[str, Any] = {}
    for name, size in sizes.items():
        is_list = isinstance(size, Sequence) and not isinstance(size, str)
        values = list(size) if is_list else [size]
        if not all(isinstance(value, Integral) and not isinstance(value, bool)
                   and 0 <= value <= LARGEST_SIZE for value in values):
            raise ArgumentError(f"{name!r}: {size!r} isn't a size, expected a number from 0 to "
                                f"2^40, or the lengths of a ragged dimension's rows")
        numbers = [int(value) for value in values]
        checked[str(name)] = numbers if is_list else numbers[0]
    return checked


def _check_ranges(ranges: Any) -> dict[str, list[int]]:
    if ranges is None:
        return {}
    if not isinstance(ranges, Mapping):
        raise ArgumentError(f"ranges is {ranges!r}, expected a mapping of inputs to pairs of "
                            f"integers, as {{'doc': (0, 7)}}")
    checked = {}
    for name, ends in ranges.items():
        is_pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2
        if not is_pair or not all(isinstance(end, Integral) and not isinstance(end, bool)
                                  and -2**31 <= end < 2**31 for end in ends):
            raise ArgumentError(f"the range of {name!r} is {ends!r}, expected two integers of 32 "
                                f"bits, the least and the greatest")
        checked[str(name)] = [int(end) for end in ends]
    return checked


def _check_seed(program: Program, seed: str) -> None:
    """Raises the errors of compiling with it: tuning itself leaves out schedules that don't fit the
    sizes."""
    try:
        program._with(schedule=seed, tune="off")
    except ArgumentError as error:
        raise ArgumentError(f"seed {seed!r}: {error.message}",
                            f"seed {seed!r}: {error.text}") from None


def tune(program: Program, sizes: Any, request: dict[str, Any], graph: bool, cold: bool,
         report: Callable[[Progress], object] | None,
         warn: Callable[[_nsacc.Program], None]) -> Tuning:
    for name in ("budget", "agreement", "timeout"):
        value = request[name]
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ArgumentError(f"{name} is {value!r}, expected a finite number")
        request[name] = float(request[name])
    if not isinstance(request["seed"], Integral) or not 0 <= request["seed"] < 2**64:
        raise ArgumentError(f"seed is {request['seed']!r}, expected an integer from 0 to 2^64 - 1")
    request["seed"] = int(request["seed"])
    seeds = request["seeds"]
    is_list = isinstance(seeds, Sequence) and not isinstance(seeds, str)
    if not is_list or not all(isinstance(seed, str) for seed in seeds):
        raise ArgumentError(f"seeds is {seeds!r}, expected a list of schedules, each a string, as "
                            f"['keys=64', 'slc: tokens=8']")
    request["seeds"] = list(seeds)
    request["ranges"] = _check_ranges(request["ranges"])
    if not isinstance(request["effort"], str):
        raise ArgumentError(f"effort is {request['effort']!r}, expected a string, as 'quick'")
    if report is not None and not callable(report):
        raise ArgumentError(f"report is {report!r}, expected a function of the progress, as print")
    agreement = request.pop("agreement")
    if not 0 <= agreement < 1:
        raise ArgumentError(f"agreement is {agreement:g}, expected 0 to below 1")
    if isinstance(sizes, Sequence) and not isinstance(sizes, str):
        raise ArgumentError(f"sizes is a {type(sizes).__qualname__}, expected a mapping of "
                            f"dimensions to sizes, as {{'B': 1, 'T': 4096}}: call tune for each, "
                            f"or find one rule for many with the command, nsacc tune FILE "
                            f"--dims-file SIZES.json (docs/Tuning.md)")
    request["sizes"] = check_sizes(sizes)
    mode = f"off,agreement={agreement}" + (",graph" if graph else "") + (",cold" if cold else "")
    untuned = program._with(tune=mode)
    for seed in seeds:
        _check_seed(program, seed)

    def tell(progress: str) -> None:
        if report is not None:
            report(Progress(**json.loads(progress)))

    found = json.loads(_nsacc.tune(untuned._program, json.dumps(request), tell))
    warn(untuned._program)
    best = found["best"]
    given = [part for part in (program.schedule, best["schedule"]) if part]
    return Tuning(
        program=untuned if not best["schedule"] else program._with(
            schedule="; ".join(given), tune="off"),
        schedule=best["schedule"], ms=best["ms"], spread_ms=tuple(best["spread_ms"]),
        chosen_ms=best["chosen_ms"], floor_ms=found["floor_ms"], error=best["error"],
        clock_mhz=best["clock_mhz"], seconds=found["seconds"], ending=found["ending"],
        kept=found["kept"],
        trials=tuple(Trial(**trial) for trial in found["trials"]))
