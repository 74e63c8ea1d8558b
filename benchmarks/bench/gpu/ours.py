"""Programs compiled by nsacc."""
from __future__ import annotations

import re
import time
from pathlib import Path

import torch

import nsacc
from nsacc.errors import NsaccError

from .check import poisoned_results
from .works import Tensors, Work

_SCHEDULE = re.compile(r"\bschedule = #nsatile\.schedule<([^>]*)>")


class Ours:
    """A work's program for the device of its inputs, compiled cold by the first run."""

    def __init__(self, work: Work, inputs: Tensors, root: Path,
                 program: nsacc.Program | None = None) -> None:
        self.work, self.inputs = work, inputs
        start = time.perf_counter()
        self.program = program or nsacc.compile(root / work.program, target=work.target,
                                                dtype=work.dtype, params=work.params)
        seconds = time.perf_counter() - start
        self._arguments = [inputs[spec.name] for spec in self.program.signature.inputs]
        with poisoned_results():
            results, timing = self.program.run_timed(self._arguments)
        self._wait()
        self.compile_seconds = seconds + timing.compile_seconds
        self.out, self.lse = _name_results(results)
        self._root = root

    def __call__(self) -> torch.Tensor:
        return _name_results(self.program(*self._arguments))[0]

    def repeats_exactly(self) -> bool:
        """Whether a run with poisoned results gives the first run's bits."""
        with poisoned_results():
            again = self()
        self._wait()
        return torch.equal(again, self.out)

    def tune(self, budget: float) -> tuple[Ours, str]:
        """The program with the fastest schedule that so many seconds of tuning find, with the
        tuner's inputs; and this schedule, empty for the compiler's choice."""
        tuning = self.program.tune(self._find_sizes(), budget=budget,
                                   agreement=self.work.agreement, seed=1)
        tuned = Ours(self.work, self.inputs, self._root, tuning.program)
        return tuned, tuning.schedule

    def _find_sizes(self) -> dict[str, int | list[int]]:
        sizes: dict[str, int | list[int]] = {}
        for spec in self.program.signature.inputs:
            tensor = self.inputs[spec.name]
            for dim, size in zip(spec.dims, tensor.shape, strict=True):
                if dim.kind == "named":
                    sizes[dim.name] = size
                elif dim.kind == "offsets":
                    sizes[dim.name] = tensor.diff().tolist()
        return sizes

    def find_schedule(self) -> str:
        """The compiler's choice for these sizes; empty if unknown."""
        sizes = self.work.sizes
        named = {name: sizes[name] for name in self.program.signature.dims if name in sizes}
        try:
            text = self.program.ir("tile", **named)
        except NsaccError:
            return ""
        # The first program is the fast one; others stand behind it.
        found = _SCHEDULE.search(text)
        return found[1] if found else ""

    def _wait(self) -> None:
        device = next(iter(self.inputs.values())).device
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            self.program.check(device.index or 0)


def _name_results(results: object) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Output, and log-sum-exp if the program gives it."""
    if isinstance(results, tuple):
        return results[0], results[1]
    assert isinstance(results, torch.Tensor)
    return results, None
