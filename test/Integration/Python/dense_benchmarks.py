"""Works, programs and timers for the tests of benchmarks/run --suite dense, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from bench.dense import formulas
from bench.dense.works import Work
from bench.gpu.bench import Setting
from bench.gpu.suite import Suite
from bench.gpu.timing import Launch
from bench.gpu.works import DTYPES, Tensors

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = {"full": "benchmarks/programs/full.nsa", "flash": "examples/flash.nsa",
            "window": "benchmarks/programs/window.nsa",
            "softcap_alibi": "examples/softcap_alibi.nsa"}
PARAMS = {"window": {"window": 7}, "softcap_alibi": {"cap": 5.0}}


def make_work(pattern: str = "flash", **changes: object) -> Work:
    values = {"id": pattern, "program": PROGRAMS[pattern], "B": 2, "T": 150, "HQ": 4, "H": 2,
              "D": 16, "DV": 16, "dtype": "f32", "target": "cpu",
              "params": PARAMS.get(pattern, {})}
    return Work(**values | changes)


@dataclass
class FakeProgram:
    """The formula, instead of its compiled code."""

    work: Work
    inputs: Tensors
    compile_seconds: float = 0.5
    other_bits: bool = False
    tunes_wrongly: bool = False

    def __post_init__(self) -> None:
        work = self.work
        shape = (work.B, work.T, work.HQ)
        self.out = torch.empty(*shape, work.DV, dtype=DTYPES[work.dtype])
        self.lse = torch.empty(shape)
        for batch in range(work.B):
            for head in range(work.HQ):
                out, lse = formulas.attend(work, self.inputs, batch, head, 0, work.T)
                self.out[batch, :, head], self.lse[batch, :, head] = out, lse

    def __call__(self) -> torch.Tensor:
        return self.out

    def repeats_exactly(self) -> bool:
        return not self.other_bits

    def find_schedule(self) -> str:
        return "tokens = 1"

    def tune(self, budget: float) -> tuple[FakeProgram, str]:
        assert budget == 5
        tuned = FakeProgram(self.work, self.inputs)
        tuned.out = tuned.out + (1 if self.tunes_wrongly else 0)
        return tuned, "tokens=2"


@dataclass
class FakeTimer:
    """Gives each run a different time and records the order of visits."""

    seconds: dict[str, float] = field(default_factory=dict)
    visited: list[Launch] = field(default_factory=list)
    on_visit: Callable[[], None] = lambda: None

    def plan(self, runs: dict[str, object]) -> tuple[dict[str, Launch], str]:
        return {name: Launch(run, 1, self.seconds.get(name, 2e-3))
                for name, run in runs.items()}, "calls"

    def measure(self, launch: Launch) -> float:
        self.visited.append(launch)
        self.on_visit()
        return launch.seconds


def make_setting(works: list[Work], change: Callable[[FakeProgram], None] = lambda _: None,
                 timer: FakeTimer | None = None, seed: int = 1) -> Setting:
    def compile_fake(work: Work, inputs: Tensors, _root: Path) -> FakeProgram:
        program = FakeProgram(work, inputs)
        change(program)
        return program

    return Setting(ROOT, torch.device("cpu"), timer or FakeTimer(), seed,
                   works={work.id: work for work in works}, compile=compile_fake)


def make_suite(setting: Setting, path: Path, rounds: int = 3,
               most_seconds: float | None = None) -> Suite:
    common = {"seed": 1, "machine": {}, "versions": {}, "commit": "abc"}
    return Suite(setting, rounds, most_seconds, path, common, None)
