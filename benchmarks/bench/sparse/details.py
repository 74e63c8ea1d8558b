"""Additional entries of the suite's records: the parts of the time."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from .. import record
from ..gpu.bench import OURS, Bench
from .base import Goals
from .floors import Ceilings, find_floor

Kernels = Callable[[Callable[[], object]], dict[str, float] | None]


class Details:
    """Computes a work's part once, for its records of all peers."""

    def __init__(self, ceilings: Ceilings, measure_kernels: Kernels) -> None:
        self._ceilings, self._measure_kernels = ceilings, measure_kernels
        self._of: tuple[str, dict[str, object]] = ("", {})

    def __call__(self, bench: Bench, peer: str | None) -> dict[str, object]:
        work = bench.work
        assert isinstance(work, Goals)
        if self._of[0] != work.id:
            self._of = (work.id, self._describe(bench, work))
        return self._of[1] | {"peer_result": describe_result(bench, peer)}

    def _describe(self, bench: Bench, work: Goals) -> dict[str, object]:
        seconds = record.median(bench.times[OURS])
        counts = work.count(bench.inputs)
        floor_ms, bound = find_floor(counts, self._ceilings)
        hbm_share = counts.hbm_bytes / seconds / self._ceilings.hbm_bytes
        return {
            "inputs": work.inputs,
            "own_goals": work.meet_goals(seconds * 1e3, bench.operations[OURS], hbm_share),
            "counts": {name: float(f"{count:.5g}") for name, count in asdict(counts).items()},
            "floor_ms": float(f"{floor_ms:.4g}"), "floor_bound": bound,
            "kernels": self._measure_kernels(bench.program)}


def describe_result(bench: Bench, peer: str | None) -> str | None:
    """The reference of the peer's check."""
    if peer not in bench.held_to:
        return None
    held_to = bench.held_to[peer]
    if held_to is None:
        return "unchecked"
    return "same" if held_to is bench.work else "dense"
