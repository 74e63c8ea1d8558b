"""The suite `start`: times of processes that import, compile and call once.

A process is cold (its cache is empty), cached (another one compiled before), or loads a package.
Each is compared with a process without nsacc: it imports NumPy or, for works on a GPU, imports
PyTorch and makes the inputs, which makes the CUDA context.
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

WAYS = ("without", "cold", "cached", "loaded")

# The code of a process: `how` is one of the ways; inputs are made for the program's signature.
CHILD = """
import json, sys, time
how, source, package, target, dtype = sys.argv[1:6]
tensors = json.loads(sys.argv[6])
if target == "cpu":
    import numpy as np
    inputs = [np.zeros(shape, np.float32) for shape, _ in tensors]
else:
    import torch
    inputs = [torch.zeros(shape, device="cuda", dtype=getattr(torch, name))
              for shape, name in tensors]
    torch.cuda.synchronize()
start = time.perf_counter()
times = {}
if how != "without":
    import nsacc
    times["import"] = time.perf_counter() - start
    program = (nsacc.load(package) if how == "loaded" else
               nsacc.compile(source, dtype=dtype, target=target))
    times["program"] = time.perf_counter() - start - times["import"]
    result, timing = program.run_timed(inputs)
    if target != "cpu":
        torch.cuda.synchronize()
    times["first"] = time.perf_counter() - start
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
    target: str = "cpu"

    def __str__(self) -> str:
        return (f"{self.program} {self.target} {self.dtype} HQ {self.heads} H {self.key_heads} "
                f"D {self.width}")

    @property
    def dtype(self) -> str:
        return "f32" if self.target == "cpu" else "bf16"

    @property
    def sizes(self) -> dict[str, int]:
        return {"HQ": self.heads, "H": self.key_heads, "D": self.width, "DV": self.width}

    def get_inputs(self, tokens: int = 64) -> list[tuple[list[int], str]]:
        """Shapes, and PyTorch's names of dtypes."""
        dtype = "float32" if self.dtype == "f32" else "bfloat16"
        queries = ([1, tokens, self.heads, self.width], dtype)
        keys = ([1, tokens, self.key_heads, self.width], dtype)
        gates = [([1, tokens, self.heads], "float32")] * (3 if self.program == "nsa" else 0)
        return [queries, keys, keys, *gates]


WORKS = tuple(Work(program, target=target) for target in ("cpu", "cuda")
              for program in ("flash", "nsa"))


class Bench:
    """A work, its package, and the times of its processes."""

    def __init__(self, work: Work, root: Path, folder: Path) -> None:
        import nsacc

        self.work, self.folder = work, folder
        self.source = root / "examples" / f"{work.program}.nsa"
        self.package = folder / "program.nsapkg"
        nsacc.compile(self.source, dtype=work.dtype, target=work.target).package(
            self.package, work.sizes)
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
                 self.work.target, self.work.dtype, json.dumps(self.work.get_inputs())],
                env=environment, text=True, check=True,
                stdout=subprocess.PIPE)
            seconds = time.perf_counter() - start
        if keep:
            self.times[way].append({"process": seconds, **json.loads(done.stdout)})

    def make_records(self, common: dict[str, object]) -> list[dict[str, object]]:
        def describe(way: str, part: str) -> float:
            return record.to_ms(record.median([each[part] for each in self.times[way]]))

        records = []
        for way in WAYS[1:]:
            parts = {f"{part}_ms": describe(way, part)
                     for part in ("import", "program", "code", "first")}
            records.append({
                "suite": "start", "work": str(self.work), "way": way,
                **record.describe_times([each["process"] for each in self.times[way]]),
                "without_ms": describe("without", "process"),
                "beyond_ms": round(describe(way, "process") - describe("without", "process"), 1),
                **parts, **common})
        return records


def run(options: argparse.Namespace, root: Path) -> int:
    works = [work for work in WORKS
             if record.can_run(work.target) and (not options.work or options.work in str(work))]
    if not works:
        print(f"benchmarks/run: no work that this machine can do has '{options.work}' in it",
              file=sys.stderr)
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
        print(f"{line['work']}, {line['way']}: {line['ms']:.0f} ms, {line['beyond_ms']:.0f} "
              f"beyond the {line['without_ms']:.0f} without nsacc; code {line['code_ms']:.1f}",
              flush=True)
    return 0
