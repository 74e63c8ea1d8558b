"""The suite `cpu`: its runs, their order, and its output."""
from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from .. import record
from .ours import Ours
from .works import Work

TOLERANCE = {"f32": 1e-4, "bf16": 2e-2}


class Bench:
    """One work: its inputs, compiled program, peers and times so far."""

    def __init__(self, work: Work, options: argparse.Namespace, root: Path, folder: Path,
                 seed: int) -> None:
        self.work = work
        rng = np.random.default_rng(seed)
        self.inputs = work.draw_inputs(rng)
        folder.mkdir()
        self.ours = Ours(work, root, options.tools, folder, threads=1)
        self.ours.save(self.inputs)
        _, results = self.ours.run(self.inputs, repeats=1, keep=True)
        self.peers = {}
        if not options.no_peers:
            from . import peers

            error = peers.check(work, self.inputs, results["out"], rng)
            if not error <= TOLERANCE[work.dtype]:
                raise SystemExit(f"benchmarks/run: wrong results of {work}: error {error:.2e}, "
                                 f"allowed {TOLERANCE[work.dtype]:.0e}")
            print(f"{work}: error {error:.1e}", flush=True)
            self.peers = peers.make_peers(work, self.inputs, options.flex)
        self.times: dict[str, list[float]] = {}

    def visit(self, name: str, repeats: int) -> None:
        if name == "":
            times, _ = self.ours.run(self.inputs, repeats)
        else:
            from . import peers

            times = peers.measure(self.peers[name], repeats)
        self.times.setdefault(name, []).extend(times)


def make_record(work: Work, schedule: str, ours: list[float], peer: str | None,
                theirs: list[float] | None, common: dict[str, object]) -> dict[str, object]:
    speed = work.useful_operations() / record.median(ours) / 1e9
    return {"work": work.work, "shape": work.shape, "dtype": work.dtype, "target": "cpu",
            "schedule": schedule, **record.describe_times(ours), "gflops": round(speed, 1),
            **record.compare(ours, peer, theirs), **common}


def records_of(bench: Bench, dense: dict[tuple[object, ...], list[float]],
               common: dict[str, object]) -> list[dict[str, object]]:
    work, ours = bench.work, bench.times[""]
    peers = {name: times for name, times in bench.times.items() if name}
    key = (work.T, work.HQ, work.H, work.D, work.dtype)
    if work.work != "flash" and key in dense:
        peers["nsacc flash dense causal"] = dense[key]
    if not peers:
        return [make_record(work, bench.ours.schedule, ours, None, None, common)]
    return [make_record(work, bench.ours.schedule, ours, name, times, common)
            for name, times in peers.items()]


def pick_works(options: argparse.Namespace, root: Path) -> list[Work]:
    entries = json.loads((root / "benchmarks" / "cpu.json").read_text())
    works = [Work(**entry) for entry in entries]
    works = [work for work in works if options.work is None or options.work in str(work)]
    if options.most_tokens:
        works = [work for work in works if options.most_tokens >= work.T]
    return works


def measure(works: list[Work], options: argparse.Namespace, root: Path) -> list[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        benches = [Bench(work, options, root, Path(folder) / str(index), options.seed + index)
                   for index, work in enumerate(works)]
        visits = [(bench, name) for bench in benches for name in ("", *bench.peers)]
        order = random.Random(options.seed)
        for number in range(options.rounds):
            order.shuffle(visits)
            for bench, name in visits:
                bench.visit(name, options.repeats)
            print(f"round {number + 1} of {options.rounds}", flush=True)
    return benches


def run(options: argparse.Namespace, root: Path) -> int:
    works = pick_works(options, root)
    if not works:
        print("benchmarks/run: no such work", file=sys.stderr)
        return 1
    common: dict[str, object] = {
        "threads": 1, "clock": "processor time", "seed": options.seed,
        "machine": record.describe_processor(), "commit": record.describe_commit(root)}
    if not options.no_peers:
        import torch

        torch.set_num_threads(1)
        common["versions"] = record.describe_versions()
    else:
        common["versions"] = {}
    benches = measure(works, options, root)
    dense = {(b.work.T, b.work.HQ, b.work.H, b.work.D, b.work.dtype): b.times[""]
             for b in benches if b.work.work == "flash"}
    records = [line for bench in benches for line in records_of(bench, dense, common)]
    path = options.output or record.default_path(root, options.suite)
    record.write(records, path)
    for line in records:
        print(f"{line['work']} {line['dtype']} {line['shape']}: {line['ms']} ms, "
              f"{line['gflops']} GFLOP/s; {line['peer']}: {line['peer_ms']} ms, "
              f"ratio {line['ratio']}")
    print(f"{len(records)} records: {path}")
    return 0
