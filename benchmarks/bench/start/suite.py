"""The suite `start`: processes that import, compile and call once, and how long that takes.

A process is cold (its cache is empty), cached (another one compiled before), or loads a package.
The same process that imports NumPy alone is what each is compared with.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .. import record

WAYS = ("numpy", "cold", "cached", "loaded")

# What a process does: `how` is a way; the program's inputs are those that its signature asks for.
CHILD = """
import json, sys, time
how, source, package, shapes = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
import numpy as np
inputs = [np.zeros(shape, np.float32) for shape in shapes]
start = time.perf_counter()
times = {}
if how != "numpy":
    import nsacc
    times["import"] = time.perf_counter() - start
    program = nsacc.load(package) if how == "loaded" else nsacc.compile(source, dtype="f32")
    times["program"] = time.perf_counter() - start - times["import"]
    result, timing = program.run_timed(inputs)
    times["code"] = timing.compile_seconds
print(json.dumps(times))
"""


@dataclass(frozen=True)
class Work:
    """A program of examples/ with sizes of its heads and channels."""

    program: str
    heads: int = 16
    key_heads: int = 4
    width: int = 64

    def __str__(self) -> str:
        return f"{self.program} cpu f32 HQ {self.heads} H {self.key_heads} D {self.width}"

    @property
    def sizes(self) -> dict[str, int]:
        return {"HQ": self.heads, "H": self.key_heads, "D": self.width, "DV": self.width}

    def get_shapes(self, tokens: int = 64) -> list[list[int]]:
        queries = [1, tokens, self.heads, self.width]
        keys = [1, tokens, self.key_heads, self.width]
        gates = [[1, tokens, self.heads]] * (3 if self.program == "nsa" else 0)
        return [queries, keys, keys, *gates]


WORKS = (Work("flash"), Work("nsa"))


class Bench:
    """A work, its package, and the times of its processes."""

    def __init__(self, work: Work, root: Path, folder: Path) -> None:
        import nsacc

        self.work, self.folder = work, folder
        self.source = root / "examples" / f"{work.program}.nsa"
        self.package = folder / "program.nsapkg"
        nsacc.compile(self.source, dtype="f32").package(self.package, work.sizes)
        self.library = str(Path(importlib.util.find_spec("nsacc").origin).parents[1])
        self.times: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        self.visit("cached", keep=False)

    def visit(self, way: str, keep: bool = True) -> None:
        with tempfile.TemporaryDirectory() as empty:
            cache = empty if way == "cold" else str(self.folder / "cache")
            environment = {**os.environ, "PYTHONPATH": self.library, "NSACC_CACHE_DIR": cache,
                           "NSACC_CACHE": "readwrite"}
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", CHILD, way, self.source, self.package,
                 json.dumps(self.work.get_shapes())], env=environment, text=True, check=True,
                stdout=subprocess.PIPE)
            seconds = time.perf_counter() - start
        if keep:
            self.times[way].append({"process": seconds, **json.loads(done.stdout)})

    def make_records(self, common: dict[str, object]) -> list[dict[str, object]]:
        def describe(way: str, part: str) -> float:
            return record.to_ms(record.median([each[part] for each in self.times[way]]))

        records = []
        for way in WAYS[1:]:
            parts = {f"{part}_ms": describe(way, part) for part in ("import", "program", "code")}
            records.append({
                "suite": "start", "work": str(self.work), "way": way,
                **record.describe_times([each["process"] for each in self.times[way]]),
                "numpy_ms": describe("numpy", "process"),
                "beyond_numpy_ms": round(describe(way, "process") - describe("numpy", "process"),
                                         1), **parts, **common})
        return records


def run(options: argparse.Namespace, root: Path) -> int:
    works = [work for work in WORKS if not options.work or options.work in str(work)]
    if not works:
        print(f"benchmarks/run: no work has '{options.work}' in it", file=sys.stderr)
        return 2
    common = {"rounds": options.rounds, "seed": options.seed,
              "processor": record.describe_processor(), "commit": record.describe_commit(root),
              **record.describe_versions()}
    order = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        benches = []
        for index, work in enumerate(works):
            own = Path(folder) / str(index)
            own.mkdir()
            benches.append(Bench(work, root, own))
        for _ in range(options.rounds):
            visits = [(bench, way) for bench in benches for way in WAYS]
            order.shuffle(visits)
            for bench, way in visits:
                bench.visit(way)
    records = [line for bench in benches for line in bench.make_records(common)]
    path = options.output or record.default_path(root, "start")
    record.write(records, path)
    for line in records:
        print(f"{line['work']}, {line['way']}: {line['ms']:.0f} ms, {line['beyond_numpy_ms']:.0f} "
              f"beyond NumPy's {line['numpy_ms']:.0f}; code {line['code_ms']:.1f}", flush=True)
    return 0
