"""Time on the GPU: launches back to back between two events."""
from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Run = Callable[[], object]

# Below this time, or if the host takes longer than this share of the GPU's time to launch, Python's
# cost would be measured: launches are then captured into a CUDA graph.
SHORT_SECONDS = 50e-6
HOST_SHARE = 0.5
GRAPH_SECONDS = 2e-3
PROBE_SECONDS = 10e-3
MOST_PROBES = 256


@dataclass(frozen=True)
class Launch:
    """A function that runs `count` launches, of about `seconds` each."""

    go: Run
    count: int
    seconds: float
    captured: Run | None = None
    """The run that a graph was captured from: the graph reads its tensors' addresses, and doesn't
    keep them alive."""


class CudaTimer:
    """Times visits of about `visit_ms`."""

    def __init__(self, visit_ms: float) -> None:
        self.visit_seconds = visit_ms * 1e-3

    def plan(self, runs: dict[str, Run],
             graphs: bool = False) -> tuple[dict[str, Launch], str]:
        """The way to launch each of one work's runs: all by calls, or all by graphs if `graphs` is
        set."""
        probes = {name: self._probe(run) for name, run in runs.items()}
        calls = {name: Launch(runs[name], 1, seconds) for name, (seconds, _) in probes.items()}
        if not graphs and not any(is_host_bound(*probe) for probe in probes.values()):
            return calls, "calls"
        try:
            return {name: self._capture(run, probes[name][0])
                    for name, run in runs.items()}, "graph"
        except RuntimeError as error:
            torch.cuda.synchronize()
            reason = (str(error).splitlines() or [""])[0]
            print(f"  no CUDA graph, so short launches show what Python costs: {reason}",
                  flush=True)
            return calls, "calls, no graph"

    def measure(self, launch: Launch) -> float:
        """Seconds of a launch, the mean over a visit. A third of a visit runs untimed before it, so
        that clocks and caches belong to this program, not to the previous one."""
        repeats = max(1, round(self.visit_seconds / (launch.seconds * launch.count)))
        for _ in range(max(1, repeats // 3)):
            launch.go()
        return _time(launch.go, repeats) / launch.count

    def _probe(self, run: Run) -> tuple[float, float]:
        """Seconds of a launch, and the host's seconds to launch it."""
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        repeats = 2
        while True:
            start = time.perf_counter()
            seconds, host = _time_both(run, repeats)
            if time.perf_counter() - start >= PROBE_SECONDS or repeats >= MOST_PROBES:
                return seconds, host
            repeats *= 2

    def _capture(self, run: Run, seconds: float) -> Launch:
        count = min(100, max(1, math.ceil(GRAPH_SECONDS / seconds)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            for _ in range(count):
                run()
        graph.replay()
        return Launch(graph.replay, count, _time(graph.replay, 2) / count, run)


def is_host_bound(seconds: float, host: float) -> bool:
    return seconds < SHORT_SECONDS or host > HOST_SHARE * seconds


def _time(run: Run, repeats: int) -> float:
    return _time_both(run, repeats)[0]


def _time_both(run: Run, repeats: int) -> tuple[float, float]:
    """Seconds of one run on the GPU, and of the host's part without waiting."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start = time.perf_counter()
    first.record()
    for _ in range(repeats):
        run()
    last.record()
    host = time.perf_counter() - start
    last.synchronize()
    return first.elapsed_time(last) * 1e-3 / repeats, host / repeats
