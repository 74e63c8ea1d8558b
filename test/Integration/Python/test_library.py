"""libnsacc.so: its exports, other libraries beside it, and how C programs find it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nsacc

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(nsacc.__file__).parent


def run(*command: str | Path) -> str:
    result = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def library() -> Path:
    """The library that the extension loads."""
    (extension,) = PACKAGE.glob("_nsacc.*.so")
    return Path(re.search(r"libnsacc\.so\S* => (\S+)", run("ldd", extension)).group(1))


@pytest.fixture(scope="module")
def build_tree() -> Path:
    tree = PACKAGE.parents[1]
    if not (tree / "CMakeCache.txt").exists():
        pytest.skip("nsacc isn't imported from a build tree")
    return tree


def test_build_trees_have_all_of_the_package(build_tree):
    """Packages within it and texts of programs, too, as the wheel has them."""
    folder = ROOT / "python" / "nsacc"
    files = {path.relative_to(folder) for path in folder.rglob("*")
             if path.is_file() and "__pycache__" not in path.parts}
    assert [file for file in files if not (PACKAGE / file).exists()] == []


def test_exports_nothing_but_the_interface(library):
    symbols = run("nm", "-D", "--defined-only", library).splitlines()
    names = {re.sub("@.*", "", line.split()[-1]) for line in symbols}
    declared = set(re.findall(r"\b(nsacc_\w+)\(", (ROOT / "include/nsacc-c/nsacc.h").read_text()))
    assert names - {"NSACC_1"} == declared


def test_name_carries_the_version_of_the_interface(library):
    header = (ROOT / "include/nsacc-c/nsacc.h").read_text()
    version = re.search(r"define NSACC_ABI_VERSION (\d+)", header).group(1)
    assert f"[libnsacc.so.{version}]" in run("readelf", "-d", library)
    assert nsacc.env()["abi"] == int(version)


def test_needs_only_the_c_library_and_its_unwinder(library):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
    assert needed
    assert all(re.match(r"(libc|libm|libgcc_s|ld-linux-.*)\.so", name) for name in needed), needed


@pytest.mark.parametrize("order", ["import torch; import nsacc", "import nsacc; import torch"])
def test_lives_beside_torch(order):
    # torch brings another LLVM, which its just-in-time compiler uses.
    code = f"""
{order}
import torch
add = torch.jit.trace(lambda x: x * 2 + 1, torch.ones(4))
for _ in range(3):
    add(torch.ones(4))
program = nsacc.compile("kernel twice(x: f32[N]) -> f32[N] {{ return x + x; }}",
                        target="oracle")
print(program(add(torch.ones(4))).tolist())
try:
    nsacc.compile("kernel")
except nsacc.errors.CompileError:
    print("refused")
"""
    output = run(sys.executable, "-W", "ignore", "-c", code)
    assert output.splitlines() == ["[6.0, 6.0, 6.0, 6.0]", "refused"]


@pytest.mark.parametrize("target", ["cpu", "oracle"])
def test_programs_survive_a_fork(target):
    code = f"""
import os
import numpy as np
import nsacc
program = nsacc.compile(
    "kernel mean(x: f32[B, T, H, D]) -> f32[B, T, H, D] {{ return attend(x, x, x); }}",
    target={target!r})
x = np.ones((1, 100, 2, 8), np.float32)
program(x)
child = os.fork()
if child == 0:
    right = np.allclose(program(x), 1)
    del program
    os._exit(0 if right else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(sys.executable, "-W", "ignore", "-c", code).strip() == "0"


def test_installs_for_c_programs(build_tree, tmp_path):
    prefix, project, build = tmp_path / "prefix", tmp_path / "project", tmp_path / "build"
    run("cmake", "--install", build_tree, "--component", "capi", "--prefix", prefix)
    project.mkdir()
    (project / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(nsacc 0.1 REQUIRED)
add_executable(user main.c)
target_link_libraries(user nsacc::nsacc)
""")
    (project / "main.c").write_text("""
#include <nsacc-c/nsacc.h>
#include <stdio.h>
int main(void) {
  printf("%s %u\\n", nsacc_version(), (unsigned)nsacc_abi_version());
  return nsacc_abi_version() != NSACC_ABI_VERSION;
}
""")
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert run(build / "user").split()[0] == nsacc.__version__


def test_the_runtime_exports_its_interface_and_needs_nothing(build_tree):
    library = build_tree / "lib/libnsacc_rt.so"
    symbols = run("nm", "-D", "--defined-only", library).splitlines()
    names = {re.sub("@.*", "", line.split()[-1]) for line in symbols}
    header = (ROOT / "include/nsacc-rt/nsacc_rt.h").read_text()
    declared = set(re.findall(r"\b(nsacc_rt_\w+)\(", header))
    assert names - {"NSACC_RT_2"} == declared
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library)))
    allowed = re.compile(r"(libc|libm|libgcc_s|ld-linux-x86-64)\.so\.\d+")
    assert [name for name in needed if not allowed.fullmatch(name)] == []
