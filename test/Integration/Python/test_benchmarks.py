"""benchmarks/run: its records, and that it finds a wrong result."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
WORK = "flash f32 B=1 T=4096 S=4096 HQ=4 H=1 D=64"
KEYS = {"work", "shape", "dtype", "target", "schedule", "ms", "spread", "gflops", "peer",
        "peer_ms", "peer_spread", "ratio", "threads", "clock", "machine", "versions", "commit",
        "seed"}

pytest.importorskip("torch")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCHMARKS / "run", "--suite", "cpu",
                           *map(str, arguments)], text=True, capture_output=True, check=False)


def test_records(tmp_path: Path) -> None:
    tool = shutil.which("nsacc-tile-run")
    assert tool, "nsacc-tile-run isn't on PATH: build it, and add build/dev/bin"
    path = tmp_path / "records.jsonl"
    done = run("--work", WORK, "--rounds", 2, "--repeats", 1, "--tools", Path(tool).parent,
               "--output", path)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in path.read_text().splitlines()]
    # Peers are measured in random order.
    assert sorted(record["peer"] for record in records) == ["torch eager", "torch sdpa"]
    for record in records:
        assert set(record) == KEYS
        assert record["ratio"] == pytest.approx(record["peer_ms"] / record["ms"], rel=1e-2)
        assert record["spread"][0] <= record["ms"] <= record["spread"][1]


def test_unknown_work() -> None:
    done = run("--work", "paged")
    assert done.returncode == 1
    assert "no such work" in done.stderr


@pytest.mark.parametrize(("name", "length", "stride"),
                         [("flash", 32, 16), ("nsa", 32, 16), ("nsa", 64, 64)])
def test_a_wrong_result_is_found(name: str, length: int, stride: int) -> None:
    import torch

    from bench.cpu import formulas, peers
    from bench.cpu.works import Work

    work = Work(name, 200, 2, 1, 16, "f32", length, stride)
    inputs = work.draw_inputs(np.random.default_rng(0))
    t = formulas.prepare(peers.to_torch(inputs, torch.float64), work)
    formula = getattr(formulas, name)
    out = formula(t, 0, 200, work) if name == "flash" else formula(t, 0, 200, work)[0]
    out = out.numpy()[None].copy()
    assert peers.check(work, inputs, out, np.random.default_rng(1)) < 1e-12
    out[0, 199, 1, 3] += 1e-3
    assert peers.check(work, inputs, out, np.random.default_rng(1)) > 9e-4
