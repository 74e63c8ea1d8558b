"""A program's time by kernel, from torch.profiler."""
from __future__ import annotations

import re
from collections.abc import Callable

import torch

LAUNCHES = 3
LONGEST_NAME = 80


def measure_kernels(run: Callable[[], object]) -> dict[str, float] | None:
    """Milliseconds of each kernel in one launch of `run`, the longest first; None if the profiler
    sees none, as on a CPU or while another tool traces."""
    if not torch.cuda.is_available():
        return None
    from torch.profiler import ProfilerActivity, profile

    run()
    torch.cuda.synchronize()
    try:
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(LAUNCHES):
                run()
            torch.cuda.synchronize()
    except RuntimeError as error:
        print(f"  no times of kernels: {error}", flush=True)
        # This raises, too, if the program failed.
        torch.cuda.synchronize()
        return None
    return summarize([(event.key, event.self_device_time_total, event.count)
                      for event in profiler.key_averages()], LAUNCHES)


def summarize(events: list[tuple[str, float, int]],
              launches: int) -> dict[str, float] | None:
    """Totals from (name, microseconds of all calls, calls). Names lose their arguments and get the
    number of calls in a launch, unless it is 1."""
    times: dict[str, float] = {}
    for name, microseconds, count in sorted(events, key=lambda event: -event[1]):
        if microseconds <= 0:
            continue
        calls = round(count / launches)
        short = re.sub(r"^void |\(.*\)$", "", name)[:LONGEST_NAME]
        label = short + (f" x{calls}" if calls > 1 else "")
        times[label] = times.get(label, 0) + microseconds * 1e-3 / launches
    return {name: float(f"{ms:.4g}") for name, ms in times.items()} or None
