"""A suite on the GPU: its runs, their order, and its output."""
from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import torch

from nsacc.errors import NsaccError

from .. import record
from .before import Before
from .bench import Bench, Setting
from .check import WrongResult
from .machine import ClockSampler, describe_gpu, describe_versions
from .peers import Skipped
from .records import Details, describe, make_records
from .timing import CudaTimer
from .watchdog import Watchdog
from .works import Work, split

Say = Callable[[str], None]


def say(text: str) -> None:
    print(text, flush=True)


class Suite:
    """Works, group by group; a group's visits are in random order."""

    def __init__(self, setting: Setting, rounds: int, most_seconds: float | None,
                 path: Path, common: dict[str, object], sampler: ClockSampler | None,
                 details: Details = lambda bench, peer: {}) -> None:
        self.setting, self.rounds, self.path, self.common = setting, rounds, path, common
        self.sampler, self.details = sampler, details
        self.end = None if most_seconds is None else time.monotonic() + most_seconds
        self.order = random.Random(setting.seed)
        self.failures: list[str] = []
        self.skipped: list[str] = []
        self.written = 0
        self.unmeasured: list[str] = []

    def run(self, groups: list[list[Work]]) -> None:
        for group in groups:
            benches = [bench for bench in map(self._prepare, group) if bench is not None]
            if benches:
                self._measure(benches)
            del benches
            self._clean_up()

    def is_over(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end

    def _prepare(self, work: Work) -> Bench | None:
        if self.is_over():
            self.unmeasured.append(work.id)
            return None
        say(str(work))
        try:
            bench = Bench(work, self.setting)
        except Skipped as error:
            say(f"  skipped: {error}")
            self.skipped.append(work.id)
            return None
        except (NsaccError, ValueError, OSError) as error:
            return self._fail(work, f"not measured: {error}")
        except WrongResult as error:
            return self._fail(work, f"WRONG, not measured: {error}")
        except RuntimeError as error:
            return self._fail(work, f"not measured: {str(error).strip()}")
        for name, reason in bench.unavailable.items():
            say(f"  without {name}: {reason}")
        say(f"  error {bench.error:.1e}, compiled in {bench.program.compile_seconds:.2f} s, "
            f"launched by {bench.launch_mode}")
        return bench

    def _fail(self, work: Work, message: str) -> None:
        say(f"  {message}")
        self.failures.append(work.id)
        if self.setting.device.type == "cuda":
            # Raises if a kernel broke the context: nothing runs in this process then.
            torch.cuda.synchronize(self.setting.device)

    def _measure(self, benches: list[Bench]) -> None:
        visits = [(bench, name) for bench in benches for name in bench.times]
        # During compilations the GPU was idle: it cooled down, and its clocks rose.
        for bench, name in visits:
            bench.warm_up(name)
        for number in range(self.rounds):
            # Records need a whole round.
            if number and self.is_over():
                break
            self.order.shuffle(visits)
            for bench, name in visits:
                bench.visit(name)
        for bench in benches:
            self._write(bench)

    def _write(self, bench: Bench) -> None:
        try:
            bench.check_again()
        except WrongResult as error:
            return self._fail(bench.work, f"{bench.work.id}: WRONG, no record: {error}")
        clocks = self.sampler.summarize(bench.visits) if self.sampler else None
        lines = make_records(bench, self.common | {"clocks": clocks}, self.details)
        record.write(lines, self.path)
        self.written += len(lines)
        for line in lines:
            say(describe(line))

    def _clean_up(self) -> None:
        if self.setting.before:
            self.setting.before.drop()
        if "torch._dynamo" in sys.modules:
            torch.compiler.reset()
        gc.collect()
        if self.setting.device.type == "cuda":
            torch.cuda.empty_cache()


def pick_works(every: list[Work], part: str | None) -> list[Work]:
    return [work for work in every if part is None or part in str(work)]


def make_filter(options: argparse.Namespace) -> Callable[[str], bool]:
    """Chooses the peers to measure."""
    if options.no_peers:
        return lambda name: False
    if options.peers is None:
        return lambda name: True
    return lambda name: any(text in name for text in options.peers.split(","))


def finish(suite: Suite) -> int:
    """Prints the works that weren't measured, and returns the exit code."""
    if suite.unmeasured:
        say(f"out of time before {', '.join(suite.unmeasured)}")
    if suite.skipped:
        say(f"skipped: {', '.join(suite.skipped)}")
    if suite.failures:
        say(f"not measured: {', '.join(suite.failures)}")
    say(f"{suite.written} records: {suite.path}")
    return 1 if suite.failures else 0


def run(options: argparse.Namespace, root: Path, every: list[Work],
        details: Details = lambda bench, peer: {}) -> int:
    picked = pick_works(every, options.work)
    if not picked:
        print("benchmarks/run: no such work", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print(f"benchmarks/run: --suite {options.suite} needs a GPU, and torch finds no CUDA "
              "device", file=sys.stderr)
        return 1
    device = torch.device("cuda", 0)
    common: dict[str, object] = {
        "seed": options.seed, "machine": describe_gpu(), "versions": describe_versions(),
        "commit": record.describe_commit(root)}
    say(f"seed {options.seed}, {common['machine']}, {common['versions']}")
    path = options.output or record.default_path(root, options.suite)
    memory = torch.cuda.get_device_properties(device).total_memory
    # Inputs and results exist twice and more: in both layouts, and during checks.
    groups = split(picked, options.together, memory / 8)
    try:
        before = options.before and Before(options.before, root, options.visit_ms, options.seed)
    except ValueError as error:
        print(f"benchmarks/run: {error}", file=sys.stderr)
        return 1
    with ExitStack() as stack:
        guards: list[AbstractContextManager[object]] = [torch.no_grad()]
        if options.most_seconds is not None:
            guards.append(Watchdog(options.most_seconds))
        for guard in guards:
            stack.enter_context(guard)
        sampler = stack.enter_context(ClockSampler())
        if before:
            stack.enter_context(before)
        setting = Setting(root, device, CudaTimer(options.visit_ms), options.seed,
                          make_filter(options), before, {work.id: work for work in every},
                          tune=options.tune)
        suite = Suite(setting, options.rounds, options.most_seconds, path, common, sampler,
                      details)
        try:
            suite.run(groups)
        except RuntimeError as error:
            suite.failures.append("what follows")
            say(f"stopped: the GPU fails: {str(error).strip()}")
    return finish(suite)
