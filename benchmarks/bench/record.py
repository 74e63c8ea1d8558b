"""Records: one JSON line for each work and peer."""
from __future__ import annotations

import json
import platform
import statistics
import subprocess
from datetime import date
from pathlib import Path

from .works import Work


def describe_machine() -> str:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    flags = Path("/proc/cpuinfo").read_text()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE"
    return f"{model}, {vectors}"


def describe_commit(root: Path) -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", root, *arguments], text=True, capture_output=True,
                              check=True).stdout.strip()

    # Records themselves don't change what is measured.
    changes = git("status", "--short", "--", ".", ":!benchmarks/results")
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changes else "")


def describe_versions() -> dict[str, str]:
    import numpy
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__,
            "numpy": numpy.__version__}


def spread(times: list[float]) -> list[float]:
    return [round(min(times) * 1e3, 3), round(max(times) * 1e3, 3)]


def make_record(work: Work, schedule: str, ours: list[float], peer: str | None,
                theirs: list[float] | None, common: dict[str, object]) -> dict[str, object]:
    median = statistics.median(ours)
    record: dict[str, object] = {
        "work": work.work, "shape": work.shape, "dtype": work.dtype, "target": "cpu",
        "schedule": schedule, "ms": round(median * 1e3, 3), "spread": spread(ours),
        "gflops": round(work.useful_operations() / median / 1e9, 1), "peer": peer,
        "peer_ms": None, "peer_spread": None, "ratio": None}
    if theirs:
        peer_median = statistics.median(theirs)
        record |= {"peer_ms": round(peer_median * 1e3, 3), "peer_spread": spread(theirs),
                   "ratio": round(peer_median / median, 3)}
    return record | common


def write(records: list[dict[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def default_path(root: Path, suite: str) -> Path:
    return root / "benchmarks" / "results" / f"{suite}-{date.today().isoformat()}.jsonl"
