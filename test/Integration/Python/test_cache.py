"""Code that processes share: the cache of NSACC_CACHE, from Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAKE_CUDA = Path(__file__).parents[3] / "build/dev/test/FakeCUDA"

RUN = """
import sys, warnings
import numpy as np
import nsacc

warnings.simplefilter("always")
program = nsacc.compile('''
kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, DV]) -> f32[B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
}''', target=sys.argv[1])
inputs = [np.ones((1, 8, heads, 16), np.float32) for heads in (4, 2, 2)]
result, timing = program.run_timed(inputs)
print(timing.compile_seconds > 0, result.sum())
"""


def start(folder: Path, target: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "NSACC_CACHE": "readwrite", "NSACC_CACHE_DIR": str(folder),
                   "LD_LIBRARY_PATH": str(FAKE_CUDA), **variables}
    return subprocess.Popen([sys.executable, "-c", RUN, target], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def count(folder: Path) -> int:
    return sum(1 for file in folder.glob("llvmcache-*") if not file.name.endswith("timestamp"))


TARGETS = ["cpu", "sm_90a"]


@pytest.mark.parametrize("target", TARGETS)
def test_processes_share(target: str, tmp_path: Path) -> None:
    """Eight at once, as ranks are; then one that may not compile."""
    outputs = [finish(process) for process in [start(tmp_path, target) for _ in range(8)]]
    assert len(set(outputs)) == 1 and not outputs[0][1]
    assert count(tmp_path) == 1
    assert finish(start(tmp_path, target, NSACC_CACHE="require")) == outputs[0]


@pytest.mark.parametrize("target", TARGETS)
def test_missing_code_is_an_error(target: str, tmp_path: Path) -> None:
    process = start(tmp_path / "none", target, NSACC_CACHE="require")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ArgumentError: the cache '" in err and "has no code of kernel 'f'" in err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("target", TARGETS)
def test_damage_is_a_warning(target: str, tmp_path: Path) -> None:
    whole, _ = finish(start(tmp_path, target))
    for file in tmp_path.glob("llvmcache-*"):
        file.write_bytes(file.read_bytes()[:-1])
    out, err = finish(start(tmp_path, target))
    assert out == whole
    assert err.count("CompileWarning: warning: the cache's file") == 1
    assert "<string>:12: CompileWarning" in err, "told where the program is run"
    assert finish(start(tmp_path, target)) == (whole, "")


@pytest.mark.parametrize("target", TARGETS)
def test_folders_that_cannot_be_written(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, err = finish(start(tmp_path / "file" / "cache", target))
    assert "can't be written: Not a directory" in err
    _, err = finish(start(tmp_path / "file" / "cache", target, NSACC_CACHE="off"))
    assert not err


def test_bad_settings_are_errors(tmp_path: Path) -> None:
    for name, value in (("NSACC_CACHE", "on"), ("NSACC_CACHE_SIZE", "-1")):
        process = start(tmp_path, "sm_90a", **{name: value})
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1
        assert f"ArgumentError: {name} is '{value}', expected " in err
