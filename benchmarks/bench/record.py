"""Records: one JSON line for each work and peer. Times come in seconds."""
from __future__ import annotations

import json
import platform
import statistics
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

median = statistics.median


def describe_processor() -> str:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    flags = Path("/proc/cpuinfo").read_text()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE"
    return f"{model}, {vectors}"


def describe_commit(root: Path) -> str:
    """The commit of the repository, or the commit that a bundle was made from."""
    bundled = root / "commit"
    if bundled.exists():
        commit, _, changes = bundled.read_text().strip().partition("+")
        return commit[:12] + (f"+{changes}" if changes else "")

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", root, *arguments], text=True, capture_output=True,
                              check=True).stdout.strip()

    # Changed records don't change the measured code.
    changes = git("status", "--short", "--", ".", ":!benchmarks/results")
    return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changes else "")


def describe_versions() -> dict[str, str]:
    import numpy
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__,
            "numpy": numpy.__version__}


def can_run(target: str) -> bool:
    """Whether there is a device for it. Works on a GPU take their inputs from PyTorch."""
    if target == "cpu":
        return True
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def to_ms(seconds: float) -> float:
    return float(f"{seconds * 1e3:.6g}")


def describe_times(times: Sequence[float]) -> dict[str, object]:
    return {"ms": to_ms(median(times)), "spread": [to_ms(min(times)), to_ms(max(times))]}


def compare(times: Sequence[float], peer: str | None, theirs: Sequence[float] | None,
            work: float = 1.0) -> dict[str, object]:
    """The peer's entries; `work` is our work in units of the peer's, if that differs."""
    if not theirs:
        return {"peer": peer, "peer_ms": None, "peer_spread": None, "ratio": None}
    there = describe_times(theirs)
    return {"peer": peer, "peer_ms": there["ms"], "peer_spread": there["spread"],
            "ratio": round(median(theirs) / median(times) * work, 3)}


def write(records: list[dict[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def default_path(root: Path, suite: str) -> Path:
    return root / "benchmarks" / "results" / f"{suite}-{date.today().isoformat()}.jsonl"
