from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import portability


def build(folder: Path, name: str, code: str, *options: str | Path) -> Path:
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(code)
    subprocess.run(["clang-22", "-shared", "-fPIC", source, "-o", library, *options], check=True)
    return library


@pytest.fixture
def user(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a library that calls `f` of a C library which has it since the version given."""
    def make(version: str) -> Path:
        script = tmp_path / "versions.map"
        script.write_text(f"{version} {{ global: f; }};")
        libc = build(tmp_path, "libc", "int f(void) { return 1; }",
                     f"-Wl,--version-script={script}")
        return build(tmp_path, "user", "int f(void); int g(void) { return f(); }", libc)
    return make


@pytest.mark.parametrize("version", ["GLIBC_2.34", "GLIBC_2.4", "GLIBCXX_3.4.29", "GLIBCXX_3.4",
                                     "CXXABI_1.3.13", "GCC_4.2.0", "NSACC_1"])
def test_within(user: Callable[[str], Path], version: str) -> None:
    assert portability.too_new(user(version)) == []


@pytest.mark.parametrize("version, limit", [
    ("GLIBC_2.35", "2.34"), ("GLIBC_2.100", "2.34"), ("GLIBC_ABI_DT_RELR", "2.34"),
    ("GLIBCXX_3.4.30", "3.4.29"), ("CXXABI_1.3.14", "1.3.13"), ("GCC_12.0.0", "7.0.0")])
def test_too_new(user: Callable[[str], Path], version: str, limit: str) -> None:
    assert portability.too_new(user(version)) == [
        f"libuser.so needs {version} for f; the limit is {limit}"]


def test_relocations_that_an_older_loader_skips(tmp_path: Path) -> None:
    library = build(tmp_path, "packed", "#include <stdio.h>\nint (*f)(const char *) = puts;"
                    " void *g = &g, *h = &h; int i(void) { return puts(\"\"); }",
                    "-fuse-ld=lld", "-Wl,-z,pack-relative-relocs")
    assert portability.too_new(library) == [
        "libpacked.so needs GLIBC_ABI_DT_RELR for the file's format; the limit is 2.34"]
