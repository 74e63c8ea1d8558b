"""The wheel that `pip install .` builds works outside the repository.

It is built with the packages of .venv, so that the test needs no network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    result = subprocess.run([str(part) for part in command], cwd=cwd, text=True,
                            env=dict(os.environ) | environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout[-6000:]
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
        "--wheel-dir", folder, ROOT)
    (path,) = folder.glob("nsacc-*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", folder,
        wheel)
    return folder


def test_wheel_holds_package_and_library(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for pattern in (r"nsacc/__init__\.py", r"nsacc/py\.typed", r"nsacc/(.*/)?libnsacc\.so.*",
                    r"nsacc/_nsacc\.cpython-.*\.so"):
        assert any(re.fullmatch(pattern, name) for name in names), (pattern, names)


def test_wheel_carries_one_copy_of_the_library(wheel: Path) -> None:
    libraries = [entry for entry in zipfile.ZipFile(wheel).infolist()
                 if "libnsacc.so" in entry.filename and entry.file_size > 1 << 20]
    assert len(libraries) == 1


def test_libraries_need_no_llvm(site: Path) -> None:
    for library in site.rglob("*.so*"):
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
        assert needed
        assert not [name for name in needed if "LLVM" in name or "MLIR" in name], library


def test_version_is_the_projects(wheel: Path) -> None:
    text = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(nsacc VERSION ([0-9.]+)", text)
    assert version and wheel.name.startswith(f"nsacc-{version.group(1)}-")


def test_installed_package_runs_a_program(site: Path, tmp_path: Path) -> None:
    program = """
import numpy as np
import nsacc
q = np.ones((1, 5, 2, 8), np.float32)
program = nsacc.compile('''
kernel mean(q: [B, T, H, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, H, DV] {
  return attend(q, k, v) where j <= i;
}''', target="oracle", dtype="f32")
v = np.arange(5, dtype=np.float32).reshape(1, 5, 1, 1) * np.ones((1, 1, 2, 8), np.float32)
out = program(q, q, v)
assert np.array_equal(np.asarray(out)[0, :, 0, 0], [0, 0.5, 1, 1.5, 2]), out
print(nsacc.__file__)
"""
    output = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(site))
    assert Path(output.strip().splitlines()[-1]).is_relative_to(site)
