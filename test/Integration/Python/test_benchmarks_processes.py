"""Several processes of a GPU suite, and the script that merges their records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import cli
from bench.gpu import processes
from dense_benchmarks import ROOT

LINE = {"work": "nsa", "peer": "fla", "ms": 2.0, "spread": [1.0, 3.0], "tflops": 5.0,
        "peer_ms": 4.0, "peer_spread": [4.0, 4.0], "peer_tflops": 2.5, "ratio": 2.0, "rounds": 9,
        "error": 1e-3, "commit": "abc", "machine": {"gpu": "a GPU"},
        "own_goals": {"ms": {"goal": 2.5, "found": 2.0, "met": True}}}
ALONE = LINE | {"peer": None, "peer_ms": None, "peer_spread": None, "peer_tflops": None,
                "ratio": None}


def test_medians_of_medians() -> None:
    slow = LINE | {"ms": 3.0, "spread": [2.0, 9.0], "ratio": 1.5, "error": 2e-3,
                   "own_goals": {"ms": {"goal": 2.5, "found": 3.0, "met": False}}}
    slower = slow | {"ms": 4.0, "ratio": 1.0}
    with_peer, alone = processes.merge([[LINE, ALONE], [slow], [slower]])
    assert (with_peer["ms"], with_peer["ratio"], with_peer["spread"]) == (3.0, 1.5, [1.0, 9.0])
    assert (with_peer["rounds"], with_peer["processes"], with_peer["error"]) == (27, 3, 2e-3)
    assert with_peer["own_goals"] == {"ms": {"goal": 2.5, "found": 3.0, "met": False}}
    assert alone == ALONE | {"processes": 1}
    assert processes.merge([[with_peer], [LINE]])[0]["processes"] == 4


def test_two_commits_are_not_merged() -> None:
    with pytest.raises(ValueError, match="are of abc and of def"):
        processes.merge([[LINE], [LINE | {"commit": "def"}]])


def test_processes_share_the_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"""
import argparse, json, sys
parser = argparse.ArgumentParser()
for name in ("--seed", "--output", "--most-seconds", "--work"):
    parser.add_argument(name)
options = parser.parse_args()
print(options.seed, options.work, round(float(options.most_seconds)))
line = {LINE!r} | {{"ms": float(options.seed)}}
open(options.output, "w").write(json.dumps(line) + "\\n")
sys.exit(options.seed == "6")
""")
    path = tmp_path / "records.jsonl"
    assert processes.run_all(script, ["--work", "nsa"], 3, 5, path, 600) == 1
    lines = [line for line in capfd.readouterr().out.splitlines() if " nsa " in line]
    assert lines == ["5 nsa 200", "6 nsa 300", "7 nsa 600"]
    (merged,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert merged["ms"] == 6.0 and merged["processes"] == 3


def test_the_command_line_starts_processes(tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(processes, "run_all", lambda *arguments: calls.append(arguments) or 0)
    output = tmp_path / "records"
    assert cli.main(["--suite", "sparse", "--processes", "3", "--seed", "7", "--output",
                     str(output), "--most-seconds", "500"]) == 0
    ((script, arguments, count, seed, path, most_seconds),) = calls
    assert (count, seed, path, most_seconds) == (3, 7, output, 500.0)
    assert cli.parse(arguments).processes == 1 and script == ROOT / "benchmarks" / "run"


def test_files_are_merged(tmp_path: Path) -> None:
    for name, ms in (("a", 1.0), ("b", 3.0)):
        (tmp_path / name).write_text(json.dumps(LINE | {"ms": ms}) + "\n")
    command = [sys.executable, ROOT / "benchmarks" / "merge", tmp_path / "a", tmp_path / "b"]
    subprocess.run([*command, "--output", tmp_path / "merged"], check=True)
    assert json.loads((tmp_path / "merged").read_text())["ms"] == 2.0
    (tmp_path / "b").write_text(json.dumps(LINE | {"commit": "def"}) + "\n")
    done = subprocess.run([*command, "--output", tmp_path / "none"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 1 and "a median of both says nothing" in done.stderr
