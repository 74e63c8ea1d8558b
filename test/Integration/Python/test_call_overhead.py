"""benchmarks/run --suite call: its times and records, and limits for the cost of calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
WAYS = ["call", "operator", "overload", "run", "empty", "sdpa"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCHMARKS / "run", "--suite", "call", *arguments],
                          text=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    done = run("--work", "T 0", "--rounds", "9", "--output", path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["way"] for line in lines] == WAYS
    assert len(done.stdout.splitlines()) == len(WAYS)
    return {line["way"]: line for line in lines}


def test_records(records):
    for line in records.values():
        assert line["us"] > 0 and line["calls"] == 200 and line["rounds"] == 9
        assert line["work"].startswith("flash cpu f32 B 1 T 0")


def test_a_call_takes_the_quick_way(records):
    """Limits are multiples of a time measured beside it: the machine may be slow or busy."""
    assert records["call"]["us"] < records["run"]["us"] / 2
    # Half of the 10 us that an operator may cost more than torch's operator.
    assert records["operator"]["us"] < 2.5 * records["empty"]["us"]


def test_mistakes():
    assert run("--work", "nothing").returncode == 2
    assert "is an option of --suite call" in subprocess.run(
        [sys.executable, BENCHMARKS / "run", "--suite", "start", "--calls", "3"], text=True,
        capture_output=True).stderr
