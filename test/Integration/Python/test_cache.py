"""The cache of NSACC_CACHE, which shares code among processes, from Python."""

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
    """Eight processes at once, like ranks; then one that may not compile."""
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
    assert err.count("CacheWarning: the cache's file") == 1
    assert "<string>:12: CacheWarning" in err, "told where the program is run"
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


def test_cache_warnings_are_no_warnings_of_the_program(tmp_path: Path) -> None:
    """A user who makes these warnings errors may have a full disk."""
    (tmp_path / "file").write_text("")
    code = RUN.replace('simplefilter("always")', 'simplefilter("error", nsacc.CompileWarning)')
    environment = {**os.environ, "NSACC_CACHE": "readwrite",
                   "NSACC_CACHE_DIR": str(tmp_path / "file" / "cache")}
    done = subprocess.run([sys.executable, "-c", code, "cpu"], env=environment, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0 and "CacheWarning" in done.stderr


def test_a_folder_of_everybody_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    _, err = finish(start(tmp_path, "cpu"))
    assert "everybody can write to it" in err and count(tmp_path) == 0
    tmp_path.chmod(0o755)
    finish(start(tmp_path, "cpu"))
    assert count(tmp_path) == 1


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    whole, _ = finish(start(tmp_path, "cpu"))
    (file,) = (each for each in tmp_path.glob("llvmcache-*") if "stamp" not in each.name)
    for replace in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir):
        file.unlink()
        replace(file)
        out, err = finish(start(tmp_path, "cpu", NSACC_CACHE="readonly"))
        assert out == whole and "can't be read" in err
        if file.is_dir():
            file.rmdir()
            file.touch()
