"""The command line: what runs, in which order, and what is written."""
from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import record
from .ours import Ours
from .works import Work

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = {"f32": 1e-4, "bf16": 2e-2}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run",
        description="Measures compiled programs against their peers, in random order, by "
                    "processor time of one thread, once their results were checked.")
    parser.add_argument("--suite", choices=["cpu"], required=True)
    parser.add_argument("--tools", type=Path, default=ROOT / "build" / "dev" / "bin",
                        help="folder of nsacc-translate, nsacc-opt and nsacc-tile-run")
    parser.add_argument("--rounds", type=int, default=3, help="visits of each program and peer")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of one visit")
    parser.add_argument("--work", help="only works whose description has this in it")
    parser.add_argument("--most-tokens", type=int, help="leave out longer sequences")
    parser.add_argument("--seed", type=int, help="of inputs and order; random without it")
    parser.add_argument("--no-peers", action="store_true", help="without PyTorch")
    parser.add_argument("--flex", action="store_true",
                        help="FlexAttention, too: torch.compile needs a C++ compiler")
    parser.add_argument("--output", type=Path,
                        help="where records are added; benchmarks/results/SUITE-DATE.jsonl")
    return parser.parse_args(arguments)


class Bench:
    """One work: its inputs, compiled program, peers and times so far."""

    def __init__(self, work: Work, options: argparse.Namespace, folder: Path, seed: int) -> None:
        self.work = work
        rng = np.random.default_rng(seed)
        self.inputs = work.draw_inputs(rng)
        folder.mkdir()
        self.ours = Ours(work, ROOT, options.tools, folder, threads=1)
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


def records_of(bench: Bench, dense: dict[tuple[object, ...], list[float]],
               common: dict[str, object]) -> list[dict[str, object]]:
    work, ours = bench.work, bench.times[""]
    peers = {name: times for name, times in bench.times.items() if name}
    key = (work.T, work.HQ, work.H, work.D, work.dtype)
    if work.work != "flash" and key in dense:
        peers["nsacc flash dense causal"] = dense[key]
    make = record.make_record
    if not peers:
        return [make(work, bench.ours.schedule, ours, None, None, common)]
    return [make(work, bench.ours.schedule, ours, name, times, common)
            for name, times in peers.items()]


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    works = [Work(**entry) for entry in
             json.loads((ROOT / "benchmarks" / f"{options.suite}.json").read_text())]
    works = [work for work in works if options.work is None or options.work in str(work)]
    if options.most_tokens:
        works = [work for work in works if options.most_tokens >= work.T]
    if not works:
        print("benchmarks/run: no such work", file=sys.stderr)
        return 1
    seed = secrets.randbits(32) if options.seed is None else options.seed
    common: dict[str, object] = {
        "threads": 1, "clock": "processor time", "seed": seed,
        "machine": record.describe_machine(), "commit": record.describe_commit(ROOT)}
    if not options.no_peers:
        import torch

        torch.set_num_threads(1)
        common["versions"] = record.describe_versions()
    else:
        common["versions"] = {}
    with tempfile.TemporaryDirectory() as folder:
        benches = [Bench(work, options, Path(folder) / str(index), seed + index)
                   for index, work in enumerate(works)]
        visits = [(bench, name) for bench in benches for name in ("", *bench.peers)]
        order = random.Random(seed)
        for number in range(options.rounds):
            order.shuffle(visits)
            for bench, name in visits:
                bench.visit(name, options.repeats)
            print(f"round {number + 1} of {options.rounds}", flush=True)
    dense = {(b.work.T, b.work.HQ, b.work.H, b.work.D, b.work.dtype): b.times[""]
             for b in benches if b.work.work == "flash"}
    records = [line for bench in benches for line in records_of(bench, dense, common)]
    path = options.output or record.default_path(ROOT, options.suite)
    record.write(records, path)
    for line in records:
        print(f"{line['work']} {line['dtype']} {line['shape']}: {line['ms']} ms, "
              f"{line['gflops']} GFLOP/s; {line['peer']}: {line['peer_ms']} ms, "
              f"ratio {line['ratio']}")
    print(f"{len(records)} records: {path}")
    return 0
