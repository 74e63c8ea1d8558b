"""The suite `tune`: losses of the compiler's rules, the model and measuring against trying all.

For each work, `nsacc.Program.tune` finds a schedule by the model, by half a minute's measuring
("quick"), by more of it ("full"), and by every candidate of the grids ("exhaustive"). Then all of
them are measured in turn, the compiler's choice too. The regret of a schedule is its time divided
by the least of all.
"""
from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import record

EFFORTS = ("model", "quick", "full", "exhaustive")


@dataclass(frozen=True)
class Work:
    """A program with sizes that it wasn't tuned for."""

    name: str
    program: str
    sizes: dict[str, Any]
    target: str = "cuda"
    kind: str = "dense"
    params: dict[str, Any] = field(default_factory=dict)
    agreement: float = 0

    def __str__(self) -> str:
        sizes = " ".join(f"{name} {size}" for name, size in self.sizes.items())
        return f"{self.kind} {self.name} {self.target} {sizes}"

    @property
    def dtype(self) -> str:
        return "f32" if self.target == "cpu" else "bf16"


def _sizes(batch: int, queries: int, keys: int, heads: int, key_heads: int,
           width: int) -> dict[str, Any]:
    return {"B": batch, "T": queries, "S": keys, "HQ": heads, "H": key_heads, "D": width,
            "DV": width}


_NSA = {"block": 64, "top": 16, "len": 32, "stride": 16, "window": 512}

WORKS = (
    Work("causal", "flash", _sizes(1, 3000, 3000, 32, 8, 128)),
    Work("causal", "flash", _sizes(2, 6000, 6000, 16, 16, 64)),
    Work("causal", "flash", _sizes(1, 2500, 2500, 24, 8, 96)),
    Work("causal", "flash", _sizes(1, 4100, 4100, 16, 4, 256)),
    Work("decode", "flash", _sizes(8, 1, 20000, 32, 8, 128)),
    Work("window", "window", _sizes(1, 10000, 10000, 32, 4, 128), params={"window": 1024}),
    Work("softcap", "softcap_alibi", _sizes(1, 4000, 4000, 32, 8, 128)),
    Work("causal", "flash", _sizes(1, 3000, 3000, 32, 8, 128), target="sm_80"),
    Work("causal", "flash", _sizes(2, 3000, 3000, 16, 16, 64), target="sm_80"),
    Work("nsa", "nsa", _sizes(1, 12000, 12000, 32, 2, 128), kind="sparse", params=_NSA,
         agreement=0.9),
    Work("moba", "moba", _sizes(1, 20000, 20000, 16, 4, 128), kind="sparse",
         params={"block": 512, "top": 6}),
    Work("lists", "block_sparse", _sizes(1, 9000, 9000, 16, 4, 64), kind="sparse",
         params={"block": 64, "top": 12}),
    Work("tiles", "tiles", {**_sizes(1, 9000, 9000, 8, 8, 128), "M": 141}, kind="sparse",
         params={"block": 64, "top": 24}),
    Work("causal", "flash", _sizes(1, 700, 700, 6, 2, 64), target="cpu"),
    Work("nsa", "nsa", _sizes(1, 900, 900, 8, 2, 64), target="cpu", kind="sparse",
         params={"block": 32, "top": 6, "len": 32, "stride": 16, "window": 128}),
)


def find_source(root: Path, program: str) -> Path:
    for folder in ("examples", "benchmarks/programs", "programs"):
        path = root / folder / f"{program}.nsa"
        if path.exists():
            return path
    raise FileNotFoundError(program)


def measure(work: Work, options: argparse.Namespace, root: Path,
            common: dict[str, object]) -> list[dict[str, object]]:
    import nsacc

    program = nsacc.compile(find_source(root, work.program), target=work.target,
                            dtype=work.dtype, params=work.params)
    budgets = {"model": 30, "quick": 30, "full": options.most_seconds,
               "exhaustive": options.most_seconds}
    found = {}
    for effort in EFFORTS:
        # The seed for tuning: other inputs than the measured ones.
        found[effort] = program.tune(work.sizes, effort=effort, budget=budgets[effort],
                                     agreement=work.agreement, seed=options.seed % 2**32)
    schedules = sorted({each.schedule for each in found.values() if each.schedule})
    race = program.tune(work.sizes, effort="seeds", seeds=schedules, budget=600,
                        agreement=work.agreement, seed=(options.seed + 1) % 2**32)
    times = {trial.schedule: trial.ms for trial in race.trials}
    # Candidates with equal code are one.
    best = min(ms for ms in times.values() if ms is not None)
    records = []
    for way in ("chosen", *EFFORTS):
        schedule = found[way].schedule if way in found else ""
        ms = times.get(schedule)
        line = {"suite": "tune", "work": str(work), "way": way, "schedule": schedule, "ms": ms,
                "regret": None if ms is None else round(ms / best, 4)}
        if way in found:
            each = found[way]
            line |= {"seconds": round(each.seconds, 1), "trials": len(each.trials),
                     "failed": sum(trial.failure is not None for trial in each.trials),
                     "ending": each.ending, "error": each.error}
        records.append({**line, "floor_ms": race.floor_ms, "clock_mhz": race.clock_mhz, **common})
    return records


def run(options: argparse.Namespace, root: Path) -> int:
    works = [work for work in WORKS
             if record.can_run(work.target) and (not options.work or options.work in str(work))]
    if not works:
        print(f"benchmarks/run: no work that this machine can do has '{options.work}' in it",
              file=sys.stderr)
        return 2
    common = {"seed": options.seed, "processor": record.describe_processor(),
              "commit": record.describe_commit(root), **record.describe_versions()}
    path = options.output or record.default_path(root, "tune")
    for work in works:
        lines = measure(work, options, root, common)
        record.write(lines, path)
        for line in lines:
            spent = f", {line['seconds']} s, {line['trials']} trials" if "seconds" in line else ""
            time = "failed" if line["ms"] is None else f"{line['ms']:.4f} ms"
            print(f"{line['work']}, {line['way']}: {time}, regret {line['regret']}{spent}; "
                  f"'{line['schedule']}'", flush=True)
    return 0
