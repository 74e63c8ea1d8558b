"""The benchmarks' command line, timer, clocks and plots, without a GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench import cli, record
from bench.gpu import timing
from bench.gpu.machine import ClockSampler
from bench.plot.cli import main as plot
from bench.plot.rows import collect
from dense_benchmarks import ROOT

LINE = {"work": "full", "ms": 2.0, "spread": [1.0, 4.0], "tflops": 100.0, "peer": "sdpa cudnn",
        "peer_ms": 3.0, "peer_spread": [3.0, 3.0], "peer_tflops": 66.7, "ratio": 1.5,
        "goal": 1.1, "machine": {"gpu": "a GPU"}}


def test_options_belong_to_their_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.parse(["--suite", "dense"]).rounds == 7
    assert cli.parse(["--suite", "cpu"]).rounds == 3
    assert cli.parse(["--suite", "sparse"]).rounds == 9
    with pytest.raises(SystemExit):
        cli.parse(["--suite", "dense", "--repeats", "2"])
    assert "--repeats is an option of --suite cpu" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.parse(["--suite", "dense", "--visit-ms", "0"])
    assert "invalid positive float value: '0'" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for suite in ("dense", "sparse"):
        assert cli.main(["--suite", suite]) == 1
        error = capsys.readouterr().err
        assert f"--suite {suite} needs a GPU" in error and "finds no CUDA device" in error
    assert cli.main(["--suite", "dense", "--work", "paged"]) == 1
    assert "no such work" in capsys.readouterr().err


def test_a_bundle_starts_them(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    shutil.copy(ROOT / "scripts" / "lib" / "bundle_bench", tmp_path / "bench")
    (tmp_path / "commit").write_text("0123456789abcdef+changes\n")
    done = subprocess.run([tmp_path / "bench", "--python", sys.executable, "--help"], text=True,
                          capture_output=True, check=True)
    assert "--most-seconds" in done.stdout
    assert record.describe_commit(tmp_path) == "0123456789ab+changes"


@pytest.mark.parametrize(("probes", "mode"), [
    ([(1e-3, 1e-4), (1e-3, 1e-5)], "calls"),
    ([(1e-3, 1e-4), (4e-5, 1e-6)], "graph"),
    ([(1e-4, 8e-5), (1e-3, 1e-5)], "graph")])
def test_short_launches_are_graphs(monkeypatch: pytest.MonkeyPatch,
                                   probes: list[tuple[float, float]], mode: str) -> None:
    timer, left = timing.CudaTimer(100), iter(probes)
    monkeypatch.setattr(timer, "_probe", lambda run: next(left))
    monkeypatch.setattr(timer, "_capture",
                        lambda run, seconds: timing.Launch(run, 9, seconds))
    launches, found = timer.plan({"ours": print, "peer": print})
    assert found == mode
    assert {launch.count for launch in launches.values()} == {1 if mode == "calls" else 9}


def test_a_visit_launches_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []

    def run_all(go, repeats: int) -> tuple[float, float]:
        for _ in range(repeats):
            go()
        return 8e-3, 0.0

    monkeypatch.setattr(timing, "_time_both", run_all)
    launch = timing.Launch(lambda: launched.append(1), count=4, seconds=2.5e-3)
    assert timing.CudaTimer(120).measure(launch) == 2e-3
    # 120 ms are 12 runs of 4 launches; a third as many go before.
    assert len(launched) == 12 + 4


def test_clocks_are_those_of_the_visits() -> None:
    sampler = ClockSampler()
    sampler.samples = [(0, 1980, 100), (1, 1500, 600), (2, 1700, 690), (3, 1600, 650), (9, 1, 1)]
    assert sampler.summarize([(0.5, 2.5), (2.9, 3.0)]) == \
        {"sm_mhz": [1500, 1600, 1700], "power_w": [600, 650, 690]}
    assert sampler.summarize([(4, 5)]) is None


def write_lines(path: Path, *lines: dict) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_last_record_counts(tmp_path: Path) -> None:
    near = LINE | {"peer": "ours near", "ratio": 0.95, "goal": 0.9}
    path = write_lines(tmp_path / "records", LINE, {"work": "cpu", "gflops": 1}, near,
                       LINE | {"ratio": 1.2, "goal": None})
    (row,) = collect([path])
    assert row.ratios == {"sdpa cudnn": 1.2, "ours near": 0.95}
    assert row.goals == {"ours near": 0.9}
    assert list(row.speeds) == ["ours", "sdpa cudnn"]
    assert (row.speeds["ours"].least, row.speeds["ours"].most) == (50, 200)


def test_plots_need_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "records", {"work": "cpu", "gflops": 1})
    assert plot([str(path), "--output", str(tmp_path)]) == 1
    assert "no record of the suites dense and sparse" in capsys.readouterr().err


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    timed = LINE | {"work": "single", "peer": None, "floor_ms": 1.0,
                    "kernels": {"long": 1.5, "short": 0.5}}
    path = write_lines(tmp_path / "records", LINE, timed)
    drawn = []
    for folder in ("one", "two"):
        assert plot([str(path), "--output", str(tmp_path / folder)]) == 0
        drawn.append([(tmp_path / folder / name).read_text() for name in
                      ("ratio.svg", "tflops.svg", "time.svg")])
    assert drawn[0] == drawn[1]
    ratios, speeds, times = drawn[0]
    assert "floor" in times and "2 ms" in times
    assert "goal" in ratios and "single" not in ratios and "single" in speeds
