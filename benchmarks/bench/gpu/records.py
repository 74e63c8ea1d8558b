"""Records of the GPU suites."""
from __future__ import annotations

from collections.abc import Callable

from .. import record
from .bench import OURS, RATE, TUNED, Bench

Details = Callable[[Bench, str | None], dict[str, object]]


def find_goals(bench: Bench) -> dict[str, float]:
    """The least ratio for each peer; "sdpa" is the fastest back end that ran."""
    goals = dict(bench.work.goals)
    if "sdpa" in goals:
        goal = goals.pop("sdpa")
        backends = [name for name in bench.times if name.startswith("sdpa ")]
        if backends:
            goals[min(backends, key=lambda name: record.median(bench.times[name]))] = goal
    return goals


def make_records(bench: Bench, common: dict[str, object],
                 details: Details = lambda bench, peer: {}) -> list[dict[str, object]]:
    """Records, one for each peer, or one without a peer; `details` adds a suite's special
    entries."""
    peers = [name for name in bench.times if name != OURS]
    return [_make_record(bench, peer, common) | details(bench, peer) for peer in peers or [None]]


def _tflops(bench: Bench, name: str) -> float:
    return float(f"{bench.operations[name] / record.median(bench.times[name]) / 1e12:.5g}")


def _make_record(bench: Bench, peer: str | None,
                 common: dict[str, object]) -> dict[str, object]:
    work, times = bench.work, bench.times[OURS]
    theirs = bench.times[peer] if peer else None
    share = 1.0
    if peer and peer.startswith(RATE):
        share = bench.operations[OURS] / bench.operations[peer]
    return {
        "work": work.id, "program": work.program, "shape": work.shape, "dtype": work.dtype,
        "target": work.target, "schedule": bench.schedule, **record.describe_times(times),
        "tflops": _tflops(bench, OURS), **record.compare(times, peer, theirs, share),
        "peer_tflops": _tflops(bench, peer) if peer else None,
        "goal": find_goals(bench).get(peer) if peer else None, "launch": bench.launch_mode,
        "rounds": len(times), "error": float(f"{bench.error:.3g}"),
        "compile_s": round(bench.program.compile_seconds, 3),
        **({"tuned_schedule": bench.tuned_schedule} if peer == TUNED else {}), **common}


def describe(line: dict[str, object]) -> str:
    text = f"  {line['work']}: {line['ms']} ms, {line['tflops']} TFLOP/s"
    if "floor_ms" in line:
        text += f", floor {line['floor_ms']} ms ({line['floor_bound']})"
    for name, own in line.get("own_goals", {}).items():
        text += f", goal {own['goal']} {name} {'met' if own['met'] else 'missed'}"
    if line["peer"] is None:
        return text
    text += (f"; {line['peer']}: {line['peer_ms']} ms, {line['peer_tflops']} TFLOP/s; "
             f"ratio {line['ratio']}")
    goal = line["goal"]
    if isinstance(goal, float) and isinstance(line["ratio"], float):
        text += f", goal {goal} {'met' if line['ratio'] >= goal else 'missed'}"
    return text
