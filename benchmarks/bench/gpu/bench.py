"""One work: inputs, the compiled program, checked peers, and times so far."""
from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import torch

from nsacc.errors import NsaccError

from .before import Before
from .check import WrongResult
from .ours import Ours
from .peers import Run, Unavailable
from .timing import Launch
from .works import Tensors, Work

OURS = "ours"
TUNED = "tuned"
# Prefixes of other works' ids: compared by useful operations in a second, and by time.
RATE, TIME = f"{OURS} ", "time of "


class Timer(Protocol):
    def plan(self, runs: dict[str, Run]) -> tuple[dict[str, Launch], str]: ...

    def measure(self, launch: Launch) -> float: ...


class Program(Protocol):
    out: torch.Tensor
    lse: torch.Tensor | None
    compile_seconds: float

    def __call__(self) -> torch.Tensor: ...

    def repeats_exactly(self) -> bool: ...

    def find_schedule(self) -> str: ...

    def tune(self, budget: float) -> tuple[Program, str]: ...


@dataclass(frozen=True)
class Setting:
    """Data that all works of a run share."""

    root: Path
    device: torch.device
    timer: Timer
    seed: int
    wants_peer: Callable[[str], bool] = lambda name: True
    before: Before | None = None
    works: dict[str, Work] = field(default_factory=dict)
    compile: Callable[[Work, Tensors, Path], Program] = Ours
    # Seconds for which each program is tuned, to stand beside the compiler's choice.
    tune: float | None = None

    def make_program(self, work: Work) -> tuple[Program, Tensors]:
        inputs = work.draw_inputs(self.seed, self.device)
        return self.compile(work, inputs, self.root), inputs


class Bench:
    def __init__(self, work: Work, setting: Setting) -> None:
        self.work, self._timer = work, setting.timer
        self.order = make_order(work, setting.seed)
        self.program, self.inputs = setting.make_program(work)
        self.error = check_program(work, self.inputs, self.program, self.order)
        self.schedule = self.program.find_schedule()
        self.operations = {OURS: work.useful_operations(self.inputs)}
        # The reference of each peer's check: the work itself, another one, or nothing.
        self.held_to: dict[str, Work | None] = {}
        self.unavailable: dict[str, str] = {}
        runs: dict[str, Run] = {OURS: self.program}
        for name in filter(setting.wants_peer, work.peers):
            try:
                self._add_peer(name, setting, runs)
            except Unavailable as error:
                self.unavailable[name] = str(error)
        self.tuned_schedule: str | None = None
        if setting.tune:
            self._add_tuned(setting.tune, runs)
        launches, self.launch_mode = self._timer.plan(runs)
        self._measures: dict[str, Callable[[], float]] = {
            name: partial(self._timer.measure, launch) for name, launch in launches.items()}
        if setting.before:
            self._add_before(setting.before)
        self.times: dict[str, list[float]] = {name: [] for name in self._measures}
        self.visits: list[tuple[float, float]] = []

    def warm_up(self, name: str) -> None:
        self._measures[name]()

    def visit(self, name: str) -> None:
        start = time.monotonic()
        self.times[name].append(self._measures[name]())
        self.visits.append((start, time.monotonic()))

    def check_again(self) -> None:
        """Whether runs give the same results as before many others."""
        if not self.program.repeats_exactly():
            raise WrongResult("a run after all that were timed gave other bits than the first")

    def _add_peer(self, name: str, setting: Setting, runs: dict[str, Run]) -> None:
        if name.startswith((RATE, TIME)):
            others = name.removeprefix(RATE).removeprefix(TIME).split(" + ")
            runs[name] = self._make_neighbours(name, others, setting)
            return
        peer = self.work.make_peer(name, self.inputs)
        try:
            out = peer.run()
            if peer.work:
                peer.work.check(self.inputs, out, None, self.order)
        except WrongResult as error:
            raise Unavailable(str(error)) from error
        if peer.work is self.work:
            # The peer's slices are right, and so are ours: a difference elsewhere is counted as our
            # mistake.
            try:
                self.work.compare(self.program.out, out)
            except WrongResult as error:
                raise WrongResult(f"against {name}: {error}") from error
        runs[name] = peer.run
        self.held_to[name] = peer.work
        self.operations[name] = (peer.work or self.work).useful_operations(self.inputs)

    def _add_tuned(self, budget: float, runs: dict[str, Run]) -> None:
        try:
            program, self.tuned_schedule = self.program.tune(budget)
        except NsaccError as error:
            self.unavailable[TUNED] = str(error)
            return
        check_program(self.work, self.inputs, program, self.order)
        self.operations[TUNED] = self.operations[OURS]
        runs[TUNED] = program

    def _add_before(self, before: Before) -> None:
        try:
            measure = before.prepare(self.work, self.launch_mode == "graph")
        except Unavailable as error:
            self.unavailable[before.name] = str(error)
            return
        self._measures[before.name] = measure
        self.operations[before.name] = self.operations[OURS]

    def _make_neighbours(self, name: str, others: list[str], setting: Setting) -> Run:
        """Runs other works' programs behind each other."""
        programs = []
        self.operations[name] = 0
        for work in (setting.works[other] for other in others):
            program, inputs = setting.make_program(work)
            check_program(work, inputs, program, self.order)
            del program.out, program.lse
            programs.append(program)
            self.operations[name] += work.useful_operations(inputs)
        return lambda: [program() for program in programs][-1]


def make_order(work: Work, seed: int) -> random.Random:
    return random.Random(f"{seed} {work.id}")


def check_program(work: Work, inputs: Tensors, program: Program, order: random.Random) -> float:
    error = work.check(inputs, program.out, program.lse, order)
    if not program.repeats_exactly():
        raise WrongResult("a second run gave other bits")
    return error
