"""benchmarks/run --suite start: its times and records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCHMARKS / "run", "--suite", "start", *arguments],
                          text=True, capture_output=True, timeout=300)


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    done = run("--work", "flash", "--rounds", "1", "--output", path)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["way"] for line in records] == ["cold", "cached", "loaded"]
    cold, cached, loaded = records
    for line in records:
        assert line["ms"] > line["without_ms"] > 0 and line["import_ms"] > 0
        assert line["rounds"] == 1 and line["work"].startswith("flash cpu")
    # Only the cold process compiles.
    assert cold["code_ms"] > 5 * max(cached["code_ms"], loaded["code_ms"])
    assert len(done.stdout.splitlines()) == 3


def test_mistakes(tmp_path: Path) -> None:
    assert run("--work", "nothing").returncode == 2
    assert "is an option of --suite cpu" in run("--repeats", "3").stderr
