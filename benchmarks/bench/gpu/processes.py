"""Several processes of one suite, and the medians of their records."""
from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import record

MEDIANS = ("ms", "tflops", "peer_ms", "peer_tflops", "ratio", "compile_s", "floor_ms")
SPREADS = ("spread", "peer_spread")


def run_all(script: Path, arguments: list[str], count: int, seed: int, path: Path,
            most_seconds: float | None) -> int:
    """Runs the script `count` times, one after the other, and adds merged records to `path`.

    Each process has another seed, and an even share of the rest of `most_seconds`. The exit code is
    the worst of all.
    """
    end = None if most_seconds is None else time.monotonic() + most_seconds
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(count)]
        for number, each in enumerate(paths):
            print(f"process {number + 1} of {count}", flush=True)
            own = ["--seed", str(seed + number), "--output", str(each)]
            if end is not None:
                left = (end - time.monotonic()) / (count - number)
                own += ["--most-seconds", str(max(1.0, left))]
            done = subprocess.run([sys.executable, script, *arguments, *own], check=False)
            worst = max(worst, abs(done.returncode))
        merged = merge(read(each) for each in paths if each.exists())
    if merged:
        record.write(merged, path)
    print(f"{len(merged)} merged records: {path}", flush=True)
    return worst


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def merge(runs: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One record for each work and peer: medians of the processes' medians, spreads over all of
    them, and sums of rounds and processes. Other entries of a record are the first process's.

    Raises ValueError if records of one work are from different commits or machines.
    """
    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for run in runs:
        for line in run:
            groups.setdefault((line["work"], line["peer"]), []).append(line)
    return [_merge_one(lines) for lines in groups.values()]


def _merge_one(lines: list[dict[str, Any]]) -> dict[str, Any]:
    merged = dict(lines[0])
    for key in ("commit", "machine"):
        different = [line[key] for line in lines if line[key] != merged[key]]
        if different:
            raise ValueError(f"records of {merged['work']} are of {merged[key]} and of "
                             f"{different[0]}: a median of both says nothing")
    for key in set(MEDIANS) & set(merged):
        values = [line[key] for line in lines if line[key] is not None]
        merged[key] = float(f"{statistics.median(values):.6g}") if values else None
    for key in SPREADS:
        spreads = [line[key] for line in lines if line[key] is not None]
        merged[key] = [min(low for low, _ in spreads), max(high for _, high in spreads)] \
            if spreads else None
    merged["rounds"] = sum(line["rounds"] for line in lines)
    merged["error"] = max(line["error"] for line in lines)
    merged["processes"] = sum(line.get("processes", 1) for line in lines)
    for name, own in merged.get("own_goals", {}).items():
        found = statistics.median(line["own_goals"][name]["found"] for line in lines)
        met = found <= own["goal"] if name == "ms" else found >= own["goal"]
        merged["own_goals"] = merged["own_goals"] | {name: own | {"found": found, "met": met}}
    return merged
